"""Checks that a program's calls wait for what they may take, no longer than they have to, and not in its own time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from cast import play_with, program
from playing import ScriptModel, Talk

from ray_gym import Episode, Task
from ray_gym.agents import workplaces
from ray_gym.agents.running import Launcher
from ray_gym.episode.meter import Meter
from ray_gym.episode.purse import Allotment, Purse
from ray_gym.models.price import Price
from ray_gym.models.rates import RateLimit


class Timed(Talk):
    """Keeps the clock of its episode, by which a program's turn has its deadline."""

    def setup(self, task: Task, episode: Episode) -> dict[str, Any]:
        self.clock = episode.clock
        return {}


async def test_time_in_which_it_waits_for_its_model_to_be_free_is_not_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    talk, now, ages = Timed(), [0.0], set[float]()
    launchers: list[Launcher] = []

    def launcher(*given: Any) -> Launcher:
        launchers.append(Launcher(*given))
        return launchers[-1]

    async def sleep(seconds: float) -> None:
        for _ in range(3):
            ages.add(talk.clock.elapsed_s)
            await asyncio.sleep(0.001)
        now[0] += seconds

    monkeypatch.setattr(workplaces, "Launcher", launcher)
    meter = Meter(rates={"policy": RateLimit(12, None, lambda: now[0], sleep)})
    code = "print(text_of(ask([{'role': 'user', 'content': words}])))"
    played, _ = await play_with({"policy": program(code)}, ["a"], meter=meter, environment=talk)
    assert now[0] and played.failure is None and played.episode.answer == "a"
    assert [one.clock for one in launchers] == [talk.clock] and len(ages) == 1, "its clock stood still"


async def test_a_million_tokens_are_paid_for_up_to_the_context(monkeypatch: pytest.MonkeyPatch) -> None:
    async def context_tokens(model: ScriptModel) -> int:
        return 2000

    monkeypatch.setattr(ScriptModel, "context_tokens", context_tokens, raising=False)
    purse = Purse({"policy": Price(1, 2)}, lambda: None)
    purse.allot(Allotment(Price(1, 2).most(0, 2000)))
    code = """
hears = {"model": "policy", "messages": [{"role": "user", "content": words}], "max_tokens": 1_000_000}
print(text_of(post("/openai/chat/completions", hears)))
"""
    async with asyncio.timeout(20):
        played, models = await play_with({"policy": program(code)}, ["a"], meter=Meter(purse))
    assert played.episode.answer == "a" and models["policy"].requests[0].sampling.max_tokens == 1_000_000
