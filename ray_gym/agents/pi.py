"""Defines how pi plays a participant."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ray_gym.agents.program import AgentProgram, ProgramOptions, Site, Start


class Pi(AgentProgram):
    """Starts `pi --print`, with `--continue` for later turns. It speaks chat completions."""

    Options = ProgramOptions
    how_to_get = "npm install --global @mariozechner/pi-coding-agent, or `make agents` in a checkout"

    def needs(self) -> tuple[str, ...]:
        """Returns its program."""
        return ("pi",)

    def files(self, site: Site) -> Mapping[str, str]:
        """Returns its list of providers: the door alone."""
        provider = {
            "baseUrl": site.openai_url,
            "apiKey": "EPISODE_KEY",  # the name of a variable
            "api": "openai-completions",
            "models": [{"id": site.model}],
        }
        return {".pi/models.json": json.dumps({"providers": {"episode": provider}})}

    def start(self, site: Site, words: str, turn: int) -> Start:
        """Returns the command of a turn, with the words on standard input."""
        again = ("--continue",) if turn else ()
        command = ("pi", "--provider", "episode", "--model", site.model, *self.options.arguments, *again, "--print")
        return Start(command, {"PI_CODING_AGENT_DIR": f"{site.folder}/.pi", "EPISODE_KEY": site.key}, words)
