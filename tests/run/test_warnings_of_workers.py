"""Checks that what workers warn of reaches the user: the driver's log, the summary, and those who watch from elsewhere."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from ray_gym import Environment, Task
from ray_gym.cli.closing_lines import print_summary
from ray_gym.config.interpolations import Interpolation
from ray_gym.config.sections import FanoutSection, GroupsSection, LimitsSection, OutputSection
from ray_gym.hosting.room import SAY_S
from ray_gym.run.directory.posix_storage import PosixStorage
from ray_gym.run.driver import seldom, tally
from ray_gym.run.driver.commits import Commits
from ray_gym.run.driver.dispatcher import Dispatcher
from ray_gym.run.driver.fences import Fences
from ray_gym.run.driver.tally import LATELY_S, Tally
from ray_gym.run.worker.report import Report
from ray_gym.run.worker.worker import Worker, WorkerSetup

DOWN = "model http://[node]:8000/v1: no answer in {} s, and it is called again: HTTP 503: overloaded"


class Uneasy:
    """This engine is its own model, which has something to tell."""

    def __init__(self) -> None:
        self.warnings = ["it is at 10.0.0.7"]

    def connect(self) -> Uneasy:
        return self

    def take_warnings(self) -> list[str]:
        taken, self.warnings = self.warnings, []
        return taken

    async def close(self) -> None:
        return None


async def test_a_worker_reports_the_warnings_of_its_models(tmp_path: Path) -> None:
    storage = PosixStorage.of(tmp_path / "run")
    storage.create()
    (tmp_path / "run" / storage.staging).mkdir()
    sections = (LimitsSection(), GroupsSection(), FanoutSection(), OutputSection())
    filled_in = (Interpolation(("models",), "${oc.env:HOST}", "10.0.0.7"),)
    environment: Environment[Task, Any] = Environment(None)
    engines: dict[str, Any] = {"policy": Uneasy()}
    setup = WorkerSetup("run", "env", environment, {}, engines, *sections, storage, None, filled_in=filled_in)
    worker = Worker("w", setup, 1)
    await worker.hello()
    assert (await worker.finish()).warnings == ["it is at ${oc.env:HOST}"]
    assert (await worker.finish()).warnings == [], "each is told once"
    await worker.close()


async def test_the_driver_tells_those_alike_once_a_minute_and_at_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock: Any = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(seldom, "time", clock)
    monkeypatch.setattr(tally, "time", clock)
    counted = Tally(1, made=0.0)
    commits = Commits(SimpleNamespace(), Dispatcher.of([]), Fences(None, "run"), counted, lambda *_: None)  # type: ignore[arg-type]
    assert counted.troubles == ""
    for second in (5, 6, 7):
        await commits.take(f"1-{second}", Report(warnings=[DOWN.format(second)]))
    clock.now = SAY_S
    await commits.take("1-5", Report(warnings=[DOWN.format(65), "no ids"]))
    assert caplog.messages == [
        DOWN.format(5),
        f"{DOWN.format(65)} (and 2 more since it was last said)",
        "no ids",
    ]
    counted.slow_start = "no worker has started"
    assert counted.troubles == f"no worker has started\n{DOWN.format(5)}\nno ids"
    clock.now += LATELY_S + 1
    assert counted.troubles == "no worker has started", "what was long ago is over"
    summary = counted.summary()
    assert summary["warnings"] == [DOWN.format(5), "no ids"]
    shown = io.StringIO()
    print_summary(Console(file=shown), "run", {**summary, "interrupted": True, "models_without_token_ids": []})
    assert f"  warning: {DOWN.format(5)}\n  warning: no ids\n" in shown.getvalue()
