"""Which tests belong to the gate, and to which group of it, and how long each of them may take.

--group NAME    only the gate's tests of that group: engine, cluster, plain
--part NAME     only the tests of that part, which the gate leaves out: they have a marker of its name
--shard I/N     only files of shard I of N, into which all files are divided by their paths
--budget S      a test that takes longer fails, fixtures apart
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

PARTS = ("runs", "services", "chaos", "models", "nodes", "clock", "packaging", "docs", "environments")
GROUPS = ("engine", "cluster", "plain")
MODEL_FIXTURES = {"model_cluster", "small_model_service", "small_model_app", "vllm_endpoint"}
CLUSTER_FIXTURES = {"cluster", "service", "guarded_service"}
WORDS = {
    "engine": re.compile(rf"mark\.engine|\b({'|'.join(MODEL_FIXTURES)})\b"),
    "cluster": re.compile(r"mark\.ray"),
}
"""What the text of a file matches that has tests of a group."""
NOT_PLAIN = re.compile(r"^pytestmark = .*mark\.(ray|engine)", re.MULTILINE)
"""What the text of a file matches that has no test of the group `plain`."""
OF_THE_ENGINE = re.compile(r"^pytestmark = .*mark\.engine", re.MULTILINE)
"""What the text of a file matches that has no test of the group `cluster`."""
OF_A_PART = re.compile(rf"^pytestmark = .*mark\.({'|'.join(PARTS)})", re.MULTILINE)
"""What the text of a file matches that has no test of the gate."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--group", choices=GROUPS, help="only the tests of a group of the gate")
    parser.addoption("--part", choices=PARTS, help="only the tests of a part that the gate leaves out")
    parser.addoption("--shard", type=shard_of, help="only files of a shard, as 1/2")
    parser.addoption("--budget", type=float, help="seconds that a test may take, fixtures apart")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Spares groups and parts the imports of files that have nothing for them."""
    group, part = config.getoption("--group"), config.getoption("--part")
    if collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    number, shards = config.getoption("--shard") or (1, 1)
    if crc32(str(collection_path.relative_to(config.rootpath)).encode()) % shards != number - 1:
        return True
    if group is None and part is None:
        return None
    text = collection_path.read_text()
    return None if may_have_tests(text, group, part) else True


def shard_of(text: str) -> tuple[int, int]:
    """Reads the number of a shard and that of all shards, as in 1/2. Errors: ValueError."""
    number, shards = map(int, text.split("/"))
    if not 1 <= number <= shards:
        raise ValueError(text)
    return number, shards


def may_have_tests(text: str, group: str | None, part: str | None) -> bool:
    """Says by the text of a file whether it may have tests of a part, or of a group of the gate."""
    if part is not None:
        return f"mark.{part}" in text
    if OF_A_PART.search(text) or (group == "cluster" and OF_THE_ENGINE.search(text)):
        return False
    return bool(WORDS[group].search(text)) if group in WORDS else not NOT_PLAIN.search(text)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    group, part = config.getoption("--group"), config.getoption("--part")
    if group is None and part is None:
        return
    chosen = [item for item in items if (part_of(item) == part if part else part_of(item) is None)]
    chosen = [item for item in chosen if group is None or group_of(item) == group]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(chosen)])
    items[:] = chosen


def pytest_collection_finish() -> None:
    """Spares every later look for cycles the half a million objects that the tests and their imports are."""
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
    return "cluster" if marks else "plain"


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
