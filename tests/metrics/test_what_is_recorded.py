"""Checks what a worker and a driver record, without Ray: the numbers match the rows that they write."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from errands import LIMITS, SPECS, Errand, played, setup_of_errands

from ray_gym.episode.stage import Stage
from ray_gym.journal.journal import Journal
from ray_gym.journal.records import Over
from ray_gym.load import load
from ray_gym.metrics.committing import RunMetrics
from ray_gym.metrics.playing import PlayMetrics
from ray_gym.metrics.recorder import Reading, Recorder
from ray_gym.metrics.table import (
    CACHED_PROMPT_TOKENS,
    EPISODE_QUEUE,
    EPISODES,
    EPISODES_COMMITTED,
    GENERATED_TOKENS,
    JOURNAL_SIZE,
    JOURNAL_UNSYNCED,
    JOURNAL_WRITTEN,
    MODEL_CALL,
    PROMPT_TOKENS,
    STALENESS,
    STEP,
    WEIGHT_VERSION,
    WORKERS_LOST,
    Metric,
)
from ray_gym.run.driver.commits import Commits
from ray_gym.run.worker.worker import Worker


class Sums:
    """Keeps readings as a scraper sees them: counters added up, the last value of gauges, all values of histograms."""

    def __init__(self) -> None:
        self.of: dict[tuple[Metric, tuple[str, ...]], float] = defaultdict(float)
        self.values: dict[tuple[Metric, tuple[str, ...]], list[float]] = defaultdict(list)

    def __call__(self, readings: Sequence[Reading]) -> None:
        for reading in readings:
            key = (reading.metric, reading.labels)
            if reading.metric.kind == "histogram":
                self.values[key] += reading.values
            else:
                (value,) = reading.values
                self.of[key] = value + (self.of[key] if reading.metric.kind == "counter" else 0)


def rows_of(commits: Commits) -> list[dict[str, Any]]:
    return load(commits.directory.location).episodes.to_pylist()


async def test_the_numbers_of_a_run_are_those_of_its_rows(tmp_path: Path) -> None:
    seen, driver = Sums(), Sums()
    made, commits, recorder = setup_of_errands(tmp_path, lambda: seen, durability="disk")
    worker = Worker("1-0", made, 2)
    await worker.hello()
    with commits.metrics.showing(commits.dispatcher):
        driver(recorder.drain())
        assert driver.of[EPISODES, ("errand", "waiting")] == len(SPECS)
        await commits.take("1-0", await played(worker, commits, "1-0", len(SPECS)))
        driver(recorder.drain())
        assert driver.of[EPISODES, ("errand", "over")] == len(SPECS)
        assert driver.of[EPISODES_COMMITTED, ("errand", "completed", "max_turns")] == 0
        await commits.take("1-0", await worker.finish())
        driver(recorder.drain())
    await worker.close()
    rows = rows_of(commits)

    ends = Counter(("errand", row["status"], row["stop_reason"]) for row in rows)
    assert {labels: driver.of[EPISODES_COMMITTED, labels] for labels in ends} == ends and len(rows) == len(SPECS)
    assert not any(driver.of[EPISODES, ("errand", state)] for state in ("waiting", "playing", "over"))
    usage = [row["usage"] for row in rows]
    for metric, column in (
        (PROMPT_TOKENS, "prompt_tokens"),
        (CACHED_PROMPT_TOKENS, "cached_tokens"),
        (GENERATED_TOKENS, "generated_tokens"),
    ):
        assert seen.of[metric, ("m",)] == sum(each[column] for each in usage) > 0
    calls = sum(each["model_calls"] for each in usage)
    assert calls == 2 * len(rows) == len(seen.values[STEP, ("errand", "policy")])
    assert len(seen.values[MODEL_CALL, ("m", "policy")]) == calls
    assert len(seen.values[EPISODE_QUEUE, ("errand",)]) == len(rows)
    assert all(0 <= waited < 60 for waited in seen.values[EPISODE_QUEUE, ("errand",)])

    oldest = {row["episode_id"]: min(v["version"] for s in row["samples"] for v in s["versions"]) for row in rows}
    newest = max(oldest.values())
    assert driver.of[WEIGHT_VERSION, ("errand", "m")] == newest > 0
    behind = driver.values[STALENESS, ("errand", "m")]
    assert len(behind) == len(rows) and min(behind) >= 0 and max(behind) <= newest
    assert seen.of[JOURNAL_WRITTEN, ()] == seen.of[JOURNAL_SIZE, ()] > 0
    assert seen.of[JOURNAL_UNSYNCED, ()] == 0, "what is reported is on the disk"


async def test_what_a_journal_has_not_synced(tmp_path: Path) -> None:
    synced, written = (Journal(tmp_path / name, "run", flush=flush) for name, flush in (("a", True), ("b", False)))
    await synced.sync()
    assert synced.unsynced == 0
    before = synced.appended
    for journal in (synced, written):
        journal.append(Over("e", 0))
    assert synced.unsynced == synced.appended - before > 0 and written.unsynced == 0
    await synced.sync()
    assert synced.unsynced == 0
    for journal in (synced, written):
        journal.close()


def test_staleness_is_against_the_version_that_one_is_told_of() -> None:
    @dataclass
    class Episode:
        versions: tuple[tuple[str, int], ...]
        status: str = "completed"
        stop_reason: str = "finished"

    recorder, seen = Recorder(), Sums()
    metrics = RunMetrics(recorder, "errand")
    metrics.count_committed([Episode((("m", 3),))])
    metrics.tell_version("m", 7)
    metrics.count_committed([Episode((("m", 3),)), Episode((("m", 7), ("u", 1))), Episode(())])
    metrics.tell_version("m", 5)  # late news
    metrics.count_committed([Episode((("m", 4),))])
    seen(recorder.drain())
    assert seen.values[STALENESS, ("errand", "m")] == [0, 4, 0, 3] and seen.values[STALENESS, ("errand", "u")] == [0]
    assert seen.of[WEIGHT_VERSION, ("errand", "m")] == 7
    assert seen.of[EPISODES_COMMITTED, ("errand", "completed", "finished")] == 5


async def test_what_a_lost_worker_played_is_not_recorded_again(tmp_path: Path) -> None:
    """Its answers come from the journal; what is left to play is recorded, and the worker's end."""
    first, second = Sums(), Sums()
    made, commits, recorder = setup_of_errands(tmp_path, lambda: first)
    worker = Worker("1-0", made, 1)
    await worker.hello()
    await commits.take("1-0", await played(worker, commits, "1-0", 1))
    await worker.close()
    await commits.lose("1-0", "killed")
    assert first.of[GENERATED_TOKENS, ("m",)] == 6
    worker = Worker("1-1", replace(made, export=lambda: second), 1)
    await worker.hello()
    report = await played(worker, commits, "1-1", 1)
    await worker.close()
    assert report.finished[0].replayed == 2
    recorded = {metric for metric, _ in [*second.of, *second.values]}
    assert not recorded & {GENERATED_TOKENS, STEP, MODEL_CALL, EPISODE_QUEUE}
    driver = Sums()
    driver(recorder.drain())
    assert (
        driver.of[WORKERS_LOST, ("errand",)] == 1
        and not driver.of[EPISODES_COMMITTED, ("errand", "completed", "max_turns")]
    )


async def test_without_an_export_nothing_is_recorded_and_no_task_is_begun(tmp_path: Path) -> None:
    made, commits, _ = setup_of_errands(tmp_path, None)
    worker = Worker("1-0", made, 1)
    await worker.hello()
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "metrics"]
    await played(worker, commits, "1-0", 1)
    await worker.close()
    assert type(Stage(Errand(), {}, {}, LIMITS).metrics) is PlayMetrics
