"""Defines how pi plays a participant."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ray_gym.agents.program import AgentProgram, ProgramOptions, Site, Start


class Pi(AgentProgram):
    """Starts `pi --print`, with `--continue` for later turns. It speaks chat completions. It has no client of MCP: the
    commands that it runs find the environment's tools by variables.
    """

    Options = ProgramOptions
    how_to_get = "npm install --global @mariozechner/pi-coding-agent, or `make agents` in a checkout"

    def needs(self) -> tuple[str, ...]:
        """Returns its program."""
        return ("pi",)

    def files(self, site: Site) -> Mapping[str, str]:
        """Returns its list of providers: the door alone."""
        provider = {
            "baseUrl": site.openai_url,
            "apiKey": "OPENAI_API_KEY",  # the name of a variable
            "api": "openai-completions",
            "models": [{"id": site.model}],
        }
        return {".pi/models.json": json.dumps({"providers": {"episode": provider}})}

    def start(self, site: Site, words: str, turn: int) -> Start:
        """Returns the command of a turn, with the words on standard input."""
        again = ("--continue",) if turn else ()
        command = ("pi", "--provider", "episode", "--model", site.model, *self.options.arguments, *again, "--print")
        environment = {
            "PI_CODING_AGENT_DIR": f"{site.folder}/.pi",
            "OPENAI_API_KEY": site.key,
            "EPISODE_MCP_URL": site.mcp_url,
        }
        return Start(command, environment, words)
