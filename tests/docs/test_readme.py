"""README's first environment, cut out of the page and played, and its config."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest
import yaml
from playing_tasks import call_of, generated, play_task, reward_of, says

from ray_gym import Environment
from ray_gym.config.sections import RunConfig

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()


def block(language: str, has: str) -> str:
    [found] = [one for one in re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE) if has in one]
    return found


@pytest.fixture
def environment(tmp_path: Path) -> Environment[Any, Any]:
    file = tmp_path / "guess.py"
    file.write_text(block("python", "class Guess("))
    made: Environment[Any, Any] = runpy.run_path(str(file), run_name="guess")["Guess"]()
    return made


def guesses(*numbers: int) -> Any:
    return says(*(call_of("guess", f'{{"number": {number}}}') for number in numbers))


@pytest.mark.parametrize(
    ("numbers", "reward", "told"),
    [((50, 75, 60), 1, ["higher", "lower", "found"]), ((60,), 1, ["found"]), ((1, 100, 1), 0, ["higher", "lower"])],
)
async def test_the_environment_of_ones_own(
    environment: Environment[Any, Any], numbers: tuple[int, ...], reward: float, told: list[str]
) -> None:
    limits = {"max_turns": 1, "max_steps_per_turn": 3}
    played = await play_task(
        environment, environment.task_type(secret=60), {"policy": guesses(*numbers)}, limits=limits
    )
    assert reward_of(played) == reward
    results = [event.content for event in played.episode.events if event.kind == "tool_result"]
    assert results[: len(told)] == told


async def test_a_number_out_of_range_is_answered_with_an_error(environment: Environment[Any, Any]) -> None:
    played = await play_task(
        environment, environment.task_type(secret=60), {"policy": guesses(101, 60)}, limits={"max_steps_per_turn": 2}
    )
    assert reward_of(played) == 1
    errors = [event.error for event in played.episode.events if event.kind == "tool_result"]
    assert errors[0] is not None and errors[1] is None


def test_its_tasks_and_its_config(environment: Environment[Any, Any]) -> None:
    assert len({generated(environment, index).secret for index in range(300)}) > 50
    config = RunConfig.model_validate(yaml.safe_load(block("yaml", "guess:Guess")))
    assert config.environment.id == "guess:Guess" and config.participants["policy"].tool_choice == "required"
