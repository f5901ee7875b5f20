"""Checks that agents play with the real small model on vLLM: whatever it says, the record is valid, its tokens are exact,
and their logprobs are those of a forward pass of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ray_gym
from sandboxes import bubblewrap
from test_sdk_agents import installed

from ray_gym.agents.sdk import PYTHON
from ray_gym.deployments.small_model import checkpoint_dir
from ray_gym.deployments.vllm.hardware import cpu_dtype
from ray_gym.installed.cache import agents_dir
from ray_gym.load import load
from ray_gym.record.soundness import sample_problems
from ray_gym.trainers.recorded_logprobs import Grammars, Reference, sample_logprobs

pytestmark = [pytest.mark.ray, pytest.mark.engine, pytest.mark.agents, pytest.mark.timeout(900)]

AGENTS = {
    "codex": "{id: codex, arguments: [-c, features.multi_agent=false, -c, features.goals=false]}",
    "claude-code": "{id: claude-code, arguments: [--tools, Bash]}",
    "pi": "{id: pi}",
    "openai-agents": "{id: openai-agents}",
    "mini-swe-agent": "{id: mini-swe-agent}",
    "anthropic": "{python: 'examples.agents.anthropic_agent:play'}",
    "openai": "{python: 'examples.agents.openai_chat:play'}",
    "langgraph": "{python: 'examples.agents.langgraph_agent:play'}",
    "pydantic-ai": f"{{python: 'examples.agents.pydantic_ai_agent:play', interpreter: {agents_dir() / PYTHON}}}",
    "smolagents": f"{{python: 'examples.agents.smolagents_agent:play', interpreter: {agents_dir() / PYTHON}}}",
}
"""Agents by name. The model's context of 8,192 tokens is too short for all the tools of the first two."""
ENOUGH_TOKENS = 8
"""Number of tokens from which the mean difference of a sample alone is held against what is allowed."""
CONFIG = """
environment: {{id: math, judge: false}}
tasks: {{generate: 1}}
models: {{small: {{engine: vllm, model: smollm2-135m-instruct, gpus: 0, app: {app}}}}}
participants:
  policy:
    model: small
    sampling: {{temperature: 1.0, max_tokens: 48, stop: [".", "!", "?", " a", " the", " to"]}}
    agent: {agent}
sandbox: {{kind: bubblewrap}}
limits: {{max_turns: 1, max_steps_per_turn: 3, token_budget: 600, episode_deadline_s: 600}}
fanout: {{workers: 1, concurrency: 1}}
output: {{dir: {folder}/runs}}
"""


@pytest.fixture(scope="module")
def recomputed() -> tuple[Reference, Grammars]:
    return Reference(checkpoint_dir()), Grammars.of(checkpoint_dir())


@pytest.mark.parametrize("name", AGENTS)
def test_an_agents_episode_is_exact(
    name: str,
    tmp_path: Path,
    model_cluster: dict[str, str],
    small_model_app: str,
    recomputed: tuple[Reference, Grammars],
) -> None:
    bubblewrap()
    installed()
    config = tmp_path / "run.yaml"
    config.write_text(CONFIG.format(app=small_model_app, agent=AGENTS[name], folder=tmp_path))
    done = ray_gym("rollout", str(config), environment=model_cluster, timeout=800)
    assert done.returncode == 0, done.stderr + done.stdout
    (run,) = (tmp_path / "runs").iterdir()
    [row] = load(run).episodes.to_pylist()
    assert row["status"] == "completed" and row["stop_reason"] != "context_full", row["failure"]
    samples = [sample for sample in row["samples"] if 1 in sample["loss_mask"]]
    assert samples, "the model was asked"
    assert [sample_problems(sample) for sample in samples] == [[] for _ in samples]
    assert_forward_pass_agrees(samples, recomputed)


def assert_forward_pass_agrees(samples: list[dict[str, Any]], recomputed: tuple[Reference, Grammars]) -> None:
    """Checks that the engine has had as its prompt, at every step, what an episode's samples say. The means are those of each
    sample of enough tokens and of all together, for a sample may have no more than three.
    """
    mean, largest = (2e-5, 2e-4) if cpu_dtype() == "float32" else (0.1, 2.0)
    differences = []
    for sample in samples:
        computed, at_edge = sample_logprobs(sample, *recomputed)
        recorded = np.array(sample["logprobs"])[np.array(sample["loss_mask"], dtype=bool)]
        differences.append(np.abs(computed.numpy() - recorded))
        assert at_edge == 0 and differences[-1].max() <= largest
        assert differences[-1].mean() <= mean or len(recorded) < ENOUGH_TOKENS
    assert np.concatenate(differences).mean() <= mean
