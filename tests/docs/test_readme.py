"""Cuts the README's environment, config and trainer out of the page and plays them; counts what it counts."""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import REPOSITORY
from pages import block
from playing_tasks import call_of, generated, play_task, reward_of, says

from ray_gym import Environment, open_stream
from ray_gym.config.sections import RunConfig
from ray_gym.plugins import ENVIRONMENT, names

README = REPOSITORY / "README.md"
ENVIRONMENT_CODE = block(README, "python", "class Guess(")
CONFIG = block(README, "yaml", "guess:Guess")
TRAINER = block(README, "python", "async def train(")
STEPS, GROUPS = 2, 2
PROGRAM = f"""
import json
import sys

{TRAINER}

batches = []


def learn(samples):
    batches.append(samples.select(["group_id", "token_ids", "loss_mask", "logprobs", "reward"]).to_pylist())


def save(step):
    return sys.argv[1]


if __name__ == "__main__":
    asyncio.run(train("guess.yaml", learn, save, steps={STEPS}, groups={GROUPS}))
    print(json.dumps(batches))
"""
"""The README's trainer with functions that learn nothing."""


@pytest.fixture
def environment(tmp_path: Path) -> Environment[Any, Any]:
    file = tmp_path / "guess.py"
    file.write_text(ENVIRONMENT_CODE)
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
    config = RunConfig.model_validate(yaml.safe_load(CONFIG))
    assert config.environment.id == "guess:Guess" and config.participants["policy"].tool_choice == "required"


def test_they_are_as_long_as_their_headings_say() -> None:
    for heading, code in (("An environment in", ENVIRONMENT_CODE), ("A trainer in", TRAINER)):
        [most] = re.findall(rf"^## {heading} (\d+)", README.read_text(), re.MULTILINE)
        assert len([line for line in code.splitlines() if line.strip()]) <= int(most)


def test_the_number_of_environments() -> None:
    [shown] = re.findall(r"\[(\d+)\]\(envs/README\.md\)", README.read_text())
    ours = {name for name in names(ENVIRONMENT) if (REPOSITORY / "envs" / name).is_dir()}
    linked = re.findall(r"^\| \[(\w+)\]\(\1\) \|", (REPOSITORY / "envs" / "README.md").read_text(), re.MULTILINE)
    assert set(linked) == ours and len(linked) == int(shown)


def test_the_trainer_opens_a_stream_as_it_can_be_opened() -> None:
    [call] = [
        node
        for node in ast.walk(ast.parse(TRAINER))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "open_stream"
    ]
    given = {str(keyword.arg): None for keyword in call.keywords}
    inspect.signature(open_stream).bind(*call.args, **given)


@pytest.mark.models
@pytest.mark.ray
@pytest.mark.engine
def test_the_trainer_trains_on_the_environment(tmp_path: Path) -> None:
    """Takes two steps with the small model under vLLM, whose weights are replaced by themselves after each."""
    from ray_gym.deployments.small_model import checkpoint_dir

    (tmp_path / "guess.py").write_text(ENVIRONMENT_CODE)
    (tmp_path / "guess.yaml").write_text(CONFIG)
    (tmp_path / "trainer.py").write_text(PROGRAM)
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("RAY_")}
    done = subprocess.run(
        [sys.executable, "trainer.py", str(checkpoint_dir())],
        cwd=tmp_path,
        env={**inherited, "RAY_ADDRESS": "local", "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(tmp_path)])},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    batches = json.loads(done.stdout.splitlines()[-1])
    assert [len({sample["group_id"] for sample in batch}) for batch in batches] == [GROUPS] * STEPS
    assert len({sample["group_id"] for batch in batches for sample in batch}) == STEPS * GROUPS
    for sample in (sample for batch in batches for sample in batch):
        assert 0 < sum(sample["loss_mask"]) < len(sample["token_ids"]) == len(sample["logprobs"])
        assert sample["reward"] in (0.0, 1.0)
