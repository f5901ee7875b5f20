"""Captures black-box clients as a rollout's worker does: `python -m benchmarks.agent_capture.ours MODEL_URL COUNT WAY`.

Each client is the policy of an episode, whose model is the endpoint MODEL_URL. The door is the worker's own, and the
journal is written as a run's is by default. Prints the places of COUNT conversations, and ends when its input is closed.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import tempfile
from pathlib import Path

import uvloop

from benchmarks.openai_answers import NAME
from ray_gym import Environment, Episode, Opening, Task
from ray_gym.agents.door import AgentDoor, Entrance
from ray_gym.agents.program import AgentOptions, AgentProgram, Output, Site, Start
from ray_gym.agents.running import Launcher, Left
from ray_gym.agents.seat import Seat
from ray_gym.config.sections import AgentSection, LimitsSection, ParticipantSection
from ray_gym.engines.openai import OpenAIModel, OpenAIOptions
from ray_gym.episode.participant import Participant
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.episode.turn import Turn
from ray_gym.journal.call_log import CallLog
from ray_gym.journal.journal import Journal
from ray_gym.play.play import play
from ray_gym.run.worker.garbage import collect_seldom
from ray_gym.sandbox.kind import SandboxOptions
from ray_gym.sandbox.limits import SandboxLimits
from ray_gym.sandbox.process import ProcessSandbox


class Alone(Environment[Task, None]):
    """The policy has one turn."""

    def setup(self, task: Task, episode: Episode) -> None:
        return None

    def opening(self, task: Task, state: None) -> Opening:
        return Opening(messages={"policy": "Do it."})

    def score(self, state: None, episode: Episode) -> float:
        return 1.0


class Client(AgentProgram):
    """Stands for the program, which the benchmark starts elsewhere."""

    def start(self, site: Site, words: str, turn: int) -> Start:
        raise NotImplementedError


class Absent(Launcher):
    """Lets a turn go on until `end` is set: its client is started elsewhere."""

    def __init__(self, end: asyncio.Event) -> None:
        self.name, self.program = "client", Client(AgentOptions())
        self._end = end

    async def run(self, words: str, turn: int, ending: asyncio.Event) -> Left:
        """Waits, and returns an empty answer."""
        await self._end.wait()
        return Left(Output("", {}), "", None)


class Clients:
    """Gives the client of each episode a seat at a door, as `Workplaces` does for programs."""

    def __init__(self, entrance: Entrance) -> None:
        self.keys: asyncio.Queue[str] = asyncio.Queue()
        """Keys of the clients that may call."""
        self.end = asyncio.Event()
        self._entrance = entrance

    async def take_turn(self, episode: Episode, turn: Turn) -> None:
        """Lets the client's calls in until the end."""
        key = f"rg-{secrets.token_urlsafe(24)}"
        seat = Seat(episode, episode.participants[turn.speaker], Absent(self.end), self._entrance.refused)
        self._entrance.seats[key] = seat
        self.keys.put_nowait(key)
        await seat.take_turn(turn)

    async def leave(self, episode: Episode) -> None: ...

    async def close(self) -> None: ...


async def capture(model_url: str, count: int, way: str) -> None:
    """Plays an episode for each client, until standard input is closed. `way`: `socket` for the door itself, `sandbox` for
    the forwarder by which programs in a sandbox reach it.
    """
    door = AgentDoor()
    entrance = await door.open()
    sandbox = (
        await ProcessSandbox(SandboxOptions()).open(SandboxLimits(), door=entrance.path) if way == "sandbox" else None
    )
    url = f"unix:{entrance.path}:http://door" if sandbox is None else sandbox.door_url
    clients, limits = Clients(entrance), LimitsSection(max_turns=1, max_steps_per_turn=100)
    cast = {
        "policy": Participant.from_config(
            "policy", ParticipantSection(model="m", agent=AgentSection(id="client")), limits
        )
    }
    options = OpenAIOptions(base_url=model_url, model=NAME, max_connections=256)
    models = {"m": OpenAIModel(options, None, exact=True)}
    stage = Stage(Alone(), cast, models, limits, agents=clients)
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "journal", "run", flush=False)
        specs = [EpisodeSpec(f"e{number}", "g", "t", 0, number, "{}") for number in range(count)]
        playing = [asyncio.create_task(play(spec, stage, CallLog(spec.episode_id, 0, 0, journal))) for spec in specs]
        places = [[f"{url}/openai", await clients.keys.get(), NAME] for _ in specs]
        collect_seldom(count)
        print(json.dumps(places), flush=True)
        await asyncio.to_thread(sys.stdin.read)
        clients.end.set()
        played = await asyncio.gather(*playing)
        print(
            json.dumps({"calls": sum(1 for one in played for event in one.episode.events if event.model)}), flush=True
        )
        if sandbox is not None:
            await sandbox.close()
        await door.close()


def main() -> None:
    """Captures, on the loop that workers have."""
    uvloop.run(capture(sys.argv[1], int(sys.argv[2]), sys.argv[3]))


if __name__ == "__main__":
    main()
