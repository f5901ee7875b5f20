"""Defines how an agent's program is started, and how its answer is read. `docs/agents.md` shows how to add one."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from ray_gym.config.programs import Arguments
from ray_gym.plugins import PluginKind

AGENT = PluginKind(
    "agent",
    "ray_gym.agents",
    ours={
        "claude-code": "ray_gym.agents.claude_code:ClaudeCode",
        "codex": "ray_gym.agents.codex:Codex",
        "command": "ray_gym.agents.command:Command",
        "mini-swe-agent": "ray_gym.agents.sdk:MiniSweAgent",
        "openai-agents": "ray_gym.agents.sdk:OpenAIAgents",
        "pi": "ray_gym.agents.pi:Pi",
        "python": "ray_gym.agents.python:Python",
    },
)
"""Kind of plugin that agents are. Other packages define them by entry points of the group `ray_gym.agents`."""

LONGEST_MS = 2**31 - 1
"""Most milliseconds of a program's timer, some 24 days: Node takes a longer one for over at once."""


@dataclass(frozen=True, slots=True)
class Site:
    """Tells a program where it is, and where its model is, as they are seen from inside of its sandbox."""

    folder: str
    """Absolute path of the folder that it works in."""
    url: str
    """Address of the door, without a slash at its end; the dialects are below it (`/openai`, `/anthropic`)."""
    key: str
    """API key, which is the episode's own."""
    model: str
    """Name of the model, which is that of the participant."""
    deadline_s: float = 600
    """Seconds that a turn may take. The environment's tools have deadlines of their own, so a client of MCP need not
    have a shorter one."""
    max_tokens: int | None = None
    """Most tokens of an answer of the model; None if that is not known."""
    context_tokens: int | None = None
    """Length of the model's context: prompt and answer together. None if that is not known."""

    @property
    def openai_url(self) -> str:
        """Returns the base URL of OpenAI's clients."""
        return f"{self.url}/openai"

    @property
    def anthropic_url(self) -> str:
        """Returns the base URL of Anthropic's clients."""
        return f"{self.url}/anthropic"

    @property
    def mcp_url(self) -> str:
        """Returns the address of the MCP server that offers the environment's tools."""
        return f"{self.url}/mcp"

    @property
    def deadline_ms(self) -> int:
        """Returns the milliseconds that a turn may take, as a program's timer takes them."""
        return min(math.ceil(self.deadline_s * 1000), LONGEST_MS)


@dataclass(frozen=True, slots=True)
class Start:
    """Says how a program is started for a turn."""

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables that are added to those of the sandbox."""
    input: str = ""
    """Text on its standard input, which is closed then."""


@dataclass(frozen=True, slots=True)
class Output:
    """Holds what a program left at the end of a turn."""

    printed: str
    """Text on its standard output."""
    files: Mapping[str, str]
    """Contents of those of its `answer_files` that are there, by path."""


class AgentOptions(BaseModel):
    """Holds the options of an agent, which are the further keys of a participant's `agent`."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ProgramOptions(AgentOptions):
    """Holds the options of an agent that is a program of its own."""

    arguments: Arguments = ()
    """Further arguments of the program, for example such that make its prompt shorter."""


class AgentProgram(ABC):
    """Starts a program for each turn of a participant, in the sandbox of the episode, and reads its answer.

    The program calls its model at the door; each call is a step of the participant. It ends its turn by ending. The
    next turn goes on in the same conversation, by whatever way the program has for that.
    """

    Options: ClassVar[type[AgentOptions]] = AgentOptions
    """Class of the agent's options."""
    how_to_get: ClassVar[str] = "put it there"
    """Words that tell a user how to get the program."""
    answer_files: ClassVar[tuple[str, ...]] = ()
    """Paths of files, in the sandbox's folder, that `answer` reads."""

    wrong_code: ClassVar[int | None] = None
    """Exit code by which the program says that its own code is wrong, whatever its model said; None if it has none."""

    def __init__(self, options: Any) -> None:
        """Takes the agent's `Options`."""
        self.options = options

    def needs(self) -> tuple[str, ...]:
        """Returns the programs that have to be in the sandbox, which is looked at before the run: names or paths."""
        return ()

    def trial(self) -> tuple[str, ...]:
        """Returns a command that fails in a sandbox which lacks anything else; () for none. It is run before the run."""
        return ()

    def reads(self) -> tuple[Path, ...]:
        """Returns files and folders of the machine that the program reads. A sandbox that shows files of the machine shows
        these, read-only.
        """
        return ()

    def complaint(self) -> str | None:
        """Returns what is wrong with the program's own files on this machine (`option: what is wrong`), or None. It is asked
        before workers start, where sandboxes show files of the machine.
        """
        return None

    def advice(self, said: str | None, shows_machine: bool) -> str:
        """Returns words that tell a user what to do about a sandbox that lacks something; "" if `said` tells it.

        said: the last line of the standard error of its `trial`; None if one of its `needs` is not there. shows_machine:
        True if the sandbox shows files of the machine.
        """
        return self.how_to_get

    def files(self, site: Site) -> Mapping[str, str]:
        """Returns files that are written before the first turn, by path in the sandbox's folder."""
        return {}

    @abstractmethod
    def start(self, site: Site, words: str, turn: int) -> Start:
        """Returns how the program is started. `words`: what the participant hears. `turn`: number of its turn, from 0."""

    def answer(self, output: Output) -> str:
        """Returns what the participant says at the end of its turn."""
        return output.printed.strip()


@dataclass(frozen=True, slots=True)
class Hired:
    """Holds the agent that plays a participant."""

    name: str
    """Id of the agent."""
    program: AgentProgram
    deadline_s: float
    """Seconds that a turn may take."""
