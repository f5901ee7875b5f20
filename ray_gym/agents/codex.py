"""Defines how Codex plays a participant."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ray_gym.agents.program import AgentProgram, Output, ProgramOptions, Site, Start

ANSWER = ".codex/answer.txt"
SHORTEST = 16_384
"""Length of a context, in tokens, from which on it makes summaries, at nine tenths of it. Its first prompt has some
9,200: in a shorter context it would make one after each step.
"""


class Codex(AgentProgram):
    """Starts `codex exec`, and `codex exec resume` for later turns. Its own sandbox is off, as the episode's is around
    it. It speaks the Responses API.
    """

    Options = ProgramOptions
    how_to_get = "npm install --global @openai/codex, or `make agents` in a checkout"
    answer_files = (ANSWER,)

    def needs(self) -> tuple[str, ...]:
        """Returns its program."""
        return ("codex",)

    def files(self, site: Site) -> Mapping[str, str]:
        """Returns its configuration: the door as its only provider, and the environment's tools as an MCP server,
        without which it does not play.
        """
        context = site.context_tokens or 0
        length = [f"model_context_window = {context}"] if context >= SHORTEST else []
        lines = [
            f"model = {json.dumps(site.model)}",
            *length,
            'model_provider = "episode"',
            "[model_providers.episode]",
            'name = "episode"',
            f"base_url = {json.dumps(site.openai_url)}",
            'env_key = "EPISODE_KEY"',
            'wire_api = "responses"',
            "[mcp_servers.environment]",
            f"url = {json.dumps(site.mcp_url)}",
            'bearer_token_env_var = "EPISODE_KEY"',
            "required = true",
            f"startup_timeout_sec = {site.deadline_ms / 1000}",
            f"tool_timeout_sec = {site.deadline_ms / 1000}",
        ]
        return {".codex/config.toml": "\n".join(lines) + "\n"}

    def start(self, site: Site, words: str, turn: int) -> Start:
        """Returns the command of a turn, with the words on standard input."""
        options = (
            "--skip-git-repo-check",
            "--dangerously-bypass-approvals-and-sandbox",
            "--output-last-message",
            ANSWER,
            *self.options.arguments,
        )
        again = ("resume", "--last") if turn else ()
        return Start(
            ("codex", "exec", *options, *again, "-"),
            {"CODEX_HOME": f"{site.folder}/.codex", "EPISODE_KEY": site.key},
            words,
        )

    def answer(self, output: Output) -> str:
        """Returns its last message."""
        return output.files.get(ANSWER, "").strip()
