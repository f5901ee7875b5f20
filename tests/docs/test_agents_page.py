"""Has the agents of docs/agents.md play, with a model that follows a script, and compares its tables with the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from cast import play_with
from conftest import REPOSITORY
from pages import block, blocks

from ray_gym.agents.command import Command, CommandOptions
from ray_gym.agents.program import AGENT, AgentProgram
from ray_gym.agents.python import Python, PythonOptions
from ray_gym.config.sections import AgentSection, LimitsSection
from ray_gym.engines.scripted_model import ScriptedOptions, load_scripted
from ray_gym.load_object import load_object

PAGE = REPOSITORY / "docs" / "agents.md"
FUNCTION, LOOP = block(PAGE, "python", "    text = "), block(PAGE, "python", "SHELL =")
PLAYER, PROGRAM = block(PAGE, "python", "def play(request)"), block(PAGE, "python", "sys.stdin.read()")


async def heard_from(agent: AgentProgram) -> tuple[list[str], list[str]]:
    """Plays two turns; returns what the user hears, and what the model was told last."""
    played, models = await play_with({"policy": agent}, ["It is 42.", "So."], ["Why?", "Bye"], max_turns=2)
    assert played.status == "completed" and played.failure is None, played.failure
    user = [text for role, text in models["user"].seen() if role == "user"]
    return user, [text for _, text in models["policy"].seen()]


@pytest.mark.docs
async def test_the_function_goes_on_in_its_conversation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_agent.py").write_text(FUNCTION)
    monkeypatch.syspath_prepend(tmp_path)
    user, told = await heard_from(Python(PythonOptions(python="my_agent:play")))
    assert user == ["It is 42.", "So."] and told == ["What is 6 times 7?", "It is 42.", "Why?"]


@pytest.mark.docs
@pytest.mark.parametrize(("code", "answer"), [(LOOP, "The answer is 42\nexit code 0"), (FUNCTION, "The answer is 42")])
async def test_the_player_stands_in_for_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, answer: str
) -> None:
    (tmp_path / "my_agent.py").write_text(code)
    (tmp_path / "my_player.py").write_text(PLAYER)
    monkeypatch.syspath_prepend(tmp_path)
    section = yaml.safe_load(block(PAGE, "yaml", "engine: scripted"))["models"]["small"]
    assert section.pop("engine") == "scripted"
    model = load_scripted(ScriptedOptions(**section))
    agent = Python(PythonOptions(python="my_agent:play"))
    played, models = await play_with({"policy": agent}, [model.complete] * 4, ["Why?", "Bye"], max_turns=2)
    assert played.failure is None, played.failure
    assert [text for role, text in models["user"].seen() if role == "user"] == [answer] * 2
    assert len(models["policy"].requests) == (3 if code == LOOP else 2), "its first call is in the second turn's past"


async def test_the_program_answers_what_it_hears(tmp_path: Path) -> None:
    (tmp_path / "my_agent.py").write_text(PROGRAM)
    user, told = await heard_from(Command(CommandOptions(command=("python3", str(tmp_path / "my_agent.py")))))
    assert user == ["It is 42.", "So."] and told == ["Why?"]


def test_no_code_of_the_page_is_left_out() -> None:
    assert blocks(PAGE, "python") == [FUNCTION, PLAYER, LOOP, PROGRAM]


def rows_of(heading: str) -> dict[str, str]:
    """Returns the first two columns of the table with this heading."""
    table = PAGE.read_text().partition(heading)[2].partition("\n\n")[0]
    return dict(re.findall(r"^\| `([\w.]+)` \| ([^|]*?) ?\|", table, re.MULTILINE))


def test_the_table_of_options_is_whole() -> None:
    kinds = [load_object(name, "agents.md") for name in AGENT.ours.values()]
    assert {*AgentSection.model_fields, *(key for kind in kinds for key in kind.Options.model_fields)} == {
        *rows_of("| key | default |")
    }


def test_the_defaults_of_limits_are_those_of_a_config() -> None:
    defaults: dict[str, Any] = {f"limits.{key}": one.default for key, one in LimitsSection.model_fields.items()}
    defaults["agent.deadline_s"] = AgentSection.model_fields["deadline_s"].default
    for key, told in rows_of("| limit | default |").items():
        assert told == ("none" if defaults[key] is None else str(defaults[key])), key
