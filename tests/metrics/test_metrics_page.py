"""Compares the page and the dashboard with the table of metrics."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from conftest import REPOSITORY
from vllm_metrics import vllm_metrics

from ray_gym.metrics.table import TABLE, Metric

PAGE = (REPOSITORY / "docs" / "metrics.md").read_text()
DASHBOARD: dict[str, Any] = json.loads((REPOSITORY / "cluster" / "grafana" / "ray_gym.json").read_text())
PANELS: list[dict[str, Any]] = DASHBOARD["panels"]
QUERIES: list[str] = [target["expr"] for panel in PANELS for target in panel["targets"]]
VLLM = vllm_metrics()
KNOWN: dict[str, Metric] = {name: metric for metric in [*TABLE, *VLLM.values()] for name in metric.series}
"""By the names that a query can use."""
VARIABLES = {each["name"]: each for each in DASHBOARD["templating"]["list"]}
OF_RAY = {"le"}


def names_in(query: str) -> set[str]:
    return set(re.findall(r"\bray_\w+", query))


def test_the_page_has_every_metric_as_the_table_has_it() -> None:
    rows = [
        tuple(cell.strip() for cell in line.split("|")[1:-1]) for line in PAGE.splitlines() if "| `ray_gym_" in line
    ]
    labels = [", ".join(f"`{label}`" for label in metric.labels) or "-" for metric in TABLE]
    assert rows == [
        (f"`{metric.name}`", metric.kind, own, metric.help) for metric, own in zip(TABLE, labels, strict=True)
    ]


def test_what_the_page_says_of_vllms_is_what_vllm_has() -> None:
    rows = re.findall(r"^\| (`ray_vllm_.*?) \| (\w+) \|", PAGE, re.MULTILINE)
    told = {name: kind for names, kind in rows for name in re.findall(r"`(\w+)`", names)}
    assert told and told == {name: VLLM[name].kind for name in told if name in VLLM}


def test_names_say_what_they_count_by_the_conventions_of_prometheus() -> None:
    assert len({metric.name for metric in TABLE}) == len(TABLE)
    for metric in TABLE:
        assert re.fullmatch(r"ray_gym_[a-z_]+", metric.name)
        assert metric.name.endswith("_total") == (metric.kind == "counter"), metric.name
        assert (metric.kind == "histogram") == bool(metric.buckets)
        assert list(metric.buckets) == sorted(set(metric.buckets)) and all(end > 0 for end in metric.buckets)
        if metric.kind == "histogram":
            assert metric.name.endswith(("_seconds", "_versions")), "the unit comes last"
        assert not {"run", "episode", "session", "task", "worker"} & set(metric.labels), "their number has no bound"


def test_every_query_asks_for_what_there_is() -> None:
    for query in [*QUERIES, VARIABLES["environment"]["query"]]:
        assert names_in(query) and names_in(query) <= set(KNOWN), query
        asked = {label for group in re.findall(r"by \(([^)]*)\)", query) for label in re.split(r",\s*", group)}
        asked |= set(re.findall(r"[{,]\s*(\w+)\s*[=!]~?", query))
        for name in names_in(query):
            assert asked <= set(KNOWN[name].labels) | OF_RAY, (query, name)
            assert ("rate(" in query or "increase(" in query) == (KNOWN[name].kind != "gauge"), query
            assert ("histogram_quantile(" in query) == name.endswith("_bucket"), query


def test_legends_name_what_their_queries_are_by() -> None:
    for target in (target for panel in PANELS for target in panel["targets"]):
        named = set(re.findall(r"\{\{\s*(\w+)\s*\}\}", target["legendFormat"]))
        grouped = {
            label for group in re.findall(r"by \(([^)]*)\)", target["expr"]) for label in re.split(r",\s*", group)
        }
        assert named == grouped - OF_RAY, target


def test_every_metric_is_on_the_dashboard() -> None:
    shown = {name for query in QUERIES for name in names_in(query)}
    assert [metric.name for metric in TABLE if not shown & set(metric.series)] == []


def test_the_dashboard_is_one_that_grafana_reads() -> None:
    assert isinstance(DASHBOARD["schemaVersion"], int) and DASHBOARD["uid"] and DASHBOARD["title"] == "ray_gym"
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)
    for panel in PANELS:
        assert panel["type"] == "timeseries" and panel["title"] and panel["fieldConfig"]["defaults"]["unit"]
        assert panel["gridPos"].keys() == {"h", "w", "x", "y"} and panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
        references = [target["refId"] for target in panel["targets"]]
        assert len(set(references)) == len(references)
        for target in [panel, *panel["targets"]]:
            assert target["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
    corners = {(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in PANELS}
    assert len(corners) == len(PANELS), "none lies on another"
    assert VARIABLES["datasource"]["type"] == "datasource" and VARIABLES["datasource"]["query"] == "prometheus"


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_uses_no_variable_that_is_not_there(query: str) -> None:
    assert set(re.findall(r"\$(\w+)", query)) <= {*VARIABLES, "__rate_interval"}
    assert query.count("(") == query.count(")") and query.count("{") == query.count("}")
