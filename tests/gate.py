"""Decides which tests belong to the gate, to which group of it, and how long each of them may take.

--group NAME    only the gate's tests of that group: engine, cluster, authoring, plain; it may be given again
--part NAME     only the tests of that part, which the gate leaves out: they have a marker of its name
--budget S      a test that takes longer fails, fixtures apart
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent
PARTS = (
    "runs",
    "services",
    "chaos",
    "models",
    "nodes",
    "clock",
    "packaging",
    "docs",
    "environments",
    "trainers",
    "browser",
    "reading",
    "agents",
)
GROUPS = ("engine", "cluster", "authoring", "plain")
AUTHORING = {
    "agents",
    "check",
    "cli",
    "data",
    "docs",
    "envs",
    "episode",
    "export",
    "graders",
    "mcp_",
    "sandbox",
    "tools",
}
"""Folders of the group `authoring`: what authors of environments and agents touch. All others with neither Ray nor an
engine are `plain`.
"""
MODEL_FIXTURES = {"model_cluster", "small_model_service", "small_model_app", "vllm_endpoint"}
CLUSTER_FIXTURES = {"cluster", "service", "guarded_service"}
WORDS = {
    "engine": re.compile(rf"mark\.engine|\b({'|'.join(MODEL_FIXTURES)})\b"),
    "cluster": re.compile(r"mark\.ray"),
}
"""Patterns that the text of a file matches if it has tests of a costly group."""
WHOLE_FILE = re.compile(r"^pytestmark = .*", re.MULTILINE)
"""The line of a file that gives marks to all its tests."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--group", choices=GROUPS, action="append", help="only the tests of a group of the gate")
    parser.addoption("--part", choices=PARTS, help="only the tests of a part that the gate leaves out")
    parser.addoption("--budget", type=float, help="seconds that a test may take, fixtures apart")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Spares groups and parts the imports of files that have nothing for them."""
    groups, part = config.getoption("--group"), config.getoption("--part")
    if not (groups or part) or not collection_path.name.startswith("test_") or collection_path.suffix != ".py":
        return None
    text = collection_path.read_text()
    if part:
        return None if f"mark.{part}" in text else True
    return None if groups_in(collection_path, text) & set(groups) else True


def groups_in(path: Path, text: str) -> set[str]:
    """Returns the groups of the gate that a file may have tests of, by its text."""
    said = WHOLE_FILE.search(text)
    marks = set(re.findall(r"mark\.(\w+)", said[0] if said else ""))
    if marks & set(PARTS):
        return set()
    if "engine" in marks:
        return {"engine"}
    costly = {group for group, words in WORDS.items() if words.search(text)}
    return costly if "ray" in marks else costly | {cheap_group_of(path)}


def cheap_group_of(path: Path) -> str:
    """Returns the group of a file's tests with neither Ray nor an engine."""
    return "authoring" if path.relative_to(TESTS).parts[0] in AUTHORING else "plain"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    groups, part = config.getoption("--group"), config.getoption("--part")
    if not (groups or part):
        return
    chosen = [item for item in items if (part_of(item) == part if part else part_of(item) is None)]
    chosen = [item for item in chosen if not groups or group_of(item) in groups]
    of_these = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in of_these])
    items[:] = chosen


def pytest_collection_finish() -> None:
    """Spares every later look for cycles the objects of the tests and of what they import."""
    gc.collect()
    gc.freeze()


def part_of(item: pytest.Item) -> str | None:
    """Returns the part that a test belongs to; None for the gate. Errors: UsageError for two of them."""
    parts = [name for name in PARTS if item.get_closest_marker(name)]
    if len(parts) > 1:
        raise pytest.UsageError(f"{item.nodeid} is in two parts: {', '.join(parts)}")
    return parts[0] if parts else None


def group_of(item: pytest.Item) -> str:
    """Returns the group of the gate that a test belongs to. Errors: UsageError for one that needs Ray, and does not say so."""
    fixtures = shared_fixtures(item)
    marks = {name for name in ("ray", "engine") if item.get_closest_marker(name)}
    if fixtures & (MODEL_FIXTURES | CLUSTER_FIXTURES) and not marks:
        raise pytest.UsageError(
            f"{item.nodeid} has fixtures with Ray or an engine, and none of the marks ray and engine"
        )
    if "engine" in marks or fixtures & MODEL_FIXTURES:
        return "engine"
    return "cluster" if marks else cheap_group_of(item.path)


def shared_fixtures(item: pytest.Item) -> set[str]:
    """Returns the fixtures of a test that all files share: one that a file has under the same name is another."""
    found = getattr(item, "_fixtureinfo", None)
    definitions = found.name2fixturedefs.items() if found is not None else ()
    return {name for name, known in definitions if known and not known[-1].baseid.endswith(".py")}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> Iterator[Any]:
    report = yield
    budget = item.config.getoption("--budget")
    if call.when == "call" and report.passed and budget and call.duration > budget:
        report.outcome = "failed"
        report.longrepr = (
            f"it took {call.duration:.1f} s of {budget:g}: make it faster, or give it to a part (tests/gate.py)"
        )
    return report
