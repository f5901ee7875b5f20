"""Checks that an episode whose worker died resumes from its last call, for any environment, and has the same row."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from replayed import Judged, Plain, Shop, ThreeAtOnce, attempt, cut, shop, shopping, words

from ray_gym import (
    Environment,
    Episode,
    Message,
    Opening,
    Task,
    Tool,
    ToolCall,
    ToolSchema,
    tool,
    tool_by_schema,
)
from ray_gym.episode.participant import Participant
from ray_gym.models.base import CompletionRequest


class WithTools(ThreeAtOnce):
    """Has tools that take their time while other threads continue."""

    @tool()
    async def look(self, state: dict[str, Any], caller: Participant, where: str) -> str:
        await asyncio.sleep(random.random() * 0.004)
        state["moves"].append(f"looked at {where}")
        return f"{len(state['moves'])} moves"

    @tool(blocking=True)
    def think(self, state: dict[str, Any], caller: Participant) -> str:
        time.sleep(random.random() * 0.004)
        return "hm"

    async def run(self, episode: Episode) -> None:
        async def explore(number: int) -> None:
            thread = episode.open_thread("policy")
            for n in range(3):
                episode.tell(thread, f"so far {episode.state['moves'][-2:]}")
                said = await episode.reply(thread)
                name, arguments = ("look", {"where": said.content[-3:]}) if n % 2 == number % 2 else ("think", {})
                await episode.call("policy", ToolCall("c", name, json.dumps(arguments)))

        await asyncio.gather(*(explore(n) for n in range(3)))


class WithALibrary(Plain):
    """Plays with a library that blocks, and brings tools of its own for each task."""

    participants = ("policy",)

    async def setup(self, task: Task, episode: Episode) -> dict[str, Any]:
        return {"secret": 0.5, "moves": [await episode.in_thread(len, "reset")]}

    def tools_for(self, task: Task, state: dict[str, Any]) -> Sequence[Tool]:
        schema = {"type": "object", "properties": {"by": {"type": "number"}}}
        return [tool_by_schema(ToolSchema(name, "", schema), self.move) for name in ("up", "down")]

    async def move(self, state: dict[str, Any], caller: Participant, name: str, arguments: dict[str, Any]) -> str:
        await asyncio.sleep(random.random() * 0.002)
        state["moves"].append(f"{name} {arguments}")
        return f"{len(state['moves'])} moves"

    def opening(self, task: Task, state: dict[str, Any]) -> Opening:
        return Opening(messages={"policy": f"begin {state['moves']}"})

    async def run(self, episode: Episode) -> None:
        for _ in range(3):
            await episode.turn("policy")
            episode.tell("policy", await episode.in_thread(repr, episode.state["moves"]))


def moving(request: CompletionRequest, rng: random.Random) -> Message:
    if request.messages[-1].role == "tool":
        return Message("assistant", f"moved {rng.random()}")
    name = rng.choice([schema.name for schema in request.tools])
    return Message("assistant", "", tool_calls=(ToolCall("c", name, json.dumps({"by": rng.random()})),))


class Tired(Plain):
    """Takes its times, ids and requests from the episode alone."""

    async def run(self, episode: Episode) -> None:
        for _ in range(3):
            await episode.turn("policy")
            episode.state["times"].append(episode.now())
            episode.tell("policy", f"it is {episode.now()} and {episode.new_id()}")


@pytest.mark.parametrize(
    ("make", "answer"), [(Plain, words), (ThreeAtOnce, words), (Judged, words), (Tired, words), (shop, shopping)]
)
async def test_cut_anywhere_the_row_is_the_same_and_no_call_is_made_again(
    tmp_path: Path, make: Callable[[], Environment[Any, Any]], answer: Any
) -> None:
    first = await attempt(tmp_path, make(), answer)
    assert first.played.status == "completed", first.played.failure
    total = len(first.answered)
    assert total >= 3
    for answers in range(total + 1):
        environment = make()
        if isinstance(environment, Shop):
            environment.sold = []
        again = await attempt(tmp_path, environment, answer, [cut(first, answers)])
        assert again.played.failure is None, again.played.failure
        assert len(again.answered) == total - answers
        if make is shop:  # what it sold before is not sold again, so its receipts go on from there
            continue
        if make in (ThreeAtOnce, Judged) and answers < total - 1:
            assert again.row["events"][:answers] == first.row["events"][:answers], "what was replayed"
            assert len(again.row["events"]) == len(first.row["events"])
        elif make is Tired and answers < total:
            assert again.row["events"][: 2 * answers] == first.row["events"][: 2 * answers]
        else:
            assert again.row == first.row
        assert again.played.episode.calls.log.replayed == answers


async def test_tools_that_were_brought_and_what_ran_in_threads_is_done_again(tmp_path: Path) -> None:
    first = await attempt(tmp_path, WithALibrary(), moving)
    assert first.played.failure is None and len(first.played.episode.state["moves"]) == 4
    for answers in range(len(first.answered) + 1):
        again = await attempt(tmp_path, WithALibrary(), moving, [cut(first, answers)])
        assert again.row == first.row
        assert again.played.episode.state == first.played.episode.state


async def test_concurrent_threads_with_tools_replay_exactly(tmp_path: Path) -> None:
    """Every tool runs again in a replay, takes another time, and still comes when it came."""
    for _ in range(8):
        first = await attempt(tmp_path, WithTools(), words)
        assert first.played.failure is None
        calls = len([record for record in first.answered if record.thread.startswith("policy")])
        again = await attempt(tmp_path, WithTools(), words, [cut(first, len(first.answered))])
        assert again.row == first.row and again.model.calls == [] and calls == 9
        half = await attempt(tmp_path, WithTools(), words, [cut(first, len(first.answered) // 2)])
        assert half.played.failure is None and half.played.episode.spec.try_ == 0


async def test_three_attempts_add_up(tmp_path: Path) -> None:
    first = await attempt(tmp_path, Plain(), words)
    second_start = cut(first, 2)
    second = await attempt(tmp_path, Plain(), words, [second_start])
    third = await attempt(tmp_path, Plain(), words, [second_start, cut(second, 3)])
    assert len(third.answered) == len(first.answered) - 5 and third.row == first.row
    assert third.played.episode.spec.attempt == 2


async def test_fresh_random_answers_survive(tmp_path: Path) -> None:
    """Answers that no play could give again: they are there because they were recorded."""

    def nonce(request: CompletionRequest, rng: random.Random) -> Message:
        return Message("assistant", f"{random.SystemRandom().getrandbits(128):032x}")

    first = await attempt(tmp_path, ThreeAtOnce(), nonce)
    nonces = [event.content for event in first.played.episode.events if event.role == "assistant"]
    for answers in (1, 5, 9, len(first.answered)):
        again = await attempt(tmp_path, ThreeAtOnce(), nonce, [cut(first, answers)])
        assert again.played.failure is None
        assert [e.content for e in again.played.episode.events if e.role == "assistant"][:answers] == nonces[:answers]
