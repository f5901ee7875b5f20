"""Defines how agents made with other projects' Python packages play participants: OpenAI's Agents SDK, mini-swe-agent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from ray_gym.agents import turns
from ray_gym.agents.program import AgentOptions
from ray_gym.agents.python import Python, PythonOptions
from ray_gym.config.programs import Variables
from ray_gym.installed.cache import agents_dir

TURNS = Path(turns.__file__).parent
PYTHON = "venv/bin/python"
"""Interpreter in `agents_dir` that has the packages."""


class SdkOptions(AgentOptions):
    """Holds the options of such an agent."""

    interpreter: str | None = None
    """Python that has the package. Default: the one that `make agents` installs."""
    environment: Variables = Field(default_factory=dict)
    """Variables that it gets beside those of the door."""


class SdkAgent(Python):
    """Calls a function of the folder `turns` for each turn, by an interpreter that has a package."""

    Options: ClassVar[type[AgentOptions]] = SdkOptions
    module: ClassVar[str]
    """Name of the function's module, which is a file of the folder."""
    variables: ClassVar[Mapping[str, str]]
    """Variables of the package itself."""

    def __init__(self, options: SdkOptions) -> None:
        python = options.interpreter or str(agents_dir() / PYTHON)
        environment = {**self.variables, **options.environment}
        super().__init__(PythonOptions(python=f"{self.module}:play", interpreter=python, environment=environment))
        self._package = (TURNS / f"{self.module}.py",)

    def complaint(self) -> str | None:
        """Returns None, as its function is ray_gym's own."""
        return None

    def advice(self, said: str | None, shows_machine: bool) -> str:
        """Returns how to get the package and its interpreter."""
        return self.how_to_get


class OpenAIAgents(SdkAgent):
    """Has an agent of OpenAI's Agents SDK with a shell. It speaks the Responses API."""

    how_to_get = "`make agents` in a checkout, or pip install openai-agents into the Python that `interpreter` names"
    module = "openai_agents_turn"
    variables: ClassVar[Mapping[str, str]] = {"OPENAI_AGENTS_DISABLE_TRACING": "1"}


class MiniSweAgent(SdkAgent):
    """Has mini-swe-agent with a shell. It speaks chat completions."""

    how_to_get = "`make agents` in a checkout, or pip install mini-swe-agent into the Python that `interpreter` names"
    module = "mini_swe_agent_turn"
    variables: ClassVar[Mapping[str, str]] = {
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "MSWEA_GLOBAL_CONFIG_DIR": ".agent",
        "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "1",  # calls are tried again behind the door
        "MSWEA_SILENT_STARTUP": "1",
    }
