"""Asks a judge whether an answer equals the expected one, in both orders, without telling the judge which is which."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import StringConstraints, model_validator

from ray_gym.graders.grader import Grader, Verdict
from ray_gym.graders.judge import Judge, SwapCheck
from ray_gym.graders.match import folded
from ray_gym.graders.prompt import JudgePrompt, fenced_texts
from ray_gym.messages import Message, is_blank
from ray_gym.task import Task

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode
    from ray_gym.models.base import CompletionRequest

EQUAL, DIFFERENT = "[[A=B]]", "[[A!=B]]"
"""Labels that the judge answers with."""
LABELS = {EQUAL: 1.0, DIFFERENT: 0.0}
PLACES = ("question", "first", "second")
"""Places of the judge's prompt."""


class QuestionTask(Task):
    """A question task is a task with a question and its answer.

    Without a `question`, the last user message of `messages` is it.
    """

    question: str = ""
    """The question. If it is empty, the last user message of `messages` is the question."""
    expected_answer: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    """The correct answer."""

    @model_validator(mode="after")
    def _asks_something(self) -> QuestionTask:
        if is_blank(self.asked):
            raise ValueError("question: there is none, and no message that asks one either")
        return self

    @property
    def asked(self) -> str:
        """Returns `question`; if that is empty, the last user message of `messages`; "" if there is none either."""
        asked = [message.content for message in self.messages if message.role == "user"]
        return self.question or (asked[-1] if asked else "")


@dataclass(frozen=True)
class Equivalence(Grader):
    """Gives 1 if the judge finds two answers equal in both orders, 0 if not in the first, and `disagreement` if only in
    the first. Without `both_orders`, only the first order is asked, and decides.

    An answer longer than `longest`, or too long for the judge's context, gets 0 without being judged: its beginning
    alone would not show what the rest contradicts.
    """

    prompt: str
    """Prompt with the places {question}, {first} and {second}, which asks for `[[A=B]]` or `[[A!=B]]`."""
    question: str
    expected: str
    """The correct answer."""
    given: str
    """Answer that is judged."""
    longest: int
    """Largest number of characters of an answer that is judged."""
    both_orders: bool = True
    """False to ask only once."""
    disagreement: float = 0.0
    retries: int = 2
    """Number of times that an answer of the judge without a label is asked for again."""
    unlabelled: float | None = None
    """Value if no answer of the judge has a label; None makes that the judge's failure."""

    async def grade(self, episode: Episode) -> Verdict:
        """Asks the judge once or twice, or not at all if the answer is too long, and returns the verdict. Errors:
        EpisodeFailure (judge) if the judge gives no label and `unlabelled` is None.
        """
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
    """Checks the text of a prompt, and returns it. Errors: ValueError if its places are wrong."""
    JudgePrompt(text, PLACES)
    return text


def literal_judge(request: CompletionRequest, rng: random.Random) -> Message:
    """Answers as a scripted judge: two answers are equal if they differ only in case and white space."""
    first, second = compared(request)
    return says_equal(first == second)


def compared(request: CompletionRequest) -> tuple[str, str]:
    """Returns the two answers in a judge's request, which are the last two fenced texts of its last message, in lower
    case with single spaces. For scripted judges.
    """
    first, second = fenced_texts(request.messages[-1].content)[-2:]
    return folded(first), folded(second)


def says_equal(equal: bool) -> Message:
    """Returns a scripted judge's message with its verdict."""
    return Message("assistant", EQUAL if equal else DIFFERENT)
