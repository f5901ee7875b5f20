"""Makes the agents that a config names, and the sandboxes that they and the environment's tools work in."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from ray_gym.agents.program import AGENT, AgentOptions, AgentProgram, Hired
from ray_gym.agents.running import BIN, with_path
from ray_gym.config.file import validate
from ray_gym.config.sections import SHORT_IDS, AgentSection, RunConfig
from ray_gym.errors import UserError
from ray_gym.installed.cache import agents_dir
from ray_gym.plugins import find, find_sandbox
from ray_gym.printable import beginning
from ray_gym.sandbox.kind import SandboxKind, SandboxOptions
from ray_gym.sandbox.limits import SandboxLimits
from ray_gym.sandbox.sandbox import Sandbox
from ray_gym.sandbox.supply import SandboxSupply

if TYPE_CHECKING:
    from ray_gym.agents.workplaces import Workplaces


TRIAL_S = 60
"""Seconds that the trial of an agent may take before a run. An agent's own deadline, and not that of the sandbox, is for
its turns.
"""
Settings = TypeVar("Settings", bound=SandboxOptions)


@dataclass(frozen=True, slots=True)
class Crew:
    """Holds the agents of a run, by the participants that they play, and the kind of its sandboxes."""

    agents: Mapping[str, Hired]
    kind: SandboxKind
    limits: SandboxLimits
    ahead: int = 0
    """Sandboxes that each worker has open ahead of need."""
    most: int | None = None
    """Sandboxes of a worker's episodes at a time, and as many to grade in; None: no limit."""

    def workplaces(self) -> Workplaces | None:
        """Makes the workplaces of a worker's agents; returns None if there are no agents."""
        if not self.agents:
            return None
        from ray_gym.agents.workplaces import Workplaces  # late: it brings an HTTP server, which other runs do without

        return Workplaces(self.agents)

    def sandboxes(self, workplaces: Workplaces | None) -> SandboxSupply:
        """Makes the sandboxes of a worker. From those of episodes, programs reach the door of its workplaces."""
        return SandboxSupply(self.kind, self.limits, self.ahead, self.most, workplaces)

    async def check(self) -> None:
        """Checks that sandboxes can be had on this machine, and have the agents' programs. It takes some seconds at most.
        Errors: UserError that names what is missing, and how to get it.
        """
        if (problem := await asyncio.to_thread(self.kind.problem)) is not None:
            raise problem.as_error(self.kind.name)
        sandbox = await self.kind.open(self.limits)
        try:
            for participant, hired in self.agents.items():
                if (lack := await _lack(sandbox, hired.program, self.kind)) is not None:
                    raise UserError(f"participants.{participant}.agent: {hired.name}: {lack}")
        finally:
            await sandbox.close()


async def _lack(sandbox: Sandbox, program: AgentProgram, kind: SandboxKind) -> str | None:
    """Returns what a sandbox lacks for a program, in words, with what to do about it; None if nothing."""
    there = f"in a sandbox of kind {kind.name}"
    for name in program.needs():
        found = await sandbox.run(with_path(["sh", "-c", 'command -v -- "$1"', "sh", name]), deadline_s=TRIAL_S)
        if found.exit_code:
            is_gone = (
                kind.shows_machine
                and shutil.which(name, path=f"{agents_dir() / BIN}:{os.environ.get('PATH', os.defpath)}") is None
            )
            advice = program.advice(None, kind.shows_machine)
            return f"{name} is not {'on this machine' if is_gone else there}: {advice}"
    if command := program.trial():
        tried = await sandbox.run(with_path(command), deadline_s=TRIAL_S)
        if tried.ended is not None:
            return f"its trial was ended ({tried.ended.value}) after {tried.seconds:.0f} s {there}"
        if tried.exit_code:
            said = tried.stderr.decode("utf-8", "replace").strip().splitlines()
            last = beginning(said[-1], 300) if said else f"exit code {tried.exit_code}"
            advice = program.advice(last, kind.shows_machine)
            return f"it fails ({last}) {there}{f': {advice}' if advice else ''}"
    return None


def hire(config: RunConfig, file: str, uses_sandbox: bool = False) -> Crew | None:
    """Makes the agents of a config; returns None if nobody needs a sandbox: it names no agents, and the environment does
    not ask for one (`uses_sandbox`). `file`: name of the config in messages. Errors: UserError for an unknown agent or
    kind of sandbox, or a wrong option.
    """
    agents: dict[str, Hired] = {}
    for name, participant in config.participants.items():
        if (section := participant.agent) is not None:
            where = f"{file}: participants.{name}.agent.id"
            found = find(AGENT, section.id, where)
            if not (isinstance(found, type) and issubclass(found, AgentProgram)):
                raise UserError(f"{where}: {section.id} is not a subclass of ray_gym.agents.program.AgentProgram")
            _refuse_two(section, found.Options, f"{file}: participants.{name}.agent")
            options = validate(found.Options, section.options, file, ("participants", name, "agent"), config)
            agents[name] = Hired(section.id, found(options), section.deadline_s)
    if not agents and not uses_sandbox:
        return None
    chosen = config.sandbox
    kind = find_sandbox(chosen.kind, f"{file}: sandbox.kind")
    settings = validate(kind.Options, chosen.options, file, ("sandbox",), config)
    for name, hired in agents.items() if kind.shows_machine else ():
        if (complaint := hired.program.complaint()) is not None:
            raise UserError(f"{file}: participants.{name}.agent.{complaint}")
    return Crew(agents, kind(with_programs(settings, agents)), chosen.limits, chosen.ahead, chosen.most)


def _refuse_two(section: AgentSection, options: type[AgentOptions], where: str) -> None:
    """Refuses a section that names two agents. Errors: UserError that names both keys."""
    first = section.id if section.id in section.options else f"id ({section.id})"
    for key in SHORT_IDS:
        if key in section.options and key != section.id and key not in options.model_fields:
            raise UserError(f"{where}: {first} and {key} name an agent each; leave one of them out")


def with_programs(settings: Settings, agents: Mapping[str, Hired]) -> Settings:
    """Returns the options of a kind of sandbox, which shows the machine's agents to programs if it shows files of it."""
    own = getattr(settings, "read_only", None)
    if own is None:
        return settings
    installed = (agents_dir(),) if agents_dir().is_dir() else ()
    shown = (*installed, *(path for one in agents.values() for path in one.program.reads()))
    return settings.model_copy(update={"read_only": (*own, *dict.fromkeys(shown))})
