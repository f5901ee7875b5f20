"""Tells what `ray-gym health` finds suspicious in a run, and which of its examples are on the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ray_gym.health.examine import Health
from ray_gym.health.findings import Finding
from ray_gym.report.markup import Content, Markup, element
from ray_gym.report.numbers import of, short
from ray_gym.report.tables import LISTED
from ray_gym.report.texts import folded

LONGEST_CONDITION = 1_500


def findings(health: Health, shown: Mapping[str, int]) -> Iterator[Content]:
    """Yields the findings of a run. `shown`: the numbers of the episodes on the page, by id."""
    if not health.findings:
        yield element("p", f"Nothing suspicious in {of(health.episodes, 'episode')}.")
        return
    yield element("ul", [_finding(one, shown) for one in health.findings[:LISTED]], class_="findings")
    if len(health.findings) > LISTED:
        yield element("p", f"and {len(health.findings) - LISTED:,} more", class_="cut")
    yield element("p", "A condition selects the episodes in the viewer of runs, ray-gym view.", class_="quiet")


def _finding(finding: Finding, shown: Mapping[str, int]) -> Markup:
    share = element("strong", f"{finding.count:,} of {finding.of:,} {finding.unit}")
    text = element("p", share, f" {short(finding.text, 300)}")
    why = element("p", finding.why, class_="quiet")
    examples = element("p", "for example ", [[_named(name, shown), " "] for name in finding.episodes], class_="quiet")
    condition = folded("condition", element("code", short(finding.where, LONGEST_CONDITION)), class_="condition")
    kind = element("span", finding.kind.replace("_", " "), class_="chip warn")
    return element("li", element("div", kind), element("div", text, why, examples, condition))


def _named(name: str, shown: Mapping[str, int]) -> Markup:
    """Returns the id of an episode, with a link to it if it is on the page."""
    id_ = element("code", short(name, 60))
    return element("a", id_, href=f"#episode-{shown[name]}") if name in shown else id_
