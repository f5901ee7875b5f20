"""Holds what `docs/viewer.md` promises of 100,000 episodes with 2 million events, by the parts of `benchmarks.viewer`."""

from __future__ import annotations

import compileall
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import pytest

pytest.importorskip("duckdb")
import ray_gym
from benchmarks.viewer.large_run import write_large_run
from benchmarks.viewer.served import Viewer, searched, seconds_of_queries, viewing, wait_until_read

pytestmark = [pytest.mark.clock, pytest.mark.timeout(1200)]

EPISODES = 100_000
FIRST_PAGE_S, QUERY_S, FIRST_HITS_S, COUNT_S, MEMORY = 2.0, 1.0, 1.0, 5.0, 500e6


@dataclass(frozen=True)
class Timed:
    """Holds a viewer that has read the whole run, a client of it, and the seconds until its first page."""

    viewer: Viewer
    client: httpx.Client
    first_page_s: float


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Timed]:
    run = tmp_path_factory.mktemp("runs") / "large"
    write_large_run(run, EPISODES)
    compileall.compile_dir(str(Path(ray_gym.__file__).parent), quiet=2)  # as where it was installed
    began = time.monotonic()
    with viewing(run) as viewer, httpx.Client(base_url=f"{viewer.address}/api/runs/large/", timeout=60) as client:
        first = client.get("episodes?limit=100").raise_for_status().json()
        took = time.monotonic() - began
        assert len(first["rows"]) == 100
        wait_until_read(client)
        yield Timed(viewer, client, took)


def test_the_first_page_comes_soon(timed: Timed) -> None:
    print(f"\nfirst page after {timed.first_page_s:.2f} s", file=sys.__stdout__)
    assert timed.first_page_s < FIRST_PAGE_S


def test_filters_and_sorts(timed: Timed) -> None:
    middle, late = np.percentile(seconds_of_queries(timed.client, rounds=5), [50, 95])
    print(f"\nfilters and sorts: median {middle:.3f} s, 95th percentile {late:.3f} s", file=sys.__stdout__)
    assert late < QUERY_S


@pytest.mark.parametrize(("text", "count"), [("needle", EPISODES // 100), ("coffee", None), ("nowhere", 0)])
def test_search(timed: Timed, text: str, count: int | None) -> None:
    found = searched(timed.client, text)
    told = f"50 hits after {found.first_s:.2f} s, all counted after {found.whole_s:.2f} s"
    print(f"\n{text}: {told}", file=sys.__stdout__)
    assert found.whole_s < COUNT_S and (count is None or found.count == count)
    assert found.count < 50 or found.first_s < FIRST_HITS_S


def test_memory(timed: Timed) -> None:
    """It comes last, so that all queries and searches are in it."""
    peak = timed.viewer.peak_bytes()
    print(f"\nat most {peak / 1e6:.0f} MB", file=sys.__stdout__)
    assert peak < MEMORY
