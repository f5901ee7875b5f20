"""Defines an environment whose tools act in the episode's sandbox, and plays it in a process that kills itself.

python desk.py FOLDER DEATHS: plays with a journal in FOLDER, and dies in the tool call of that number, from 1.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from ray_gym import Environment, Episode, Message, Opening, Participant, Task, ToolCall, tool
from ray_gym.config.sections import GroupsSection, LimitsSection, ParticipantSection
from ray_gym.episode.sandbox import EpisodeSandbox
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.journal.history import HistoryReader
from ray_gym.journal.journal import Journal
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.play.play import Played
from ray_gym.plugins import find_sandbox
from ray_gym.run.lease import Lease
from ray_gym.run.worker.player import LeasePlayer
from ray_gym.sandbox import SandboxLimits
from ray_gym.sandbox.supply import SandboxSupply

SPEC = EpisodeSpec("e", "g", "t", 0, 7, "{}")
LIMITS = LimitsSection(max_turns=1, max_steps_per_turn=10)


@dataclass
class Drawer:
    sandbox: EpisodeSandbox
    dies_at: int
    calls: int = 0


class Desk(Environment[Task, Drawer]):
    uses_sandbox = True
    dies_at = 0
    """Number of the tool call in which this process ends, from 1; 0: none."""

    def setup(self, task: Task, episode: Episode) -> Drawer:
        return Drawer(episode.sandbox, self.dies_at)

    async def furnish(self, state: Drawer, episode: Episode) -> None:
        await episode.sandbox.write("paper.txt", b"blank")

    def opening(self, task: Task, state: Drawer) -> Opening:
        return Opening(messages={"policy": "Write."})

    @tool()
    async def sh(self, state: Drawer, caller: Participant, command: str) -> str:
        """Runs a command."""
        state.calls += 1
        end = await state.sandbox.run(["sh", "-c", command])
        if state.calls == state.dies_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return (end.stdout + end.stderr).decode()

    async def score(self, state: Drawer, episode: Episode) -> float:
        return float(len(await episode.sandbox.read("paper.txt")))


@dataclass
class Writer:
    """Calls the desk's tool with commands, one after the other, and says what the last one printed."""

    commands: list[str]
    calls: int = 0

    async def complete(self, request: CompletionRequest) -> Completion:
        self.calls += 1
        results = [message.content for message in request.messages if message.role == "tool"]
        if len(results) == len(self.commands):
            return Completion(Message("assistant", results[-1]))
        call = ToolCall(f"call_{len(results)}", "sh", json.dumps({"command": self.commands[len(results)]}))
        return Completion(Message("assistant", tool_calls=(call,)))

    async def close(self) -> None:
        return None


async def play_at_desk(folder: Path, model: Writer, dies_at: int = 0, adopted: tuple[str, ...] = ()) -> Played:
    """Plays the episode, or goes on with it from fenced journals."""
    desk = Desk()
    desk.dies_at = dies_at
    supply = SandboxSupply(find_sandbox("process", "test")(), SandboxLimits())
    cast = {"policy": Participant.from_config("policy", ParticipantSection(model="m"), LIMITS)}
    journal = Journal(folder / f"1-{len(adopted)}.journal", "run", flush=False)
    stage = Stage(desk, cast, {"m": model}, LIMITS, sandboxes=supply)
    player = LeasePlayer(stage, GroupsSection(), journal, HistoryReader(folder))
    try:
        return await player.play(Lease(replace(SPEC, attempt=len(adopted)), adopted))
    finally:
        await supply.close()


if __name__ == "__main__":
    asyncio.run(play_at_desk(Path(sys.argv[1]), Writer(json.loads(sys.argv[3])), int(sys.argv[2])))
