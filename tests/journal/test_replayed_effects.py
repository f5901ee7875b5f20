"""Checks effects in an episode that is replayed: an effect that was made is not made again."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import pytest
from replayed import Plain, Shop, attempt, cut, shop, shopping, words

from ray_gym import (
    Episode,
    IdempotencyKey,
    Task,
    ToolCall,
    tool,
)
from ray_gym.episode.participant import Participant


class EffectsInTools(Plain):
    """Has tools that wait, make an effect each, wait again and change the state, while others do the same."""

    def setup(self, task: Task, episode: Episode) -> dict[str, Any]:
        return {**super().setup(task, episode), "episode": episode, "paid": []}

    @tool()
    async def pay(self, state: dict[str, Any], caller: Participant, amount: str) -> str:
        async def make(key: str) -> str:
            await asyncio.sleep(random.random() * 0.003)
            return f"{amount} by {random.random()}"

        receipt = await state["episode"].effect("pay", make, amount)
        state["moves"].append(receipt)
        await asyncio.sleep(random.random() * 0.003)
        state["paid"].append(amount)
        return f"{len(state['paid'])} paid: {receipt}"

    async def run(self, episode: Episode) -> None:
        async def spend(number: int) -> None:
            thread = episode.open_thread("policy")
            for n in range(2):
                episode.tell(thread, f"paid so far {episode.state['moves'][-2:]}")
                said = await episode.reply(thread)
                await episode.call(
                    "policy", ToolCall("c", "pay", json.dumps({"amount": f"{number}{n}{said.content[-3:]}"}))
                )

        await asyncio.gather(*(spend(n) for n in range(3)))


class QuickEffectsInTools(EffectsInTools):
    """Nothing waits for anything but the journal, which takes no time when it is written, and some when it is read."""

    @tool()
    async def pay(self, state: dict[str, Any], caller: Participant, amount: str) -> str:
        async def make(key: str) -> str:
            return f"{amount} by {random.random()}"

        receipt = await state["episode"].effect("pay", make, amount)
        state["paid"].append(amount)
        return f"{len(state['paid'])} paid: {receipt}"

    async def run(self, episode: Episode) -> None:
        for n in range(3):
            await episode.turn("policy")
            await episode.call("policy", ToolCall("c", "pay", json.dumps({"amount": str(n)})))


@pytest.mark.parametrize("environment", [EffectsInTools, QuickEffectsInTools])
async def test_effects_inside_of_tools_replay_exactly(tmp_path: Path, environment: type[EffectsInTools]) -> None:
    """Their results are recorded; the tools around them run again, and wait for no place that comes after that of their own effect."""
    first = await attempt(tmp_path, environment(), words)
    assert first.played.status == "completed", first.played.failure
    total = len(first.answered)
    for answers in range(total + 1):
        again = await attempt(tmp_path, environment(), words, [cut(first, answers)])
        assert again.played.status == "completed", (answers, again.played.failure)
        if answers == total:
            assert again.row == first.row


async def test_an_effect_is_made_once_and_its_key_is_the_same(tmp_path: Path) -> None:
    first_shop = shop()
    first = await attempt(tmp_path, first_shop, shopping)
    keys = [key for _, key in first_shop.sold]
    assert len(set(keys)) == len(keys) >= 2
    names = [record.thread for record in first.answered]
    after_first_effect = names.index("effect buy") + 1
    again_shop = shop()
    again = await attempt(tmp_path, again_shop, shopping, [cut(first, after_first_effect)])
    assert [key for _, key in again_shop.sold] == keys[1:], "the first was not made again"
    assert again.played.status == "completed"


@pytest.mark.parametrize("rule", ["retry", "fail"])
async def test_an_effect_that_nobody_knows_of_follows_its_rule(tmp_path: Path, rule: str) -> None:
    class Rule(Shop):
        @tool(effect=rule)  # type: ignore[arg-type]
        async def buy(self, state: dict[str, Any], caller: Participant, item: str, key: IdempotencyKey) -> str:
            """Order an item."""
            self.sold.append((item, key))
            return "receipt"

    first_shop, second_shop = Rule(), Rule()
    first_shop.sold, second_shop.sold = [], []
    first = await attempt(tmp_path, first_shop, shopping)
    before_effect = [record.thread for record in first.answered].index("effect buy")
    second = await attempt(tmp_path, second_shop, shopping, [cut(first, before_effect)])  # its intent is in the file
    if rule == "retry":
        assert second_shop.sold[0] == first_shop.sold[0] and second.played.status == "completed"
    else:
        assert second_shop.sold == [] and second.played.failure is not None
        assert second.played.failure.kind == "infra" and "nobody knows" in second.played.failure.message
