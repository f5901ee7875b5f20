"""Compares datasets of Reasoning Gym with the library driven directly."""

from __future__ import annotations

import base64
import pickle
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from conftest import REPOSITORY
from playing_tasks import generated, play_task, reward_of, says
from pydantic import ValidationError
from reasoning_gym.composite import DatasetSpec
from reasoning_gym.factory import DATASETS, create_dataset

from ray_gym import Message, Opening, Task
from ray_gym.envs.reasoning_gym import ReasoningGym, items
from ray_gym.envs.reasoning_gym.environment import Item, ReasoningGymTask, answer_in
from ray_gym.errors import FailureKind, UserError
from ray_gym.models.base import CompletionRequest
from ray_gym.tools.runner import ToolRunner

SUM = {"dataset": "chain_sum", "settings": {"min_terms": 2, "max_terms": 2}}
SMALL: dict[str, dict[str, Any]] = {
    "composite": {"datasets": [{"name": "gcd", "weight": 2.0}, {"name": "graph_color", "weight": 1.0}]},
    "knight_swap": {"max_nodes": 6, "max_pieces": 2, "max_steps": 8},  # else an item takes seven seconds
    "futoshiki": {"max_board_size": 5},
}
WITHOUT_AN_ANSWER = {"boxnet", "rush_hour"}
"""The library has a scorer for these, and no answer."""


def environment(**options: Any) -> ReasoningGym:
    return ReasoningGym(ReasoningGym.Options(**options))


on_one_loop = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def runner() -> AsyncIterator[ToolRunner]:
    """Its processes import the library once."""
    runner = ToolRunner()
    yield runner
    await runner.close()


class Open(ReasoningGym):
    """Shows the test what it asks, so that it can answer."""

    def opening(self, task: Task, state: Item) -> Opening:
        self.entry = pickle.loads(base64.b64decode(state.packed))
        return super().opening(task, state)  # type: ignore[arg-type]


def directly(task: ReasoningGymTask, entry: dict[str, Any], answer: str | None) -> float:
    settings: dict[str, Any] = dict(task.settings)
    if task.dataset == "composite":
        settings["datasets"] = [DatasetSpec(config={}, **part) for part in settings["datasets"]]
    return float(create_dataset(task.dataset, **settings, seed=task.seed, size=1).score_answer(answer, entry))


@on_one_loop
@pytest.mark.environments
async def test_every_dataset_scores_its_own_answer_as_the_library_does(runner: ToolRunner) -> None:
    assert len(DATASETS) > 100
    for dataset in items.names():
        task = ReasoningGymTask(dataset=dataset, settings=SMALL.get(dataset, {}), seed=11)
        game = Open()
        game.check(task)

        def own_answer(request: CompletionRequest, rng: Any, game: Open = game) -> Message:
            return Message("assistant", f"So it is <answer>{items.oracle(game.entry) or '?'}</answer>.")

        played = await play_task(game, task, {"policy": own_answer}, runner=runner)
        own = items.oracle(game.entry)
        assert (own is None) == (dataset in WITHOUT_AN_ANSWER), dataset
        assert reward_of(played) == directly(task, game.entry, own or "?"), dataset
        if own is not None:
            assert reward_of(played) == 1, (dataset, own)
        asked = played.episode.threads["policy"].messages[1]
        assert asked.content == game.entry["question"], dataset


@on_one_loop
@pytest.mark.environments
async def test_a_perfect_player_gets_the_most(runner: ToolRunner) -> None:
    mixture = [{"dataset": "gcd"}, {"dataset": "leg_counting"}, {"dataset": "propositional_logic"}, {"dataset": "lcm"}]
    game = environment(mixture=mixture)
    for index in range(200):
        assert reward_of(await play_task(game, generated(game, index), runner=runner)) == 1


@pytest.mark.environments
@on_one_loop
async def test_wrong_answers_get_what_the_library_gives(runner: ToolRunner) -> None:
    task = ReasoningGymTask(dataset="chain_sum", settings={"min_terms": 2, "max_terms": 2}, seed=5)
    entry = items.entry("chain_sum", task.settings, 5)
    right = entry["answer"]
    rewards = []
    for said, answer in [
        (f"<answer>{right}</answer>", right),
        (f"It is \\boxed{{{right}}}.", right),
        (right, right),
        (f"<answer>0</answer> no, <answer> {right}\n</answer>", right),
        (f"<answer>\\boxed{{{right}}}</answer>", right),
        (f"<answer> $\\boxed{{ {right} }}$. </answer>", right),
        (f"<answer>\\(\\boxed{{{right}}}\\)</answer>", right),
        (f"<answer>\n\\[ \\boxed{{{right}}} \\].</answer>", right),
        (f"<answer>**\\(\\boxed{{{right}}}.\\)**</answer>", right),
        (f"<answer>{right}</answer> no, <answer>0</answer>", "0"),
        (f"\\boxed{{{right}}}, that is <answer>7</answer>", "7"),
        (f"It is {right}, I think.", f"It is {right}, I think."),
        (f"<answer>{right} or so</answer>", f"{right} or so"),
        ("<answer></answer>", "<answer></answer>"),  # an empty one is none
        ("", None),
        ("nothing comes to my mind", "nothing comes to my mind"),
        (f"<answer>-{right}1</answer>", f"-{right}1"),
        ("<answer>\\boxed{1} or \\boxed{2}</answer>", "\\boxed{1} or \\boxed{2}"),
    ]:
        played = await play_task(environment(), task, {"policy": says(said)}, runner=runner)
        assert answer_in(said) == answer
        rewards.append(reward_of(played))
        assert rewards[-1] == directly(task, entry, answer), said
    assert rewards[:9] == [1] * 9 and max(rewards[9:]) < 1 and 0 < rewards[11] < 1


@on_one_loop
@pytest.mark.environments
async def test_the_same_task_is_the_same_item_in_every_process(runner: ToolRunner) -> None:
    """This holds also for datasets that depend on the order of sets; and the grader gets the item as it was."""
    others = ToolRunner()
    try:
        for dataset in ("isomorphic_strings", "ransom_note", "word_ladder", "polynomial_multiplication", "sudoku"):
            task = ReasoningGymTask(dataset=dataset, seed=3)
            plays = [
                await play_task(environment(), task, {"policy": says("?")}, runner=each) for each in (runner, others)
            ]
            assert plays[0].episode.state == plays[1].episode.state
            if not items.depends_on_hashes(dataset, {}):
                assert pickle.loads(base64.b64decode(plays[0].episode.state.packed)) == items.entry(dataset, {}, 3)
    finally:
        await others.close()


@on_one_loop
async def test_an_item_that_is_not_made_in_time_fails_its_episode(runner: ToolRunner) -> None:
    many = {"min_terms": 400_000, "max_terms": 400_000, "min_digits": 1, "max_digits": 1}  # a second of work
    task = ReasoningGymTask(dataset="chain_sum", settings=many, seed=1)
    played = await play_task(environment(deadline_s=0.05), task, {"policy": says("?")}, runner=runner)
    assert played.failure is not None and played.failure.kind is FailureKind.DATA
    assert played.failure.where == "item of chain_sum" and "gave nothing within" in played.failure.message


def test_no_perfect_player_where_no_answer_is_known() -> None:
    for dataset in ("rush_hour", "word_ladder"):
        assert environment().perfect(ReasoningGymTask(dataset=dataset, seed=1)) == {}


def test_tasks_are_distinct_and_come_from_the_seed() -> None:
    game = environment(mixture=[{"dataset": "gcd", "weight": 3}, {"dataset": "lcm"}])
    tasks = [generated(game, index) for index in range(1000)]
    assert len({task.model_dump_json() for task in tasks}) >= 990
    assert tasks == [generated(game, index) for index in range(1000)]
    assert 680 < sum(task.dataset == "gcd" for task in tasks) < 820


@on_one_loop
async def test_example_rows_are_played(runner: ToolRunner) -> None:
    rows = (REPOSITORY / "envs/reasoning_gym/example.jsonl").read_text().splitlines()
    assert len(rows) == 5
    for row in rows:
        task = ReasoningGymTask.model_validate_json(row)
        environment().check(task)
        assert reward_of(await play_task(environment(), task, runner=runner)) == 1


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"seed": 1}, "dataset"),
        ({"dataset": "gcd"}, "seed"),
        ({"dataset": "gcd", "seed": -1}, "greater than or equal to 0"),
        ({"dataset": "gcd", "seed": 1, "size": 3}, "Extra inputs"),
        ({"dataset": "gdc", "seed": 1}, "there is no dataset 'gdc'; did you mean 'gcd'?"),
        ({"dataset": "gcd", "seed": 1, "settings": {"numbers": 3}}, "unexpected keyword argument 'numbers'"),
        (
            {"dataset": "gcd", "seed": 1, "settings": {"min_numbers": 0}},
            "settings: gcd does not take them: min_numbers",
        ),
        ({"dataset": "gcd", "seed": 1, "settings": {"seed": 2}}, "settings.seed: it is the task's"),
        ({"dataset": "composite", "seed": 1}, "composite does not take them: Must specify at least one dataset"),
    ],
)
def test_rows_that_name_nothing_are_refused(row: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError) as caught:
        environment().check(ReasoningGymTask.model_validate(row))
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"dataset": "sums"}, "there is no dataset 'sums'"),
        ({"dataset": "gcd", "settings": {"more": 1}}, "unexpected keyword argument 'more'"),
        ({"settings": {"more": 1}}, "settings: there is no dataset that they are for"),
        ({"dataset": "gcd", "mixture": [{"dataset": "lcm"}]}, "give one of both"),
        ({"mixture": [{"dataset": "gcd", "weight": 0}]}, "greater than 0"),
        ({"mixture": [{"dataset": "gdc"}]}, "did you mean 'gcd'"),
    ],
)
def test_options_that_name_nothing_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError) as caught:
        environment(**options)
    assert told in str(caught.value)


def test_generating_needs_a_dataset() -> None:
    with pytest.raises(UserError, match="name a dataset"):
        generated(environment(), 0)


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("ray_gym.envs.reasoning_gym.items")
    monkeypatch.delitem(sys.modules, "ray_gym.envs.reasoning_gym.items")
    monkeypatch.setitem(sys.modules, "reasoning_gym", None)
    with pytest.raises(UserError, match=r"install 'ray-gym\[adapters\]'"):
        environment(**SUM)
