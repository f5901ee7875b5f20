"""Checks that a config which is written whole, as a run keeps it and `ray-gym config` prints it, is read as the same one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import REPOSITORY

from ray_gym.config.file import as_yaml, read_config, read_config_text
from ray_gym.run.resume import config_to_resume, meaning_diff

SHIPPED = sorted((*REPOSITORY.glob("configs/*.yaml"), *REPOSITORY.glob("examples/agents/*.yaml")))
MINIMAL = """\
environment: {id: tic_tac_toe}
tasks: {generate: 1}
models: {random: {engine: scripted, player: "json:dumps"}}
participants:
  policy: {model: random, agent: AGENT}
"""
AGENTS = [
    "{id: codex}",
    "{id: claude-code}",
    "{id: pi}",
    "{id: mini-swe-agent}",
    "{id: openai-agents}",
    "{command: [sh]}",
    "{id: command, command: [sh]}",
    "{python: 'my:play'}",
]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_a_shipped_config_is_read_as_it_is_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in re.findall(r"oc\.env:(\w+)", path.read_text("utf-8")):
        monkeypatch.setenv(name, "http://127.0.0.1:1/v1")
    config = read_config(path)
    again = read_config_text(as_yaml(config.as_written()), "run.yaml")
    assert again.model_dump() == config.model_dump()


@pytest.mark.parametrize("agent", AGENTS)
def test_a_run_with_an_agent_is_resumed_with_what_it_has_written(tmp_path: Path, agent: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(MINIMAL.replace("AGENT", agent), "utf-8")
    config = read_config(path)
    kept = read_config_text(as_yaml(config.as_written()), "run.yaml")
    assert not meaning_diff(config, config_to_resume(kept, "run"), allowed=())
