"""Measures the event loop of a worker under many agents that call at once: `python -m benchmarks.agent_door`.

Episodes are played in one process, each by an agent that makes its model calls at the worker's door. The agents are
coroutines of the same process in place of programs in sandboxes, and speak HTTP on the door's sockets, so that their own
work is in the lag, too. The model is a function. Calls are journaled, as in a run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np

from benchmarks.command import add_json, begin, positive
from benchmarks.table import table
from ray_gym import Environment, Episode, Message, Opening, Task
from ray_gym.agents.command import Command, CommandOptions
from ray_gym.agents.program import Hired
from ray_gym.agents.workplaces import Workplaces
from ray_gym.config.sections import AgentSection, LimitsSection, ParticipantSection
from ray_gym.engines.scripted_model import ScriptedModel
from ray_gym.episode.participant import Participant
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.journal.call_log import CallLog
from ray_gym.journal.journal import Journal
from ray_gym.models.base import CompletionRequest
from ray_gym.play.play import Played, play
from ray_gym.run.worker.garbage import collect_seldom
from ray_gym.sandbox import ProgramEnd, Sandbox, SandboxKind, SandboxLimits, Unavailable
from ray_gym.sandbox.supply import SandboxSupply

LOOK_S = 0.01
"""Seconds between two looks at the event loop."""
MOST_LAG_MS = 100.0
"""Bound on the 99th percentile of the lag."""
AT_ONCE = 32
"""Episodes that begin in one turn of the event loop, as in a worker with 1,000 places."""
CALLS = 10
PATH = "/openai/chat/completions"


class Asking(Environment[Task, None]):
    """Asks one question."""

    def setup(self, task: Task, episode: Episode) -> None:
        return None

    def opening(self, task: Task, state: None) -> Opening:
        return Opening(messages={"policy": "Count."})

    def score(self, state: None, episode: Episode) -> float:
        return 1.0


def count(request: CompletionRequest) -> Message:
    """Answers with the number of messages that the model was shown."""
    return Message("assistant", str(len(request.messages)))


class InProcess(SandboxKind):
    """Opens places for agents that are coroutines of this process."""

    name = "in_process"

    @classmethod
    def missing_here(cls) -> Unavailable | None:
        return None

    async def open(self, limits: SandboxLimits, door: Path | None = None) -> Sandbox:
        assert door is not None
        return cast(Sandbox, AgentHere(door))


@dataclass(slots=True, eq=False)
class AgentHere:
    """Makes the calls of an agent, each of which has the whole conversation."""

    door: Path
    folder: str = "/"
    door_url: str = "http://door"

    async def run(self, command: Sequence[str], *, env: Mapping[str, str], **options: Any) -> ProgramEnd:
        """Makes the calls one after the other on one connection, and prints the last answer."""
        began = time.monotonic()
        past, said = [{"role": "user", "content": "Count."}], ""
        reader, writer = await asyncio.open_unix_connection(str(self.door))
        try:
            for _call in range(CALLS):
                writer.write(_request(env["OPENAI_API_KEY"], past))
                said = await _answer(reader)
                past += [{"role": "assistant", "content": said}, {"role": "user", "content": "And now?"}]
        finally:
            writer.close()
        return ProgramEnd(0, None, time.monotonic() - began, said.encode(), b"")

    async def close(self) -> None:
        return None


def _request(key: str, messages: Sequence[Mapping[str, str]]) -> bytes:
    body = json.dumps({"model": "policy", "messages": messages}).encode()
    head = f"POST {PATH} HTTP/1.1\r\nHost: door\r\nAuthorization: Bearer {key}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


async def _answer(reader: asyncio.StreamReader) -> str:
    """Reads a response, and returns what the model said."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    )
    return str(json.loads(await reader.readexactly(length))["choices"][0]["message"]["content"])


@dataclass(slots=True)
class Measured:
    """Holds what was played, and how late the event loop was."""

    played: list[Played] = field(default_factory=list)
    lags: list[float] = field(default_factory=list)
    """Seconds by which each look at the event loop was late."""
    busy: list[float] = field(default_factory=list)
    """CPU seconds that the event loop took between two looks: the lag is no longer where nothing else runs."""
    seconds: float = 0.0
    cpu_s: float = 0.0

    def lost(self) -> int:
        """Returns the number of episodes that have not all of their calls, in one conversation."""
        last = str(2 * CALLS - 1)
        return sum(
            one.failure is not None
            or one.episode.answer != last
            or [len(thread.messages) for thread in one.episode.threads.values()] != [2 * CALLS]
            for one in self.played
        )

    def figures(self) -> dict[str, Any]:
        """Returns the numbers by the headings of the table."""
        calls = CALLS * len(self.played)
        return {
            "episodes": len(self.played), "lost": self.lost(), "calls/s": calls / self.seconds,
            "CPU-ms a call": 1000 * self.cpu_s / calls, "lag p50 (ms)": percentile_ms(self.lags, 50),
            "lag p99 (ms)": percentile_ms(self.lags, 99), "longest (ms)": percentile_ms(self.lags, 100),
            "busy p99 (CPU-ms)": percentile_ms(self.busy, 99), "busy longest": percentile_ms(self.busy, 100),
        }  # fmt: skip


def percentile_ms(seconds: Sequence[float], percent: float) -> float:
    """Returns a percentile in milliseconds; 0 if there is nothing."""
    return 1000 * float(np.percentile(seconds, percent)) if seconds else 0.0


async def measure(episodes: int, folder: Path) -> Measured:
    """Plays episodes, all at once. `folder`: of the journal."""
    limits = LimitsSection(max_turns=1, episode_deadline_s=3600)
    section = ParticipantSection(model="policy", max_steps_per_turn=CALLS, agent=AgentSection(id="here"))
    places = Workplaces({"policy": Hired("here", Command(CommandOptions(command=("x",))), 3600)})
    supply = SandboxSupply(InProcess(), SandboxLimits(), doorway=places)
    cast_ = {"policy": Participant.from_config("policy", section, limits)}
    stage = Stage(Asking(), cast_, {"policy": ScriptedModel(count, {}, 0.0)}, limits, agents=places, sandboxes=supply)
    journal = Journal(folder / "worker.journal", "benchmark", flush=False)
    measured = Measured()
    collect_seldom(episodes)  # as a worker does
    looking = asyncio.create_task(_look(measured))
    began, cpu = time.monotonic(), time.process_time()

    async def play_one(number: int) -> Played:
        spec = EpisodeSpec(f"e{number}", f"g{number}", f"t{number}", 0, number, "{}")
        return await play(spec, stage, CallLog(spec.episode_id, 0, 0, journal))

    try:
        playing = []
        for number in range(episodes):
            playing.append(asyncio.create_task(play_one(number)))
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)
        measured.played += await asyncio.gather(*playing)
        measured.seconds, measured.cpu_s = time.monotonic() - began, time.process_time() - cpu
    finally:
        looking.cancel()
        await places.close()
        await supply.close()
    return measured


async def _look(measured: Measured) -> None:
    """Looks at the event loop at even intervals. Those that were due during a standstill follow at once."""
    loop = asyncio.get_running_loop()
    due, cpu = loop.time(), time.thread_time()
    while True:
        due += LOOK_S
        await asyncio.sleep(due - loop.time())
        measured.lags.append(max(0.0, loop.time() - due))
        measured.busy.append((now := time.thread_time()) - cpu)
        cpu = now


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures rounds, prints them, and returns 1 if anything was lost, or a round broke the bound on the lag."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agent_door", description=__doc__)
    parser.add_argument("--episodes", type=positive, default=1000, help="episodes at once (default 1000)")
    parser.add_argument("--rounds", type=positive, default=5, help="rounds (default 5)")
    add_json(parser)
    given, heading = begin(parser, arguments)
    rounds = []
    for _ in range(given.rounds):
        with tempfile.TemporaryDirectory(prefix="ray_gym_door_") as folder:
            rounds.append(asyncio.run(measure(given.episodes, Path(folder))).figures())
    print(table(rounds))
    heading.write(given.json, rounds=rounds)
    problems = [f"{one['lost']} episodes were lost" for one in rounds if one["lost"]]
    problems += [f"lag p99 {one['lag p99 (ms)']:.1f} ms" for one in rounds if one["lag p99 (ms)"] > MOST_LAG_MS]
    for problem in problems:
        print(f"problem: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
