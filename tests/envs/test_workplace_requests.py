"""Generated office requests: that they can be done, and mean what they say."""

from __future__ import annotations

import random
import re
from collections import Counter
from datetime import date, datetime
from typing import Any

import pytest
from playing_tasks import generated
from test_workplace_assistant import ENVIRONMENT, OFFICE, wanted_of

from ray_gym.envs.workplace_assistant.requests import TEMPLATES
from ray_gym.envs.workplace_assistant.requests.about_analytics import plot_if_changed
from ray_gym.envs.workplace_assistant.requests.about_calendar import book_if_free
from ray_gym.envs.workplace_assistant.requests.about_projects import reassign_overdue
from ray_gym.envs.workplace_assistant.requests.wanted import phrase_day
from ray_gym.envs.workplace_assistant.task import carry_out_calls


def test_tasks_are_many_and_the_seed_decides_them() -> None:
    tasks = [generated(ENVIRONMENT, index) for index in range(1000)]
    assert len({task.model_dump_json() for task in tasks}) >= 990
    assert tasks[:50] == [generated(ENVIRONMENT, index) for index in range(50)]
    assert tasks[:50] != [generated(ENVIRONMENT, index, seed=1) for index in range(50)]
    used = Counter(each.name.partition("_")[0] for task in tasks for each in task.expected_calls)
    assert set(used) == {"directory", "email", "calendar", "analytics", "project", "customer"}
    assert min(used.values()) > 50
    assert sum(len(task.expected_calls) > 2 for task in tasks) > 300


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda template: template.__name__)
def test_every_template_changes_something_and_is_worded_in_several_ways(template: Any) -> None:
    made = [template(random.Random(seed), OFFICE) for seed in range(40)]
    assert any(wanted and wanted.actions for wanted in made)
    assert len({wanted.request[:12] for wanted in made if wanted}) > 1


def test_days_of_another_year_are_said_with_it() -> None:
    """In March, December is that of the year before, or the one to come."""
    rng = random.Random(0)
    ways = {phrase_day(rng, date(2025, 12, 22)) for _ in range(50)}
    assert ways == {"2025-12-22", "December 22, 2025", "Monday, 22 December 2025"}
    assert {phrase_day(rng, date(2026, 1, 2)) for _ in range(50)} == {"2026-01-02", "January 2", "Friday, 2 January"}
    told = "\n".join(wanted_of(index).request for index in range(2000))
    assert re.findall(r"December(?! \d+, 2025| 2025)", told) == [] and "December" in told


def test_conditions_on_visits_hold_exactly_if_something_is_plotted() -> None:
    holding = Counter[bool]()
    for seed in range(60):
        wanted = plot_if_changed(random.Random(seed), OFFICE)
        assert wanted is not None
        first, last = wanted.lookups[0].arguments["from_date"], wanted.lookups[0].arguments["to_date"]
        by_day = wanted.lookups[0].carry_out(OFFICE)["by_day"]
        before, after = by_day.get(first, 0), by_day.get(last, 0)
        fell = re.search(r"\bfell|\bfewer", wanted.request) is not None
        holds = after < before if fell else after > before
        assert bool(wanted.actions) == holds
        holding[holds] += 1
    assert min(holding[True], holding[False]) > 10


def test_reassigning_leaves_nothing_overdue_and_touches_nothing_else() -> None:
    for seed in range(40):
        wanted = reassign_overdue(random.Random(seed), OFFICE)
        if wanted is None:
            continue
        person, other = (look.carry_out(OFFICE)["found"][0]["address"] for look in wanted.lookups[:2])
        after = {task.id: task for task in carry_out_calls((*wanted.lookups, *wanted.actions)).tasks}
        for task in OFFICE.tasks:
            is_overdue = task.assignee == person and task.due < "2026-03-12" and task.list_name != "Completed"
            assert after[task.id].assignee == (other if is_overdue else task.assignee)


def test_meetings_are_booked_only_into_free_time() -> None:
    booked = 0
    for seed in range(60):
        wanted = book_if_free(random.Random(seed), OFFICE)
        assert wanted is not None
        events = wanted.lookups[0].carry_out(OFFICE)["found"]
        for action in wanted.actions:
            booked += 1
            start = minute_of(action.arguments["start"])
            for event in events:
                begin = minute_of(event["start"])
                assert begin + event["minutes"] <= start or begin >= start + action.arguments["minutes"]
    assert 10 < booked < 50


def minute_of(moment: str) -> int:
    found = datetime.strptime(moment, "%Y-%m-%d %H:%M")
    return found.hour * 60 + found.minute
