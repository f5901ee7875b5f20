"""Short answers that are judged by their meaning: a language model compares them with the gold answer."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, StringConstraints, model_validator

from envs.equivalence_judge.generator import question
from envs.equivalence_judge.players import judge_who_knows, says
from envs.equivalence_judge.prompt import LABELS, PROMPT, checked_prompt, filled
from ray_gym import Environment, Episode, Opening, Score, Task
from ray_gym import Options as EnvironmentOptions
from ray_gym.graders import Judge, by_regex
from ray_gym.models.scripted import Player

INSTRUCTIONS = "Answer the question briefly and completely, without repeating it."
ENOUGH = 0.5
NonEmpty = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is no regular expression: {error}") from None
    return text


Pattern = Annotated[str, AfterValidator(_pattern)]


class QuestionTask(Task):
    """A question and its gold answer. Without a `question`, the last message of `messages` is it."""

    question: str = ""
    expected_answer: NonEmpty

    @model_validator(mode="after")
    def _asks_something(self) -> QuestionTask:
        if not self.asked.strip():
            raise ValueError("question: there is none, and no message that asks one either")
        return self

    @property
    def asked(self) -> str:
        asked = [message.content for message in self.messages if message.role == "user"]
        return self.question or (asked[-1] if asked else "")


class EquivalenceJudge(Environment[QuestionTask, None]):
    """Answer a question in your own words: a judge compares the meaning with the gold answer's."""

    pattern = "single-step"
    scoring = "judge, in both orders"
    auxiliary = ("judge",)

    class Options(EnvironmentOptions):
        answer_regex: Pattern | None = None
        """Its last match (its first group) in what the policy said is the answer; without a match all of it is."""
        question_regex: Pattern | None = None
        """Likewise for the question that the judge is shown."""
        judge_prompt: Annotated[str, AfterValidator(checked_prompt)] = PROMPT
        """With {question}, {first} and {second}; other braces are doubled."""
        disagreement_reward: Literal[0, -1] = 0
        """For an answer that the judge finds equal in one order only."""
        long_gold_chars: Annotated[int, Field(ge=0)] | None = None
        """Where the gold answer is longer than this, the first judgement is enough."""
        second_chance_reward: Annotated[float, Field(gt=0, le=1)] | None = None
        """For an extracted answer that is not equal, where all that the policy said is. None: no second chance."""
        judged_chars: Annotated[int, Field(ge=1)] = 4000
        """How much of an answer the judge is shown, from its end."""

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
        """The judge is asked again, with the answers exchanged, only about what it found equal."""
        gold, options = episode.task.expected_answer, self.options
        candidate = _extracted(options.answer_regex, episode.answer)
        if not candidate:
            return Score(0.0)
        if not await self._equal(episode, "judgement", gold, candidate):
            return await self._second_chance(episode, candidate)
        if options.long_gold_chars is not None and len(gold) > options.long_gold_chars:
            return Score(1.0)
        agreed = await self._equal(episode, "judgement, exchanged", candidate, gold)
        return Score(1.0 if agreed else float(options.disagreement_reward))

    async def _second_chance(self, episode: Episode, candidate: str) -> Score:
        """In both orders, too: a judge that likes whatever comes first gives nothing away."""
        gold, said, reward = episode.task.expected_answer, episode.answer.strip(), self.options.second_chance_reward
        if reward is None or said == candidate:
            return Score(0.0)
        equal = await self._equal(episode, "second chance", gold, said)
        equal = equal and await self._equal(episode, "second chance, exchanged", said, gold)
        return Score(reward if equal else 0.0)

    async def _equal(self, episode: Episode, name: str, first: str, second: str) -> bool:
        """What a judge says without a label is no finding that they are equal."""
        options, asked = self.options, _extracted(self.options.question_regex, episode.task.asked)
        first, second = first[-options.judged_chars :], second[-options.judged_chars :]
        prompt = filled(options.judge_prompt, asked, first, second)
        verdict = await Judge(prompt, LABELS, retries=0, unlabelled=0.0).verdict(episode, name)
        return verdict.value >= ENOUGH

    def perfect(self, task: QuestionTask) -> Mapping[str, Player]:
        return {"policy": says(task.expected_answer), "judge": judge_who_knows(task.expected_answer)}


def _extracted(pattern: str | None, text: str) -> str:
    """The last match; without a pattern, or a match, all of the text."""
    found = by_regex(pattern)(text) if pattern is not None else None
    return found or text.strip()
