"""Defines how any program plays a participant."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from ray_gym.agents.program import AgentOptions, AgentProgram, Site, Start
from ray_gym.beside import config_folders
from ray_gym.config.programs import CommandLine, Variables

UNSEEN = "$f is not seen there: give its absolute path, and name that in sandbox.read_only"
SEES = f'for f; do test -e "$f" || {{ echo "{UNSEEN}" >&2; exit 1; }}; done'


class CommandOptions(AgentOptions):
    """Holds the options of a command."""

    command: CommandLine
    """Program and arguments."""
    environment: Variables = Field(default_factory=dict)
    """Variables that it gets beside those of the door."""


class Command(AgentProgram):
    """Starts a program of the user's for each turn: what the participant hears is on its standard input, and what it
    prints is the answer. `EPISODE_TURN` is the number of the turn, from 0.
    """

    how_to_get = (
        "put it into the sandbox's PATH: into its image, or a folder of the machine that it sees (/usr/local/bin)"
    )
    Options = CommandOptions

    def needs(self) -> tuple[str, ...]:
        """Returns the program, if it is one of the sandbox rather than a file that the episode makes."""
        program: str = self.options.command[0]
        return (program,) if "/" not in program or program.startswith("/") else ()

    def trial(self) -> tuple[str, ...]:
        """Returns a command that fails if the sandbox lacks a file of this machine that the command names: by its path,
        or from the folder of the command line or the config's.
        """
        program, *arguments = self.options.command
        files = [one for one in [*([program] if "/" in program else []), *arguments] if _is_file_here(one)]
        return ("sh", "-c", SEES, "sh", *files) if files else ()

    def advice(self, said: str | None, shows_machine: bool) -> str:
        """Returns how to get the program; "" for a file that is not seen, of which its trial says what to do."""
        return self.how_to_get if said is None else ""

    def start(self, site: Site, words: str, turn: int) -> Start:
        """Returns the command, with the door in the variables that clients of both APIs read."""
        return Start(self.options.command, {**variables(site, turn), **self.options.environment}, words)


def _is_file_here(name: str) -> bool:
    try:
        return any((folder / name).is_file() for folder in (Path(), *config_folders()))
    except OSError:  # a program's code is no name of a file
        return False


def variables(site: Site, turn: int) -> dict[str, str]:
    """Returns the variables by which programs find the door. `turn`: number of the participant's turn, from 0."""
    return {
        "OPENAI_BASE_URL": site.openai_url,
        "OPENAI_API_KEY": site.key,
        "ANTHROPIC_BASE_URL": site.anthropic_url,
        "ANTHROPIC_API_KEY": site.key,
        "EPISODE_MODEL": site.model,
        "EPISODE_MCP_URL": site.mcp_url,
        "EPISODE_TURN": str(turn),
    }
