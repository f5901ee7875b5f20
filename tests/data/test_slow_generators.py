"""Checks that it is told how far the planning of a run is, where that takes long."""

from __future__ import annotations

import logging
import queue
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import REPOSITORY

from ray_gym import Environment, Task
from ray_gym.config.sections import TasksSection
from ray_gym.data import slow_generators
from ray_gym.data.rows import TaskFile
from ray_gym.data.tasks import TaskRow, read_tasks
from ray_gym.run.plan import make_specs
from ray_gym.run.resume import load_config

Heard = queue.Queue[str]


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    """Has all that takes a moment told at once, and yields what is told."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told.put(record.getMessage())

    monkeypatch.setattr(slow_generators, "SLOW_S", 0.01)
    monkeypatch.setattr(slow_generators, "SAY_S", 0.01)
    told, handler = Heard(), Handler()
    slow_generators.logger.addHandler(handler)
    yield told
    slow_generators.logger.removeHandler(handler)


class Patient(Environment[Task, int]):
    """Makes its second task once two warnings have come."""

    participants = ("policy", "user")
    heard: Heard

    def generate(self, rng: random.Random, index: int) -> Task:
        if index == 1:
            self.told = [self.heard.get(timeout=10) for _ in range(2)]
        return Task(task_id=str(index))


def test_a_slow_generator_is_told_again_and_again(heard: Heard) -> None:
    environment = Patient()
    environment.heard = heard
    rows = read_tasks(TasksSection(generate=2), environment, 0, Path())
    assert [row.task_id for row in rows] == ["0", "1"]
    assert all(told.startswith("Patient.generate has made ") and " of 2 tasks, " in told for told in environment.told)


def test_a_file_that_is_long_is_told(heard: Heard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []

    def rows(file: object) -> Iterator[object]:
        told.append(heard.get(timeout=10))
        yield from ()

    monkeypatch.setattr(TaskFile, "rows", rows)
    (file := tmp_path / "rows.jsonl").touch()
    with pytest.raises(Exception, match="gave no tasks"):
        read_tasks(TasksSection(path=str(file)), Patient(), 0, tmp_path)
    assert told[0].startswith(f"{file}: 0 tasks are read, after ")


def test_many_episodes_are_told_as_they_are_planned(heard: Heard) -> None:
    class Rows(list[TaskRow]):
        def __iter__(self) -> Iterator[TaskRow]:
            told.append(heard.get(timeout=10))
            return super().__iter__()

    told: list[str] = []
    config = load_config(REPOSITORY / "configs" / "tic_tac_toe_scripted.yaml", ["tasks.repeats=1"])
    specs = make_specs(config, Rows([TaskRow("a", "{}")]))
    assert [spec.task_id for spec in specs] == ["a"]
    assert told[0].startswith("the episodes of 0 of 1 tasks are planned, after ")
