"""Gives tools about visits to the company's site."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from ray_gym import ToolError, tool
from ray_gym.envs.workplace_assistant.rows import Metric, Plot, PlotKind, Visit
from ray_gym.envs.workplace_assistant.tools.answers import listing
from ray_gym.envs.workplace_assistant.tools.arguments import period
from ray_gym.envs.workplace_assistant.workplace import Workplace


class AnalyticsTools:
    """Adds the tools about visits to the environment."""

    @tool()
    def analytics_visitor(self, workplace: Workplace, caller: object, visitor_id: str) -> dict[str, object]:
        """All visits of one visitor, latest first."""
        found = [visit for visit in reversed(workplace.visits) if visit.visitor == visitor_id]
        if not found:
            raise ToolError(f"nobody called {visitor_id!r} was ever there; ids look like visitor-7")
        return listing(found, "day", "minutes", "engaged", "source")

    @tool()
    def analytics_total_visits(
        self, workplace: Workplace, caller: object, from_date: str, to_date: str
    ) -> dict[str, object]:
        """Visits in a period: by day and in all."""
        return count_by_day(visits_between(workplace, from_date, to_date))

    @tool()
    def analytics_engaged_visits(
        self, workplace: Workplace, caller: object, from_date: str, to_date: str
    ) -> dict[str, object]:
        """Visits with engagement in a period: by day and in all."""
        return count_by_day(visit for visit in visits_between(workplace, from_date, to_date) if visit.engaged)

    @tool()
    def analytics_average_minutes(
        self, workplace: Workplace, caller: object, from_date: str, to_date: str
    ) -> dict[str, object]:
        """Average minutes of a visit in a period: by day and in all."""
        visits = visits_between(workplace, from_date, to_date)
        by_day = defaultdict(list)
        for visit in visits:
            by_day[visit.day].append(visit)
        return {"by_day": {day: average(its) for day, its in by_day.items()}, "in_all": average(visits)}

    @tool()
    def analytics_traffic_sources(
        self, workplace: Workplace, caller: object, from_date: str, to_date: str
    ) -> dict[str, int]:
        """Visits in a period by the source they came from."""
        return dict(Counter(visit.source for visit in visits_between(workplace, from_date, to_date)).most_common())

    @tool()
    def analytics_plot(
        self, workplace: Workplace, caller: object, metric: Metric, from_date: str, to_date: str, kind: PlotKind
    ) -> str:
        """Make a plot of a metric."""
        first, last = period(from_date, to_date)
        plot_id = workplace.plots.next_id
        workplace.plots.put(Plot(plot_id, metric, first, last, kind))
        return f"created {plot_id}"


def visits_between(workplace: Workplace, from_date: str, to_date: str) -> list[Visit]:
    """Returns the visits in a period, both ends included. Errors: ToolError for a text that is no date, or a period
    that ends before it begins.
    """
    first, last = period(from_date, to_date)
    return [visit for visit in workplace.visits if first <= visit.day <= last]


def count_by_day(visits: Iterable[Visit]) -> dict[str, object]:
    """Returns the number of visits by day (`by_day`) and in total (`in_all`)."""
    by_day = Counter(visit.day for visit in visits)
    return {"by_day": dict(by_day), "in_all": by_day.total()}


def average(visits: Iterable[Visit]) -> float:
    """Returns the mean length of visits in minutes, rounded to one decimal place; 0 if there are none."""
    minutes = [visit.minutes for visit in visits]
    return round(sum(minutes) / len(minutes), 1) if minutes else 0.0
