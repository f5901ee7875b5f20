"""Asks a judge whether an answer and the expected one are the same, without telling it which is which, in both
orders.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import StringConstraints, model_validator

from ray_gym.graders.grader import Grader, Verdict
from ray_gym.graders.judge import Judge, SwapCheck
from ray_gym.graders.match import folded
from ray_gym.graders.prompt import JudgePrompt, fenced_texts
from ray_gym.messages import Message
from ray_gym.task import Task

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode
    from ray_gym.models.base import CompletionRequest

EQUAL, DIFFERENT = "[[A=B]]", "[[A!=B]]"
LABELS = {EQUAL: 1.0, DIFFERENT: 0.0}
PLACES = ("question", "first", "second")


class QuestionTask(Task):
    """A question task is a task with a question and its answer.

    Without a `question`, the last user message of `messages` is it.
    """

    question: str = ""
    expected_answer: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]

    @model_validator(mode="after")
    def _asks_something(self) -> QuestionTask:
        if not self.asked.strip():
            raise ValueError("question: there is none, and no message that asks one either")
        return self

    @property
    def asked(self) -> str:
        """Returns the question."""
        asked = [message.content for message in self.messages if message.role == "user"]
        return self.question or (asked[-1] if asked else "")


@dataclass(frozen=True)
class Equivalence(Grader):
    """Gives 1 if the judge finds the two equal, also when they are exchanged, else 0; `disagreement` if it does so in
    one order only.

    The prompt has the places {question}, {first} and {second}, and asks for `[[A=B]]` or `[[A!=B]]`. An answer longer
    than `longest` is not judged and not equal, nor is one that the judge has no room for: of a part, nobody could tell
    what the rest contradicts. `retries` and `unlabelled` are those of `Judge`.
    """

    prompt: str
    question: str
    expected: str
    given: str
    longest: int
    both_orders: bool = True
    disagreement: float = 0.0
    retries: int = 2
    unlabelled: float | None = None

    async def grade(self, episode: Episode) -> Verdict:
        if len(self.given) > self.longest:
            return Verdict(0.0, f"the answer has {len(self.given)} characters, and at most {self.longest} are judged")
        one_way = self._judge(self.expected, self.given)
        if not self.both_orders:
            return await one_way.grade(episode)
        return await SwapCheck(one_way, self._judge(self.given, self.expected), self.disagreement).grade(episode)

    def _judge(self, first: str, second: str) -> Judge:
        prompt = JudgePrompt(self.prompt, PLACES).filled(LABELS, question=self.question, first=first, second=second)
        return Judge(prompt, LABELS, self.retries, self.unlabelled, too_long=0.0)


def equivalence_prompt(text: str) -> str:
    """Returns the same text, if it can be filled in. Errors: ValueError if it can't."""
    JudgePrompt(text, PLACES)
    return text


def literal_judge(request: CompletionRequest, rng: random.Random) -> Message:
    """Plays a judge by a script: answers are equal if they are the same text, case and white space aside."""
    first, second = compared(request)
    return says_equal(first == second)


def compared(request: CompletionRequest) -> tuple[str, str]:
    """Returns the two answers that a judge is shown, folded: for scripted judges."""
    first, second = fenced_texts(request.messages[-1].content)[-2:]
    return folded(first), folded(second)


def says_equal(equal: bool) -> Message:
    """Returns a judge's message that gives its verdict."""
    return Message("assistant", EQUAL if equal else DIFFERENT)
