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
        """Returns its list of providers, which is the door alone, and its settings."""
        lengths = {"contextWindow": site.context_tokens, "maxTokens": site.max_tokens}
        known = {name: length for name, length in lengths.items() if length is not None}
        provider = {
            "baseUrl": site.openai_url,
            "apiKey": "OPENAI_API_KEY",  # the name of a variable
            "api": "openai-completions",
            "models": [{"id": site.model, **known}],
        }
        files = {".pi/models.json": json.dumps({"providers": {"episode": provider}})}
        if site.context_tokens is not None:
            files[".pi/settings.json"] = json.dumps({"compaction": _shares(site.context_tokens)})
        return files

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


def _shares(context_tokens: int) -> dict[str, int]:
    """Returns the tokens of the context that it keeps free, and those that it leaves as they are when it makes a
    summary of the rest. Its defaults are more than a short context has, so that it would make one after each step.
    """
    return {"reserveTokens": min(16_384, context_tokens // 4), "keepRecentTokens": min(20_000, context_tokens // 4)}
