"""Measures what `docs/viewer.md` promises of 100,000 episodes with 2 million events, and prints it."""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import psutil
import pyarrow as pa
import pytest

pytest.importorskip("duckdb")
from browsing import viewing
from conftest import eventually
from shown_runs import episode, event, sample

from ray_gym.record.schema import as_table
from ray_gym.run.directory.parquet import write_rows

pytestmark = [pytest.mark.clock, pytest.mark.timeout(1200)]

EPISODES, EVENTS, IN_A_FILE, KINDS_OF_FILES = 100_000, 20, 250, 8
WORDS = [
    *("the", "order", "shelf", "tea", "coffee", "late", "refund", "policy", "customer"),
    *("please", "check", "number", "return", "status", "box", "parcel", "door"),
]
QUERIES = (
    "episodes?sort=-reward",
    "episodes?sort=task_id",
    "episodes?f=status%3Dfailed",
    "episodes?f=failure~shelf%2099&sort=task_id",
    "episodes?where=reward%3E0.9%20and%20turns%3C3&sort=-generated_tokens",
    "episodes?offset=99000",
    "groups?sort=spread",
    "groups?f=reward%3C0.1",
    "values/stop_reason",
    "versions",
)
FIRST_PAGE_S, QUERY_S, FIRST_HITS_S, COUNT_S, MEMORY = 2.0, 1.0, 1.0, 5.0, 500e6


def rows_of_a_file(rng: random.Random, has_needle: bool) -> pa.Table:
    """Returns the rows of a file; one in a hundred events of some files has the word that is searched for."""
    rows = []
    for number in range(IN_A_FILE):
        said = [" ".join(rng.choices(WORDS, k=25)) for _ in range(EVENTS)]
        if has_needle and number % 50 == 0:
            said[0] += " needle"
        events = [
            event(at, "message" if at % 2 else "tool_result", text, "policy" if at % 4 < 2 else "user")
            for at, text in enumerate(said)
        ]
        reward = None if rng.random() < 0.03 else round(rng.random(), 3)
        samples = [] if reward is None else [sample(300, 100, version=rng.randrange(40))]
        rows.append(episode(number, reward, events=events, samples=samples, turns=rng.randint(1, 10)))
    return as_table(rows)


def with_ids(table: pa.Table, file: int, rng: random.Random) -> pa.Table:
    """Returns the rows of a file under ids of their own."""
    numbers = range(file * IN_A_FILE, (file + 1) * IN_A_FILE)
    ids = {
        "episode_id": [f"{rng.getrandbits(128):032x}" for _ in numbers],
        "task_id": [f"t{number // 8}" for number in numbers],
        "group_id": [f"g{number // 8}" for number in numbers],
    }
    for name, values in ids.items():
        at = table.schema.get_field_index(name)
        table = table.set_column(at, table.schema.field(at), pa.array(values).cast(table.schema.field(at).type))
    return table


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run, rng = tmp_path_factory.mktemp("runs") / "large", random.Random(0)
    (run / "episodes").mkdir(parents=True)
    kinds = [rows_of_a_file(rng, has_needle=number % 2 == 1) for number in range(KINDS_OF_FILES)]
    for file in range(EPISODES // IN_A_FILE):
        with (run / "episodes" / f"part-{file + 1:08d}-a.parquet").open("wb") as out:
            write_rows(with_ids(kinds[file % KINDS_OF_FILES], file, rng), out)
    return run


@pytest.fixture(scope="module")
def timed(large: Path) -> Iterator[tuple[httpx.Client, float, psutil.Process]]:
    """Gives a client of a viewer that has read the whole run, the seconds until its first page, and its process."""
    began = time.monotonic()
    with viewing(large) as address, httpx.Client(base_url=f"{address}/api/runs/large/", timeout=60) as client:
        [viewer] = [
            one for one in psutil.Process().children(recursive=True) if "view" in one.cmdline() and one.is_running()
        ]
        first = client.get("episodes?limit=100").raise_for_status().json()
        took = time.monotonic() - began
        assert len(first["rows"]) == 100
        eventually(lambda: client.get(f"{address}/api/runs/large").json()["waiting"] == 0, 60)
        yield client, took, viewer


def test_the_first_page_comes_soon(timed: tuple[httpx.Client, float, psutil.Process]) -> None:
    print(f"\nfirst page after {timed[1]:.2f} s", file=sys.__stdout__)
    assert timed[1] < FIRST_PAGE_S


def test_filters_and_sorts(timed: tuple[httpx.Client, float, psutil.Process]) -> None:
    took = []
    for query in QUERIES * 5:
        began = time.monotonic()
        timed[0].get(query).raise_for_status()
        took.append(time.monotonic() - began)
    middle, late = np.percentile(took, [50, 95])
    print(f"\nfilters and sorts: median {middle:.3f} s, 95th percentile {late:.3f} s", file=sys.__stdout__)
    assert late < QUERY_S


@pytest.mark.parametrize(("text", "count"), [("needle", EPISODES // 100), ("coffee", None), ("nowhere", 0)])
def test_search(timed: tuple[httpx.Client, float, psutil.Process], text: str, count: int | None) -> None:
    began, hits, first_s, last = time.monotonic(), 0, 0.0, {}
    with timed[0].stream("GET", f"search?most=50&text={text}") as answer:
        for line in answer.iter_lines():
            last = json.loads(line)
            hits += len(last["hits"])
            first_s = first_s or (time.monotonic() - began if hits >= 50 else 0.0)
    took = time.monotonic() - began
    print(f"\n{text}: 50 hits after {first_s:.2f} s, all counted after {took:.2f} s", file=sys.__stdout__)
    assert first_s < FIRST_HITS_S and took < COUNT_S and (count is None or last["count"] == count)


def test_memory(timed: tuple[httpx.Client, float, psutil.Process]) -> None:
    """It comes last, so that all queries and searches are in it."""
    peak = next(
        int(line.split()[1]) * 1024
        for line in Path(f"/proc/{timed[2].pid}/status").read_text().splitlines()
        if line.startswith("VmHWM")
    )
    print(f"\nat most {peak / 1e6:.0f} MB", file=sys.__stdout__)
    assert peak < MEMORY
