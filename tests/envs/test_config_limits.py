"""Every config leaves enough turns, steps and time for its tasks: perfect players get the top reward within its own limits."""

from __future__ import annotations

import asyncio
import math
import os
import re
from pathlib import Path
from typing import Any

import pytest
from playing_tasks import generated, play_task, reward_of
from sandboxes import bubblewrap

from ray_gym import Environment, Task
from ray_gym.config.file import read_config
from ray_gym.config.sections import RunConfig
from ray_gym.run.plan import make_environment
from ray_gym.tools.runner import ToolRunner

CONFIGS = sorted(Path("configs").rglob("*.yaml"))
COSTLY = ("code_repair", "math", "reasoning_gym")
"""Configs that the gate leaves to a part."""
TASKS = 20
GENEROUS = {"max_turns": 100, "max_steps_per_turn": 100}


def needed_variables(config: Path) -> list[str]:
    """Returns the environment variables that a config can't be read without."""
    return [name for name in re.findall(r"\$\{oc\.env:(\w+)\}", config.read_text()) if name not in os.environ]


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=pytest.mark.environments) if path.stem in COSTLY else path for path in CONFIGS],
    ids=str,
)
async def test_perfect_players_get_the_top_reward_within_its_limits(path: Path) -> None:
    if missing := needed_variables(path):
        pytest.skip(f"its models are elsewhere: it needs {', '.join(missing)}")
    config = read_config(path)
    environment = make_environment(config, str(path))
    if any(section.agent is not None for section in config.participants.values()):
        pytest.skip("an agent's program plays it, which takes as many steps as it likes")
    if type(environment).generate is Environment.generate:
        pytest.skip(f"{config.environment.id} has no tasks of its own")
    if environment.uses_sandbox:
        bubblewrap()
    if environment.scores_groups():
        pytest.skip("a reward there says how one of a group compares with the others")
    tasks = [generated(environment, index, config.run.seed) for index in range(TASKS)]
    if not environment.perfect(tasks[0]):
        pytest.skip(f"{config.environment.id} has no perfect players")
    assert await rewards_of(environment, tasks, config) == await top_rewards(environment, tasks)


async def rewards_of(environment: Environment[Any, Any], tasks: list[Task], config: RunConfig | None) -> list[float]:
    """Returns the rewards of perfect players under the limits of a config, or under none."""
    given = config.participants.items() if config is not None else ()
    sections = {name: section.model_dump(exclude={"model"}) for name, section in given}
    limits = config.limits.model_dump() if config is not None else GENEROUS
    runner = ToolRunner()
    try:
        plays = [play_task(environment, task, seed=1, limits=limits, runner=runner, **sections) for task in tasks]
        return [reward_of(played) for played in await asyncio.gather(*plays)]
    finally:
        await runner.close()


async def top_rewards(environment: Environment[Any, Any], tasks: list[Task]) -> list[float]:
    """Returns the highest possible rewards; without a highest, those that perfect players get without limits."""
    highest = environment.reward_range[1]
    return [highest] * len(tasks) if math.isfinite(highest) else await rewards_of(environment, tasks, None)
