"""Defines how Claude Code plays a participant."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ray_gym.agents.program import AgentProgram, ProgramOptions, Site, Start

MCP = ".claude/mcp.json"
MOST_KEPT = 20_000
"""Most tokens of the context that it keeps free for an answer."""
SHORTEST = 40_000
"""Tokens of the context beside an answer from which on it may make summaries. It makes one 13,000 tokens before the
end, and its first prompt has some 21,000: in a shorter context it would make one after each step.
"""


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
            **_patience(site.deadline_ms),
            **_lengths(site),
        }
        return Start(command, variables, words)


def _patience(deadline_ms: int) -> dict[str, str]:
    """Returns the variables by which it waits for its MCP server before the first call, and for tools' results."""
    names = ("MCP_TIMEOUT", "MCP_CONNECT_TIMEOUT_MS", "MCP_TOOL_TIMEOUT", "CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT")
    return {"MCP_CONNECTION_NONBLOCKING": "0", **dict.fromkeys(names, str(deadline_ms))}


def _lengths(site: Site) -> dict[str, str]:
    """Returns the variables that tell it the lengths of the model's context and answers, as far as they are known.
    Unless the window is named too, it makes no summary before a server refuses a call.
    """
    context, answer = site.context_tokens, site.max_tokens
    is_long = context is not None and context - min(answer or MOST_KEPT, MOST_KEPT) >= SHORTEST
    known = {
        "CLAUDE_CODE_MAX_CONTEXT_TOKENS": context,
        "CLAUDE_CODE_AUTO_COMPACT_WINDOW": context if is_long else None,
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS": answer,
    }
    return {name: str(length) for name, length in known.items() if length is not None}
