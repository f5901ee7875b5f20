"""Every example of docs/graders.md, cut out of the page: the first block, each row of the table, each piece of a config."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from playing_tasks import play_task, reward_of, says
from pydantic import TypeAdapter

import ray_gym.graders
from ray_gym import Environment, Episode, Opening, Task
from ray_gym.config.sections import ParticipantSection
from ray_gym.deployments.vllm_reward.options import RewardOptions
from ray_gym.graders import Constraints, ExactMatch, Judge, folded
from ray_gym.tools.runner import ToolRunner

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "graders.md").read_text()
TABLE: dict[str, str] = dict(re.findall(r"^\| (`\w+`(?:, `\w+`)*) \| `(.+?)` \|", PAGE, re.MULTILINE))
LABELS = {"[[YES]]": 1.0, "[[NO]]": 0.0}


class Question(Task):
    expected: str = "42"
    gold: str = "Paris"


class Page(Environment[Question, Any]):
    """Scores by an example of the page."""

    auxiliary = ("judge", "reward_model")

    def __init__(self, code: str) -> None:
        super().__init__()
        self._code = code

    def setup(self, task: Question, episode: Episode) -> Any:
        return SimpleNamespace(tables={"rooms": [episode.task.gold]})

    def opening(self, task: Question, state: Any) -> Opening:
        return Opening(messages={"policy": "What is the capital of France?"})

    async def score(self, state: Any, episode: Episode) -> Any:
        names: dict[str, Any] = {**vars(ray_gym.graders), "episode": episode, "state": state, "text": episode.answer}
        if self._code.startswith("async def"):
            exec(self._code, names)
            return await names["score"](self, state, episode)
        names |= {
            "expected_tables": {"rooms": ["Paris"]},
            "right": ExactMatch("Paris"),
            "polite": Constraints({"please": "please" in episode.answer}),
            "brief": Constraints({"brief": len(episode.answer) < 20}),
            "by_words": ExactMatch("Paris", normalise=folded),
            "by_judge": Judge("The same?", LABELS),
            "question": lambda one, other: f"{one} or {other}?",
            "labels": LABELS,
            "prompt": "{question} Is {first} the same as {second}? [[A=B]] or [[A!=B]]",
            "a": "A",
            "b": "B",
        }
        return await eval(self._code.replace("mypackage.checks:equal", "operator:eq"), names).score(episode)


async def played(code: str, said: str, judged: str = "[[YES]]") -> float:
    runner = ToolRunner()
    players = {"policy": says(said), "judge": says(judged), "reward_model": says("-1.5")}
    try:
        return reward_of(await play_task(Page(code), Question(), players, runner=runner))
    finally:
        await runner.close()


@pytest.mark.parametrize(("said", "reward"), [("\\boxed{42}", 1), ("\\boxed{41}", 0.1), ("so " * 200, 0)])
async def test_the_first_example(said: str, reward: float) -> None:
    code = next(block for block in re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))
    assert await played(code, said) == pytest.approx(reward)


ROWS = [
    ("`ExactMatch`", "Answer: paris", "", 1),
    ("`ExactMatch`", "Answer: Rome", "", 0),
    ("`Found`", "<answer>Rome</answer>", "", 1),
    ("`Found`", "Rome", "", 0),
    ("`Constraints`", "one\ntwo\nthree", "", 1),
    ("`Constraints`", "one, two", "", 0),
    ("`Constraints`", "one, two\n\n", "", 0.5),
    ("`FinalState`", "Done.", "", 1),
    ("`TurnMean`, `RecencyWeighted`", "I am sorry.", "", 0),
    ("`TurnMean`, `RecencyWeighted`", "Paris", "", 1),
    ("`Library`", "Paris", "", 1),
    ("`Library`", "Rome", "", 0),
    ("`Judge`", "Please.", "[[YES]]", 1),
    ("`Judge`", "Go.", "[[NO]]", 0),
    ("`SwapCheck`", "Paris", "[[YES]]", 1),
    ("`Equivalence`", "The capital is Paris.", "[[A=B]]", 1),
    ("`Equivalence`", "Rome", "[[A!=B]]", 0),
    ("`Equivalence`", "Paris, or " + "so " * 1000, "[[A=B]]", 0),
    ("`RewardModel`", "Paris", "", -1.5),
    ("`Weighted`", "Paris", "", 1),
    ("`Weighted`", "Rome", "", 0.1),
    ("`AllOf`", "Paris", "", 0),
    ("`FirstThatPasses`", "paris", "[[NO]]", 1),
    ("`FirstThatPasses`", "It is Paris", "[[YES]]", 1),
]


@pytest.mark.parametrize(("row", "said", "judged", "reward"), ROWS)
async def test_a_row_of_the_table(row: str, said: str, judged: str, reward: float) -> None:
    assert await played(TABLE[row], said, judged) == pytest.approx(reward)


def test_every_row_is_played_here() -> None:
    assert set(TABLE) == {row for row, *_ in ROWS} and len(TABLE) > 10


def test_pieces_of_configs_are_valid() -> None:
    pieces = [yaml.safe_load(block) for block in re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)]
    rewards = [model for piece in pieces for model in piece["models"].values() if model["engine"] == "vllm_reward"]
    assert len(rewards) == 2
    for given in rewards:
        RewardOptions.model_validate({name: value for name, value in given.items() if name != "engine"})
    for piece in pieces:
        TypeAdapter(dict[str, ParticipantSection]).validate_python(piece["participants"])
