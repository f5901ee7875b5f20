"""Lists the agents whose traffic is recorded, each with the package that makes it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from test_real_programs import here
from test_sdk_agents import installed, of_examples

from ray_gym.agents.claude_code import ClaudeCode
from ray_gym.agents.codex import Codex
from ray_gym.agents.pi import Pi
from ray_gym.agents.program import AgentProgram
from ray_gym.agents.sdk import MiniSweAgent, OpenAIAgents, SdkAgent, SdkOptions
from ray_gym.installed.cache import agents_dir

OF_ITS_VERSION = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"


@dataclass(frozen=True, slots=True)
class Recorded:
    """Holds how an agent is made, and the package whose version is recorded."""

    make: Callable[[], AgentProgram]
    """Makes it. Skips the test where what it needs is missing; where all parts have to be had, it fails."""
    package: str
    python: Callable[[], Path] | None = None
    """Returns the Python that has the package; None for a package of npm."""

    def version(self) -> str:
        """Returns the version of the package that is installed."""
        if self.python is None:
            file = agents_dir() / "node_modules" / self.package / "package.json"
            return str(json.loads(file.read_text())["version"])
        command = [str(self.python()), "-c", OF_ITS_VERSION, self.package]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def _of_this_venv() -> Path:
    return Path(sys.executable)


def _of_its_kind(agent: type[SdkAgent]) -> AgentProgram:
    installed()
    return agent(SdkOptions())


ROSTER = {
    "codex": Recorded(lambda: here(Codex), "@openai/codex"),
    "claude-code": Recorded(lambda: here(ClaudeCode), "@anthropic-ai/claude-code"),
    "pi": Recorded(lambda: here(Pi), "@mariozechner/pi-coding-agent"),
    "openai-agents": Recorded(lambda: _of_its_kind(OpenAIAgents), "openai-agents", installed),
    "mini-swe-agent": Recorded(lambda: _of_its_kind(MiniSweAgent), "mini-swe-agent", installed),
    "anthropic": Recorded(lambda: of_examples("anthropic_agent"), "anthropic", _of_this_venv),
    "openai-chat": Recorded(lambda: of_examples("openai_chat"), "openai", _of_this_venv),
    "openai-responses": Recorded(lambda: of_examples("openai_responses"), "openai", _of_this_venv),
    "langgraph": Recorded(lambda: of_examples("langgraph_agent"), "langchain-openai", _of_this_venv),
    "pydantic-ai": Recorded(lambda: of_examples("pydantic_ai_agent", installed()), "pydantic-ai-slim", installed),
    "smolagents": Recorded(lambda: of_examples("smolagents_agent", installed()), "smolagents", installed),
}
"""Agents by the names of their shapes."""
