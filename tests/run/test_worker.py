"""What a worker does for its environment beside playing it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ray_gym import Environment, Task
from ray_gym.config import FanoutSection, GroupsSection, LimitsSection, OutputSection
from ray_gym.run.posix_storage import PosixStorage
from ray_gym.run.worker import Worker, WorkerSetup


class Connected(Environment[Task, Any]):
    closed = 0

    async def close(self) -> None:
        self.closed += 1


async def test_a_worker_that_ends_closes_its_environment(tmp_path: Path) -> None:
    storage = PosixStorage.of(tmp_path / "run")
    storage.create()
    (tmp_path / "run" / storage.staging).mkdir()
    environment = Connected()
    sections = (LimitsSection(), GroupsSection(), FanoutSection(), OutputSection())
    worker = Worker("w", WorkerSetup("run", "env", environment, {}, {}, *sections, storage, None), 1)
    await worker.hello()
    assert environment.closed == 0
    await worker.close()
    assert environment.closed == 1
