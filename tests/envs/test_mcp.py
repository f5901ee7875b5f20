"""Plays the environment whose world is an MCP server: the protocol's own server sets its tasks up and scores them."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from conftest import REPOSITORY
from mcp_servers import plain
from playing_tasks import call_of, play_task, reward_of, says

from ray_gym.data.checking import BadRow, task_of
from ray_gym.data.rows import FileRow
from ray_gym.envs.mcp import Mcp, McpTask
from ray_gym.envs.mcp.environment import McpOptions, read_reward
from ray_gym.errors import UserError
from ray_gym.mcp.options import McpServer
from ray_gym.play.play import Played

EXAMPLES = [json.loads(line) for line in (REPOSITORY / "envs" / "mcp" / "example.jsonl").read_text().splitlines()]


def counter(server: Any = None, **options: Any) -> Mcp:
    given = {"servers": {"counter": server or plain()}, "setup_tool": "reset", "score_tool": "grade", **options}
    return Mcp(McpOptions.model_validate(given))


async def play_example(environment: Mcp) -> Played:
    await environment.prepare_worker()
    task = McpTask.model_validate(EXAMPLES[0])
    return await play_task(environment, task, {"policy": says(call_of("add", '{"amount": 7}'), "Done.")})


async def test_a_server_sets_tasks_up_and_scores_them() -> None:
    played = await play_example(counter())
    assert reward_of(played) == 1 and not {"reset", "grade"} & set(played.episode.tools)
    [verdict] = [event for event in played.episode.events if event.kind == "verdict"]
    assert (verdict.content, verdict.reward) == ("grade: 1.0", 1)


@pytest.mark.environments
async def test_the_example_server_is_played() -> None:
    command = (sys.executable, "-m", "ray_gym.envs.mcp.counter")
    played = await play_example(counter(McpServer(command=command, env={"PYTHONPATH": str(REPOSITORY)})))
    assert reward_of(played) == 1 and sorted(played.episode.tools) == ["add", "read"]


async def test_an_answer_is_compared_without_a_score_tool(subtests: pytest.Subtests) -> None:
    environment = Mcp(McpOptions(servers={"plain": plain()}))
    task = McpTask(task_id="t", prompt="Add 2.", answer="2")
    named = McpTask(task_id="t", prompt="Which city?", answer="Paris")
    said_of = [
        (task, "It is at\nAnswer: 2", 1),
        (task, "Answer: 2.", 1),
        (task, "Answer: 3", 0),
        (task, "Answer: .2", 0),
        (named, "Answer: Paris.", 1),
        (named, "Answer: paris", 1),
        (named, "Answer: not Paris", 0),
    ]
    for task, said, reward in said_of:
        with subtests.test(said):
            calls = says(call_of("add", '{"amount": 2}'), said)
            assert reward_of(await play_task(environment, task, {"policy": calls})) == reward


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"score_tool": "judge"}, "environment.score_tool: the servers have no tool 'judge'; there are: add, die, "),
        ({"servers": {"x": {"command": ["no-such-server"]}}}, "environment.servers.x: it ended with exit code 1"),
    ],
)  # fmt: skip
async def test_what_is_missing_is_told_before_the_run(options: dict[str, Any], why: str) -> None:
    with pytest.raises(UserError) as refused:
        await counter(**options).prepare_worker()
    assert why in str(refused.value)


@pytest.mark.parametrize("row", [{"prompt": "x", "answer": "1"}, {"prompt": ""}, {"prompt": "x", "arguments": 1}])
def test_rows_that_dont_fit_are_refused(row: dict[str, Any]) -> None:
    with pytest.raises(BadRow):
        task_of(FileRow("here", 1, row), counter())


def test_the_example_rows_are_tasks() -> None:
    assert [task_of(FileRow("here", 1, row), counter()).task_id for row in EXAMPLES] == [f"mcp-{n}" for n in range(5)]


@pytest.mark.parametrize(("told", "reward"), [("1", 1), ("0.5", 0.5), ('{"reward": -2, "why": "x"}', -2)])
def test_rewards_that_can_be_read(told: str, reward: float) -> None:
    assert read_reward(told) == reward


@pytest.mark.parametrize("told", ["", "well done", "true", "NaN", "null", "[1]", '{"score": 1}', '{"reward": "1"}'])
def test_rewards_that_are_none(told: str) -> None:
    with pytest.raises(ValueError, match="score_tool: expected a number"):
        read_reward(told)
