"""Defines an environment whose tasks name what goes wrong in them, and players that call the tool of that name."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import random
import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ray_gym import Environment, Episode, Message, Opening, Participant, Score, Task, ToolCall, ToolSchema, Turn, tool
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.models.base import CompletionRequest
from ray_gym.stop import StopReason

LATE: Any = 5


class Trouble(Task):
    fault: str = "none"
    folder: str = ""
    """Where it is remembered what happened already, over the deaths of workers."""


@dataclass
class State:
    task: Trouble
    hoard: list[bytearray] = field(default_factory=list)


class Tools(Environment[Trouble, State]):
    """Offers tools, each of which is called in the task whose fault has its name."""

    participants = ("policy", "user")

    @tool(participants=("policy",))
    def raises(self, state: State, caller: Participant) -> str:
        raise RuntimeError("raises is broken")

    @tool(participants=("policy",))
    async def sleeps(self, state: State, caller: Participant) -> str:
        await asyncio.Event().wait()
        return "never"

    @tool(participants=("policy",), blocking=True)
    def sleeps_in_a_thread(self, state: State, caller: Participant) -> str:
        threading.Event().wait()
        return "never"

    @tool(participants=("policy",), blocking=True)
    def thinks(self, state: State, caller: Participant) -> str:
        return "hm"

    @tool(participants=("policy",), isolated=True)
    def sleeps_in_a_process(self, state: State, caller: Participant) -> str:
        threading.Event().wait()
        return "never"

    @tool(participants=("policy",))
    def gives_an_object(self, state: State, caller: Participant) -> object:
        return object()

    @tool(participants=("policy",))
    def blames_the_policy(self, state: State, caller: Participant) -> str:
        raise EpisodeFailure(FailureKind.POLICY, "rules", "it cheated")

    # ---- those that take their worker with them ----

    @tool(participants=("policy",))
    def blocks(self, state: State, caller: Participant) -> str:
        threading.Event().wait(1000)
        return "late"

    @tool(participants=("policy",))
    async def leaks(self, state: State, caller: Participant) -> str:
        while True:
            state.hoard.append(bytearray(os.urandom(2**20) * 32))
            await asyncio.sleep(0.01)

    @tool(participants=("policy",))
    def segfaults(self, state: State, caller: Participant) -> str:
        return str(ctypes.string_at(0))

    @tool(participants=("policy",))
    def exits(self, state: State, caller: Participant) -> str:
        os._exit(3)

    @tool(participants=("policy",))
    def terminates(self, state: State, caller: Participant) -> str:
        os.kill(os.getpid(), signal.SIGTERM)
        return "not yet"

    @tool(participants=("policy",))
    def dies(self, state: State, caller: Participant) -> str:
        """Kills its worker, as often as the fault says: `fickle`, once; `fickle twice`."""
        folder = Path(state.task.folder)
        if len(deaths(state.task)) < 1 + state.task.fault.endswith("twice"):
            (folder / f"{state.task.fault}-{len(deaths(state.task))}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return "alive"


async def exits() -> None:
    await asyncio.sleep(0)
    sys.exit("bye")


def deaths(task: Trouble) -> list[Path]:
    return list(Path(task.folder).glob(f"{task.fault}-*"))


class Faulty(Tools):
    auxiliary = ("judge", "down")

    def generate(self, rng: random.Random, index: int) -> Trouble:
        raise RuntimeError("generate is broken")

    async def setup(self, task: Trouble, episode: Episode) -> State:  # type: ignore[override]
        break_if(task, "setup")
        if task.fault == "setup hangs":
            await asyncio.Event().wait()
        return State(task)

    def opening(self, task: Trouble, state: State) -> Opening:
        break_if(task, "opening")
        said: Any = {"opening gives an object": object(), "opening gives a dict": [Message("user", LATE)]}
        calls = (ToolCall("c", "raises", LATE),)
        said["opening has a bad call"] = [Message("assistant", "", None, calls), Message("tool", "", tool_call_id="c")]
        said["fickle"] = said["fickle twice"] = f"dies, and has died {len(deaths(task))} times"
        first = said.get(task.fault, task.fault)
        return Opening(messages={"policy": first, "user": task.fault})

    async def run(self, episode: Episode) -> None:
        break_if(episode.task, "run")
        if episode.task.fault == "run hangs":
            await asyncio.Event().wait()
        if episode.task.fault == "run cancels itself":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(0)
        if episode.task.fault == "run ends with a number":
            episode.end(StopReason.FINISHED, LATE)
        await super().run(episode)

    def next_speaker(self, state: State, episode: Episode, turn: Turn) -> str | None:
        break_if(state.task, "next_speaker")
        return super().next_speaker(state, episode, turn)

    def relay(self, state: State, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        break_if(state.task, "relay")
        return LATE if state.task.fault == "relay gives a number" else super().relay(state, episode, turn, listener)

    def narrow(self, tool: ToolSchema, state: State, caller: Participant) -> ToolSchema:
        break_if(state.task, "narrow")
        return tool

    def finished(self, state: State, episode: Episode) -> str | None:
        break_if(state.task, "finished")
        return None

    async def score(self, state: State, episode: Episode) -> Any:
        break_if(state.task, "score")
        match state.task.fault:
            case "score hangs":
                await asyncio.Event().wait()
            case "score exits in a task":
                await asyncio.gather(exits(), exits())
            case "score gives an object":
                return object()
            case "score has a part of no name":
                return Score(1.0, parts={"\udc80": 1.0})
            case "judge raises" | "down":
                await episode.ask(state.task.fault.split()[0], state.task.fault)
        return 1.0


class Deadly(Faulty):
    """This environment has no judges."""

    auxiliary = ()


class Compared(Tools):
    """Scores by the group: how far each of its dice is above the group's mean."""

    async def setup(self, task: Trouble, episode: Episode) -> State:  # type: ignore[override]
        wants_to_fail = {"one fails": 1, "two fail": 2, "all fail": 4}.get(task.fault, 0)
        if episode.spec.repeat < wants_to_fail:
            raise EpisodeFailure(FailureKind.USER, "user", "it went away")
        return State(task)

    def opening(self, task: Trouble, state: State) -> Opening:
        return Opening(messages={"policy": task.fault})

    async def score_group(self, episodes: Sequence[Episode]) -> list[float]:
        break_if(episodes[0].task, "score_group")
        match episodes[0].task.fault:
            case "score_group exits":
                os._exit(3)
            case "score_group counts wrong":
                return [1.0]
            case "score_group hangs":
                await asyncio.Event().wait()
        dice = [episode.rng("dice").random() for episode in episodes]
        return [one - sum(dice) / len(dice) for one in dice]


def break_if(task: Trouble, hook: str) -> None:
    if task.fault == hook:
        raise RuntimeError(f"{hook} is broken")


def policy(request: CompletionRequest, rng: random.Random) -> Message:
    """Calls the tool that is asked for, once."""
    asked = next((message.content.split(",")[0] for message in request.messages if message.role == "user"), "")
    has_called = any(message.role == "tool" for message in request.messages)
    if has_called or not any(schema.name == asked for schema in request.tools):
        return Message("assistant", f"hello {rng.random()}")
    return Message("assistant", "", tool_calls=(ToolCall("c", asked, json.dumps({})),))


def user(request: CompletionRequest, rng: random.Random) -> Message:
    fault = request.messages[0].content
    if fault == "user raises":
        raise RuntimeError("the user is broken")
    return Message("assistant", "" if fault == "user says nothing" else f"hi {rng.random()}")


def judge(request: CompletionRequest, rng: random.Random) -> Message:
    raise RuntimeError("the judge is broken")
