"""Plays one episode in process whose participants are programs, with models that follow a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from playing import Reply, ScriptModel, Talk

from ray_gym import Environment
from ray_gym.agents.command import Command, CommandOptions
from ray_gym.agents.hiring import with_programs
from ray_gym.agents.program import AgentProgram, Hired
from ray_gym.agents.workplaces import Workplaces
from ray_gym.config.sections import LimitsSection, ParticipantSection
from ray_gym.episode.meter import Meter
from ray_gym.episode.participant import Participant
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.journal.call_log import CallLog
from ray_gym.play.play import Played, play
from ray_gym.plugins import find_sandbox
from ray_gym.sandbox.limits import SandboxLimits
from ray_gym.sandbox.supply import SandboxSupply

ASK = """
import json, os, sys, time, urllib.error, urllib.request
def post(path, body, key=None):
    key = key or os.environ["OPENAI_API_KEY"]
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    address = os.environ["OPENAI_BASE_URL"].removesuffix("/openai") + path
    request = urllib.request.Request(address, json.dumps(body).encode(), headers)
    try:
        return json.load(urllib.request.urlopen(request, timeout=30))
    except urllib.error.HTTPError as error:
        return {"status": error.code, **json.load(error)}
def ask(messages, key=None):
    return post("/openai/chat/completions", {"model": "policy", "messages": messages}, key)
def text_of(answer):
    return answer["choices"][0]["message"]["content"]
words = sys.stdin.read()
"""
"""Beginning of a program: functions by which it calls its model, and what it hears."""


def program(code: str) -> Command:
    """Makes an agent of Python code behind `ASK`."""
    return Command(CommandOptions(command=("python3", "-c", ASK + code)))


def replies(*texts: str) -> list[Reply]:
    return list(texts)


async def play_with(
    agents: Mapping[str, AgentProgram],
    policy: Sequence[Reply],
    user: Sequence[Reply] = ("Bye",),
    *,
    kind: str = "process",
    deadline_s: float = 30,
    log: CallLog | None = None,
    environment: Environment[Any, Any] | None = None,
    meter: Meter | None = None,
    **limits: Any,
) -> tuple[Played, dict[str, ScriptModel]]:
    """Plays a talk of the policy with the user; returns what was played, and the models. `agents`: programs by the
    participant that they play. `environment`: that of the talk; by default one without tools. `meter`: that of all
    model calls. `limits`: fields of the section `limits`.
    """
    bounds = LimitsSection(**{"max_turns": 1, **limits})
    models = {"policy": ScriptModel(list(policy)), "user": ScriptModel(list(user))}
    sections = {
        name: ParticipantSection(model=name, **({"agent": {"id": "x"}} if name in agents else {})) for name in models
    }
    cast = {name: Participant.from_config(name, section, bounds) for name, section in sections.items()}
    hired = {name: Hired("mine", agent, deadline_s) for name, agent in agents.items()}
    found = find_sandbox(kind, "test")
    places = Workplaces(hired)
    supply = SandboxSupply(found(with_programs(found.Options(), hired)), SandboxLimits(), doorway=places)
    stage = Stage(environment or Talk(), cast, models, bounds, agents=places, sandboxes=supply, meter=meter or Meter())
    try:
        played = await play(EpisodeSpec("e", "g", "t", 0, 0, "{}"), stage, log)
        assert not places._open, "an episode that is over has left"
    finally:
        await places.close()
        await supply.close()
    return played, models
