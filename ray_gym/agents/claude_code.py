"""Defines how Claude Code plays a participant."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ray_gym.agents.program import AgentProgram, ProgramOptions, Site, Start

MCP = ".claude/mcp.json"


class ClaudeCode(AgentProgram):
    """Starts `claude -p`, with `--continue` for later turns. It speaks Anthropic's Messages API."""

    Options = ProgramOptions
    how_to_get = "npm install --global @anthropic-ai/claude-code, or `make agents` in a checkout"

    def needs(self) -> tuple[str, ...]:
        """Returns its program."""
        return ("claude",)

    def files(self, site: Site) -> Mapping[str, str]:
        """Returns the list of its MCP servers: the one that offers the environment's tools."""
        headers = {"Authorization": f"Bearer {site.key}"}
        servers = {"environment": {"type": "http", "url": site.mcp_url, "headers": headers}}
        return {MCP: json.dumps({"mcpServers": servers})}

    def start(self, site: Site, words: str, turn: int) -> Start:
        """Returns the command of a turn, with the words on standard input."""
        again = ("--continue",) if turn else ()
        options = ("--dangerously-skip-permissions", "--mcp-config", MCP, *self.options.arguments)
        command = ("claude", "--print", *options, *again)
        variables = {
            "ANTHROPIC_BASE_URL": site.anthropic_url,
            "ANTHROPIC_API_KEY": site.key,
            "ANTHROPIC_MODEL": site.model,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "IS_SANDBOX": "1",  # it refuses to skip permissions as root otherwise
        }
        return Start(command, variables, words)
