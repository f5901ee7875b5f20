"""Has the agents of docs/agents.md play, with a model that follows a script."""

from __future__ import annotations

from pathlib import Path

import pytest
from cast import play_with
from conftest import REPOSITORY
from pages import block, blocks

from ray_gym.agents.command import Command, CommandOptions
from ray_gym.agents.program import AgentProgram
from ray_gym.agents.python import Python, PythonOptions

PAGE = REPOSITORY / "docs" / "agents.md"
FUNCTION, PROGRAM = block(PAGE, "python", "def play("), block(PAGE, "python", "sys.stdin.read()")


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


async def test_the_program_answers_what_it_hears(tmp_path: Path) -> None:
    (tmp_path / "my_agent.py").write_text(PROGRAM)
    user, told = await heard_from(Command(CommandOptions(command=("python3", str(tmp_path / "my_agent.py")))))
    assert user == ["It is 42.", "So."] and told == ["Why?"]


def test_no_code_of_the_page_is_left_out() -> None:
    assert blocks(PAGE, "python") == [FUNCTION, PROGRAM]
