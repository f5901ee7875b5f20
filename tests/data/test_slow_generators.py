"""Checks that a generator that takes long is told."""

from __future__ import annotations

import logging
import queue
import random
from pathlib import Path
from typing import Any

import pytest

from ray_gym import Environment, Task
from ray_gym.config.sections import TasksSection
from ray_gym.data import slow_generators
from ray_gym.data.tasks import read_tasks


class Patient(Environment[Task, int]):
    """Makes its second task once two warnings have come."""

    participants = ("policy", "user")
    warnings: queue.Queue[str]

    def generate(self, rng: random.Random, index: int) -> Task:
        if index == 1:
            self.told = [self.warnings.get(timeout=10) for _ in range(2)]
        return Task(task_id=str(index))


def test_a_slow_generator_is_told_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_generators, "SLOW_S", 0.01)
    monkeypatch.setattr(slow_generators, "SAY_S", 0.01)
    environment = Patient()
    environment.warnings = queue.Queue()

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            environment.warnings.put(record.getMessage())

    handler: Any = Handler()
    slow_generators.logger.addHandler(handler)
    try:
        rows = read_tasks(TasksSection(generate=2), environment, 0, Path())
    finally:
        slow_generators.logger.removeHandler(handler)
    assert [row.task_id for row in rows] == ["0", "1"]
    assert all(told.startswith("Patient.generate has made ") and " tasks in 0 s, " in told for told in environment.told)
