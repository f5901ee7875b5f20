"""The trainer's process: started, looked at through its checkpoints, told to stop, or killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measure import MeasurementFailed
from benchmarks.trainer_stream.checkpoint import Checkpoint

REPOSITORY = Path(__file__).resolve().parents[2]
START_S = 120.0
"""How long a trainer may take to its next step."""


@dataclass(slots=True)
class Trainer:
    folder: Path
    options: list[str] = field(default_factory=list)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> int:
        command = [sys.executable, "-m", "benchmarks.trainer_stream.trainer", str(self.folder), *self.options]
        with (self.folder / "trainer.log").open("ab") as log:
            self.process = subprocess.Popen(command, cwd=REPOSITORY, stdout=log, stderr=log, env=dict(os.environ))
        return self.process.pid

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> dict[str, Any]:
        """After its next step. Gives the stream's counts. Errors: MeasurementFailed."""
        assert self.process is not None
        (self.folder / "stop").touch()
        try:
            code = self.process.wait(timeout=START_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise MeasurementFailed(f"the trainer did not end; see {self.log()}") from None
        if code:
            raise MeasurementFailed(f"the trainer ended with {code}: {self.log()}")
        status: dict[str, Any] = json.loads((self.folder / "status.json").read_text())
        return status

    def steps(self) -> int:
        return Checkpoint.load(self.folder).version

    def wait_for_steps(self, count: int) -> None:
        """Until it has made so many more. Errors: MeasurementFailed."""
        assert self.process is not None
        wanted, deadline = self.steps() + count, time.monotonic() + START_S
        while self.steps() < wanted:
            if self.process.poll() is not None:
                raise MeasurementFailed(f"the trainer ended: {self.log()}")
            if time.monotonic() > deadline:
                raise MeasurementFailed(f"no step within {START_S:g} s: {self.log()}")
            time.sleep(0.02)

    def log(self) -> str:
        return (self.folder / "trainer.log").read_text()[-3000:]


@contextmanager
def trainer(folder: Path, *options: str) -> Iterator[Trainer]:
    folder.mkdir()
    one = Trainer(folder, list(options))
    one.start()
    try:
        yield one
    finally:
        one.kill()
