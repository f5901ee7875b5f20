"""Checks that the process which opens a stream is told which of the stream's workers take long to start."""

from __future__ import annotations

import asyncio
from argparse import Namespace
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest
from conftest import REPOSITORY

from ray_gym.metrics.recorder import Recorder
from ray_gym.models.versions import Versions
from ray_gym.stream import stream
from ray_gym.stream.calls import Delivery
from ray_gym.stream.evaluation import Evaluations, Playing
from ray_gym.stream.options import StreamOptions

CONFIG = REPOSITORY / "configs" / "tic_tac_toe_scripted.yaml"
NOBODY, NOW = "no worker has started within 60 s", Delivery(None, (), frozenset(), Versions())


class LateHost:
    """Delivers once it was asked twice which workers take long to start."""

    def __init__(self) -> None:
        self._asked = asyncio.Semaphore(0)

    def __getattr__(self, name: str) -> Any:
        answer: Callable[..., Coroutine[Any, Any, Any]] = getattr(type(self), f"answer_{name}")
        return Namespace(remote=lambda *given: answer(self))

    async def answer_next(self) -> Delivery:
        await self._asked.acquire()
        await self._asked.acquire()
        return NOW

    async def answer_status(self) -> dict[str, int]:
        return {"open": 0, "max_open": 1, "ahead": 0, "max_ahead": 0}

    async def answer_evaluate(self) -> dict[str, int]:
        await self._asked.acquire()
        await self._asked.acquire()
        return {"episodes": 1}

    async def answer_evaluation_troubles(self) -> str:
        return await self.answer_troubles()

    async def answer_troubles(self) -> str:
        self._asked.release()
        return NOBODY


async def test_a_trainer_is_told_as_long_as_no_worker_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stream, "STUCK_S", 0.001)
    monkeypatch.setattr(stream, "FIRST_STUCK_S", 0.001)
    opened = stream.Stream(CONFIG, ["run.name=mine"], StreamOptions(), None, 0)
    opened._host = LateHost()
    assert await opened._next_delivery() == NOW
    assert capsys.readouterr().err.startswith(f"{NOBODY}\n{NOBODY}\n")


async def test_a_trainer_is_told_as_long_as_no_worker_of_an_evaluation_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stream, "STUCK_S", 0.001)
    opened = stream.Stream(CONFIG, ["run.name=mine"], StreamOptions(), None, 0)
    opened._host = LateHost()
    assert await opened.evaluate(CONFIG, name="eval") == {"episodes": 1}
    assert capsys.readouterr().err.startswith(f"{NOBODY}\n{NOBODY}\n")


def test_evaluations_say_which_of_them_starts_slowly() -> None:
    late, early = (cast(Any, Namespace(tally=Namespace(troubles=told))) for told in (NOBODY, ""))
    evaluations: Any = Evaluations(cast(Any, None), Recorder())
    evaluations._playing += [Playing("first", late, True), Playing("second", early, True)]
    assert evaluations.troubles == f"evaluation first: {NOBODY}"
