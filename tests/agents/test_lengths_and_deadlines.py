"""Checks that programs are told how long the model's context and its answers are, and wait for the environment's tools."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from typing import Any

import pytest
from cast import play_with, replies
from playing import ScriptModel

from ray_gym.agents.claude_code import ClaudeCode
from ray_gym.agents.codex import Codex
from ray_gym.agents.command import Command, CommandOptions
from ray_gym.agents.pi import Pi
from ray_gym.agents.program import ProgramOptions, Site, Start

SITE = Site("/work", "http://127.0.0.1:4000", "key", "policy", 90.5, 700, 100_000)
UNKNOWN = replace(SITE, max_tokens=None, context_tokens=None)
LENGTHS = {
    "CLAUDE_CODE_MAX_CONTEXT_TOKENS": "100000",
    "CLAUDE_CODE_AUTO_COMPACT_WINDOW": "100000",
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "700",
}


def config_of(site: Site) -> dict[str, Any]:
    return tomllib.loads(Codex(ProgramOptions()).files(site)[".codex/config.toml"])


def variables_of(site: Site) -> dict[str, str]:
    return dict(ClaudeCode(ProgramOptions()).start(site, "Hello", 0).environment)


def test_codex_does_not_play_without_the_environments_tools() -> None:
    server = config_of(SITE)["mcp_servers"]["environment"]
    assert server["required"] is True
    assert server["startup_timeout_sec"] == server["tool_timeout_sec"] == 90.5


def test_codex_is_told_the_length_of_a_context_that_holds_more_than_its_prompt() -> None:
    assert config_of(SITE)["model_context_window"] == 100_000
    for site in (UNKNOWN, replace(SITE, context_tokens=8_192)):
        assert "model_context_window" not in config_of(site)


def test_claude_code_waits_for_the_environments_tools() -> None:
    told = variables_of(SITE)
    assert told["MCP_CONNECTION_NONBLOCKING"] == "0"
    for name in ("MCP_TIMEOUT", "MCP_CONNECT_TIMEOUT_MS", "MCP_TOOL_TIMEOUT", "CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT"):
        assert told[name] == "90500"


def test_a_turn_without_an_end_has_the_longest_timers() -> None:
    for deadline_s in (1e9, 1e300):
        site = replace(SITE, deadline_s=deadline_s)
        assert variables_of(site)["MCP_TIMEOUT"] == variables_of(site)["MCP_TOOL_TIMEOUT"] == f"{2**31 - 1}"
        assert config_of(site)["mcp_servers"]["environment"]["tool_timeout_sec"] == (2**31 - 1) / 1000


def test_claude_code_is_told_lengths_as_far_as_they_are_known() -> None:
    assert LENGTHS.items() <= variables_of(SITE).items()
    assert not LENGTHS.keys() & variables_of(UNKNOWN).keys()
    short = variables_of(replace(SITE, context_tokens=32_768))
    assert short["CLAUDE_CODE_MAX_CONTEXT_TOKENS"] == "32768" and "CLAUDE_CODE_AUTO_COMPACT_WINDOW" not in short
    wordy = variables_of(replace(SITE, context_tokens=50_000, max_tokens=32_000))
    assert "CLAUDE_CODE_AUTO_COMPACT_WINDOW" not in wordy


@pytest.mark.parametrize(("context", "kept"), [(8_192, (2_048, 2_048)), (131_072, (16_384, 20_000))])
def test_pi_is_told_lengths_and_what_to_keep_free(context: int, kept: tuple[int, int]) -> None:
    files = Pi(ProgramOptions()).files(replace(SITE, context_tokens=context))
    [model] = json.loads(files[".pi/models.json"])["providers"]["episode"]["models"]
    assert model == {"id": "policy", "contextWindow": context, "maxTokens": 700}
    compaction = json.loads(files[".pi/settings.json"])["compaction"]
    assert compaction == {"reserveTokens": kept[0], "keepRecentTokens": kept[1]}


def test_pi_is_told_no_lengths_that_are_not_known() -> None:
    files = Pi(ProgramOptions()).files(UNKNOWN)
    assert list(files) == [".pi/models.json"] and '"models": [{"id": "policy"}]' in files[".pi/models.json"]


class Noting(Command):
    """Notes the site that it is started at."""

    site: Site | None = None

    def start(self, site: Site, words: str, turn: int) -> Start:
        self.site = site
        return super().start(site, words, turn)


@pytest.mark.parametrize("length", [None, 4_096])
async def test_a_site_has_the_lengths_that_the_model_knows(length: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    async def context_tokens(model: ScriptModel) -> int | None:
        return length

    if length is not None:
        monkeypatch.setattr(ScriptModel, "context_tokens", context_tokens, raising=False)
    program = Noting(CommandOptions(command=("true",)))
    await play_with({"policy": program}, replies(), deadline_s=20)
    assert program.site is not None
    assert (program.site.deadline_s, program.site.max_tokens, program.site.context_tokens) == (20, 512, length)
