"""Makes the agents that a config names, and the sandboxes that they and the environment's tools work in."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ray_gym.agents.program import AGENT, AgentProgram, Hired
from ray_gym.agents.running import with_path
from ray_gym.config.file import validate
from ray_gym.config.sections import RunConfig
from ray_gym.errors import UserError
from ray_gym.installed.cache import agents_dir
from ray_gym.plugins import find, find_sandbox
from ray_gym.sandbox.kind import SandboxKind
from ray_gym.sandbox.limits import SandboxLimits
from ray_gym.sandbox.supply import SandboxSupply

if TYPE_CHECKING:
    from ray_gym.agents.workplaces import Workplaces


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
        door = workplaces.open_door if workplaces is not None else None
        return SandboxSupply(self.kind, self.limits, self.ahead, self.most, door)

    async def check(self) -> None:
        """Checks that sandboxes can be had on this machine, and have the agents' programs. It takes some seconds at most.
        Errors: UserError that names what is missing, and how to get it.
        """
        if (problem := await asyncio.to_thread(self.kind.problem)) is not None:
            raise problem.as_error(self.kind.name)
        sandbox = await self.kind.open(self.limits)
        try:
            for participant, hired in self.agents.items():
                for name in hired.program.needs():
                    found = await sandbox.run(with_path(["sh", "-c", 'command -v -- "$1"', "sh", name]))
                    if found.exit_code:
                        told = f"{name} is not in a sandbox of kind {self.kind.name}"
                        raise UserError(
                            f"participants.{participant}.agent: {hired.name}: {told}: {hired.program.how_to_get}"
                        )
        finally:
            await sandbox.close()


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
            options = validate(found.Options, section.options, file, ("participants", name, "agent"), config)
            agents[name] = Hired(section.id, found(options), section.deadline_s)
    if not agents and not uses_sandbox:
        return None
    chosen = config.sandbox
    kind = find_sandbox(chosen.kind, f"{file}: sandbox.kind")
    settings = validate(kind.Options, _with_programs(kind, chosen.options), file, ("sandbox",), config)
    return Crew(agents, kind(settings), chosen.limits, chosen.ahead, chosen.most)


def _with_programs(kind: type[SandboxKind], options: dict[str, Any]) -> dict[str, Any]:
    """Returns the options of a kind, which shows the machine's agents to programs if it shows files of the machine."""
    if "read_only" not in kind.Options.model_fields or not agents_dir().is_dir():
        return options
    return {**options, "read_only": [*options.get("read_only", ()), str(agents_dir())]}
