"""Checks what an environment's hooks do at the start and the end of a worker, when they fail or never end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ray_gym import Environment, Task
from ray_gym.errors import RunFailed, UserError
from ray_gym.run.worker import ends_of_life

SOURCE = Path(__file__).read_text().splitlines()


class Hooked(Environment[Task, Any]):
    participants = ("policy", "user")

    def __init__(self, does: str) -> None:
        super().__init__(None)
        self._does = does

    async def prepare_worker(self) -> None:
        await self._do()

    async def close(self) -> None:
        await self._do()

    async def _do(self) -> None:
        if self._does == "waits":
            await asyncio.Event().wait()
        if self._does == "refuses":
            raise UserError("start the shop first")
        if self._does == "leaves":
            raise SystemExit(3)
        raise KeyError("the key")  # here


PLACE = f"(test_ends_of_life.py:{next(number for number, line in enumerate(SOURCE, 1) if line.endswith('# here'))})"


@pytest.mark.parametrize(
    ("does", "told"),
    [
        ("fails", f"Hooked.prepare_worker failed: KeyError: 'the key' {PLACE}"),
        ("leaves", "Hooked.prepare_worker failed: SystemExit: 3 (test_ends_of_life.py:"),
        ("waits", "Hooked.prepare_worker failed: TimeoutError: it has not ended within 0.02 s"),
        ("refuses", "start the shop first"),
    ],
)
async def test_a_worker_that_can_not_be_prepared_is_told(does: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ends_of_life, "PREPARE_S", 0.02)
    with pytest.raises(UserError) as refused:
        await ends_of_life.prepare(Hooked(does))
    assert str(refused.value).startswith(told)


@pytest.mark.parametrize(
    ("does", "told"),
    [
        ("fails", f"Hooked.close failed: KeyError: 'the key' {PLACE}"),
        ("waits", "Hooked.close failed: TimeoutError: it has not ended within 0.02 s"),
    ],
)
async def test_a_worker_that_does_not_close_is_told(does: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ends_of_life, "CLOSE_S", 0.02)
    with pytest.raises(RunFailed) as failed:
        await ends_of_life.close(Hooked(does))
    assert str(failed.value).startswith(told)


async def test_hooks_may_be_written_without_async() -> None:
    done = []

    class Plain(Hooked):
        def prepare_worker(self) -> None:  # type: ignore[override]
            done.append("prepared")

        def close(self) -> None:  # type: ignore[override]
            done.append("closed")

    await ends_of_life.prepare(Plain(""))
    await ends_of_life.close(Plain(""))
    assert done == ["prepared", "closed"]


def test_only_an_own_hook_is_named() -> None:
    assert ends_of_life.prepare_hook(Hooked("fails")) == "Hooked.prepare_worker"
    assert ends_of_life.prepare_hook(Environment(None)) == ""
