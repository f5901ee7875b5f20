"""Scores short answers by their meaning: a language model compares them with the gold answer."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, Field, model_validator

from ray_gym import Environment, Episode, Opening, Score
from ray_gym import Options as EnvironmentOptions
from ray_gym.envs.equivalence_judge.generator import question
from ray_gym.envs.equivalence_judge.players import judge_who_knows, says
from ray_gym.envs.equivalence_judge.prompt import PROMPT
from ray_gym.graders import Equivalence, QuestionTask, RegularExpression, Verdict, equivalence_prompt, search
from ray_gym.graders.regex import regexes_of_template
from ray_gym.models.player import Player

INSTRUCTIONS = "Answer the question briefly and completely, without repeating it."
ENOUGH = 0.5
"""Least value of a verdict that counts as equal."""


class EquivalenceTask(QuestionTask):
    """A task is a question and its answer, and perhaps what an answer to it looks like."""

    answer_regex: RegularExpression | None = None
    """Regular expression that wins over the option's."""

    @model_validator(mode="before")
    @classmethod
    def _apply_template(cls, given: Any) -> Any:
        """Takes the only `output_regex` out of `template_metadata`, where NeMo Gym's rows have it, and drops that field. Its
        points stand for line feeds, too, and its anchors for ends of lines.
        """
        if not isinstance(given, Mapping) or not isinstance(given.get("template_metadata"), Mapping):
            return given
        patterns = regexes_of_template(given, "answer_regex", "(?ms)")
        if len(patterns) > 1:
            raise ValueError(f"template_metadata.output_regex: {len(patterns)} expressions, of which one may be there")
        row = {name: value for name, value in given.items() if name != "template_metadata"}
        return {**row, "answer_regex": patterns[0]} if patterns else row


class EquivalenceJudge(Environment[EquivalenceTask, None]):
    """The policy answers a question in its own words: a judge compares the meaning with the gold answer's."""

    pattern = "single-step"
    scoring = "judge, in both orders"
    auxiliary = ("judge",)

    class Options(EnvironmentOptions):
        """Holds the options of the environment."""

        answer_regex: RegularExpression | None = None
        """Regular expression whose last match (its first group) in the policy's message is the answer. Without a match,
        the answer is the whole message."""
        question_regex: RegularExpression | None = None
        """Regular expression whose last match (its first group) in the question is shown to the judge. Without a match,
        the judge is shown the whole question."""
        judge_prompt: Annotated[str, AfterValidator(equivalence_prompt)] = PROMPT
        """The judge's prompt, with {question}, {first} and {second}; other braces are doubled."""
        disagreement_reward: Literal[0, -1] = 0
        """Reward of an answer that the judge finds equal in one order only."""
        long_gold_chars: Annotated[int, Field(ge=0)] | None = None
        """Number of characters beyond which a gold answer is judged once, in one order. None means never."""
        second_chance_reward: Annotated[float, Field(gt=0, le=1)] | None = None
        """Reward if the extracted answer is not equal, but the whole message is. None means no second chance."""
        judged_chars: Annotated[int, Field(ge=1)] = 4000
        """Largest number of characters that are judged. A longer answer is not equal."""

    def __init__(self, options: BaseModel | None = None) -> None:
        super().__init__(options)
        self.reward_range = (float(self.options.disagreement_reward), 1.0)

    def generate(self, rng: random.Random, index: int) -> EquivalenceTask:
        asked, gold = question(rng)
        return EquivalenceTask(question=asked, expected_answer=gold)

    def setup(self, task: EquivalenceTask, episode: Episode) -> None:
        return None

    def opening(self, task: EquivalenceTask, state: None) -> Opening:
        return Opening(system={"policy": INSTRUCTIONS}, messages={"policy": task.asked})

    async def score(self, state: None, episode: Episode) -> Score:
        """Scores the policy's answer: 0 if it is empty, else by the judge's verdict.

        An extracted answer that the judge finds different in the first order has a second chance with the whole
        message, if `second_chance_reward` is set. An answer that is equal in the first order alone gets
        `disagreement_reward`.
        """
        gold, options = episode.task.expected_answer, self.options
        candidate = await _extract(episode, episode.task.answer_regex or options.answer_regex, episode.answer)
        if not candidate:
            return Score(0.0)
        is_long = options.long_gold_chars is not None and len(gold) > options.long_gold_chars
        found = await self._judge(episode, "judgement", candidate, both_orders=not is_long)
        if found.value >= ENOUGH or "other_way" in found.parts:
            return Score(found.value)
        said, reward = episode.answer.strip(), options.second_chance_reward
        if reward is None or said == candidate:
            return Score(0.0)
        again = await self._judge(episode, "second chance", said, both_orders=True)
        return Score(reward if again.value >= ENOUGH else 0.0)

    async def _judge(self, episode: Episode, name: str, answer: str, *, both_orders: bool) -> Verdict:
        """Asks the judge whether an answer means the same as the gold answer, and returns the verdict. An answer of the
        judge without a label counts as not equal. `name`: of the verdict in the record.
        """
        options = self.options
        return await Equivalence(
            options.judge_prompt,
            await _extract(episode, options.question_regex, episode.task.asked),
            episode.task.expected_answer,
            answer,
            longest=options.judged_chars,
            both_orders=both_orders,
            disagreement=float(options.disagreement_reward),
            retries=0,
            unlabelled=0.0,
        ).verdict(episode, name)

    def perfect(self, task: EquivalenceTask) -> Mapping[str, Player]:
        return {"policy": says(task.expected_answer), "judge": judge_who_knows(task.expected_answer)}


async def _extract(episode: Episode, pattern: str | None, text: str) -> str:
    """Returns the last match of a pattern in a text. Returns the whole text, without white space around it, if
    `pattern` is None, if nothing matches, or if the search takes too long.
    """
    found = (await search(episode, pattern, text)).value if pattern is not None else None
    return found or text.strip()
