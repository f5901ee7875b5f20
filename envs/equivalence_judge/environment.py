"""Short answers that are judged by their meaning: a language model compares them with the gold answer."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field

from ray_gym import Environment, Episode, Opening, Score
from ray_gym import Options as EnvironmentOptions
from ray_gym.envs.equivalence_judge.generator import question
from ray_gym.envs.equivalence_judge.players import judge_who_knows, says
from ray_gym.envs.equivalence_judge.prompt import PROMPT
from ray_gym.graders import Equivalence, QuestionTask, RegularExpression, Verdict, equivalence_prompt, search
from ray_gym.models.player import Player

INSTRUCTIONS = "Answer the question briefly and completely, without repeating it."
ENOUGH = 0.5


class EquivalenceJudge(Environment[QuestionTask, None]):
    """Answer a question in your own words: a judge compares the meaning with the gold answer's."""

    pattern = "single-step"
    scoring = "judge, in both orders"
    auxiliary = ("judge",)

    class Options(EnvironmentOptions):
        answer_regex: RegularExpression | None = None
        """Its last match (its first group) in what the policy said is the answer; without a match all of it is."""
        question_regex: RegularExpression | None = None
        """Likewise for the question that the judge is shown."""
        judge_prompt: Annotated[str, AfterValidator(equivalence_prompt)] = PROMPT
        """With {question}, {first} and {second}; other braces are doubled."""
        disagreement_reward: Literal[0, -1] = 0
        """For an answer that the judge finds equal in one order only."""
        long_gold_chars: Annotated[int, Field(ge=0)] | None = None
        """Where the gold answer is longer than this, the first judgement is enough."""
        second_chance_reward: Annotated[float, Field(gt=0, le=1)] | None = None
        """For an extracted answer that is not equal, where all that the policy said is. None: no second chance."""
        judged_chars: Annotated[int, Field(ge=1)] = 4000
        """A longer answer is not judged, and not equal."""

    def __init__(self, options: BaseModel | None = None) -> None:
        super().__init__(options)
        self.reward_range = (float(self.options.disagreement_reward), 1.0)

    def generate(self, rng: random.Random, index: int) -> QuestionTask:
        asked, gold = question(rng)
        return QuestionTask(question=asked, expected_answer=gold)

    def setup(self, task: QuestionTask, episode: Episode) -> None:
        return None

    def opening(self, task: QuestionTask, state: None) -> Opening:
        return Opening(system={"policy": INSTRUCTIONS}, messages={"policy": task.asked})

    async def score(self, state: None, episode: Episode) -> Score:
        """A judge that changed its mind did not find the answer different, so there is no second chance then."""
        gold, options = episode.task.expected_answer, self.options
        candidate = await _extracted(episode, options.answer_regex, episode.answer)
        if not candidate:
            return Score(0.0)
        is_long = options.long_gold_chars is not None and len(gold) > options.long_gold_chars
        found = await self._judged(episode, "judgement", candidate, both_orders=not is_long)
        if found.value >= ENOUGH or "other_way" in found.parts:
            return Score(found.value)
        said, reward = episode.answer.strip(), options.second_chance_reward
        if reward is None or said == candidate:
            return Score(0.0)
        again = await self._judged(episode, "second chance", said, both_orders=True)
        return Score(reward if again.value >= ENOUGH else 0.0)

    async def _judged(self, episode: Episode, name: str, answer: str, *, both_orders: bool) -> Verdict:
        """What a judge says without a label is no finding that they are equal."""
        options = self.options
        return await Equivalence(
            options.judge_prompt,
            await _extracted(episode, options.question_regex, episode.task.asked),
            episode.task.expected_answer,
            answer,
            longest=options.judged_chars,
            both_orders=both_orders,
            disagreement=float(options.disagreement_reward),
            retries=0,
            unlabelled=0.0,
        ).verdict(episode, name)

    def perfect(self, task: QuestionTask) -> Mapping[str, Player]:
        return {"policy": says(task.expected_answer), "judge": judge_who_knows(task.expected_answer)}


async def _extracted(episode: Episode, pattern: str | None, text: str) -> str:
    """The last match; without a pattern or a match, or if that was not found out in time, all of the text."""
    found = (await search(episode, pattern, text)).value if pattern is not None else None
    return found or text.strip()
