"""Asks a language model as the judge for a label, and asks again if its answer has none.

Judges are participants of the environment's `auxiliary`, so each is a named model of the config. A judge that can't be
understood is at fault itself (`judge`): the episode gets a new try, and never a score that the policy did not earn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.graders.asking import ask_until
from ray_gym.graders.grader import Grader, Verdict

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode


@dataclass(frozen=True)
class Judge(Grader):
    """Asks for a label, and gives the value of the one that comes first in the judge's answer.

    `Judge(question, {"[[A=B]]": 1.0, "[[A!=B]]": 0.0})` asks for one of two labels.

    An answer without any label is asked for again, `retries` times, in the same conversation; after that it is worth
    `unlabelled`, or, if that is None, the judge's failure. A label counts also where the rest of the answer was cut.

    A question that leaves the judge's context no room for a label is worth `too_long`, or, if that is None, what no
    label is worth. Set it where the question holds what the policy wrote: else the policy escapes a bad verdict by its
    length.
    """

    question: str
    labels: Mapping[str, float]
    retries: int = 2
    unlabelled: float | None = None
    too_long: float | None = None
    judge: str = "judge"

    async def grade(self, episode: Episode) -> Verdict:
        names = ", ".join(self.labels)
        reminder = f"Your answer has none of the labels. Answer with exactly one of: {names}"
        asked = await ask_until(
            episode, self.judge, self.question, lambda said: first_label(said, self.labels), reminder, self.retries
        )
        if asked.found is not None:
            return Verdict(self.labels[asked.found], f"{self.judge} said {asked.found}")
        full = f"{self.judge}'s context has no room for the question and an answer"
        if asked.too_long and self.too_long is not None:
            return Verdict(self.too_long, full)
        if self.unlabelled is not None:
            return Verdict(self.unlabelled, full if asked.too_long else f"{self.judge} gave no label")
        message = f"no label ({names}) in {asked.answers} answers; the last: {asked.last[-200:]!r}"
        raise EpisodeFailure(
            FailureKind.JUDGE, self.judge, f"{full}; too_long gives this a value" if asked.too_long else message
        )


@dataclass(frozen=True)
class SwapCheck(Grader):
    """Asks the same question in both orders. The second is asked only if the first verdict is at least `enough`.

    Agreement gives the second verdict's value, disagreement `disagreement`. The parts say what was asked: `one_way`,
    `other_way`.
    """

    one_way: Grader
    other_way: Grader
    disagreement: float = 0.0
    enough: float = 0.5

    async def grade(self, episode: Episode) -> Verdict:
        first = await self.one_way.verdict(episode)
        if first.value < self.enough:
            return Verdict(first.value, first.why, {"one_way": first.value})
        second = await self.other_way.verdict(episode, f"{self.other_way.name}, swapped")
        parts = {"one_way": first.value, "other_way": second.value}
        if second.value < self.enough:
            return Verdict(self.disagreement, "the judge changed its mind when the two were exchanged", parts)
        return Verdict(second.value, "the judge agreed with itself when the two were exchanged", parts)


def first_label(text: str, labels: Mapping[str, float]) -> str | None:
    """Returns the label that comes first in a text; of two at the same place, the longer. None if there is none."""
    found = [(position, -len(label), label) for label in labels if (position := text.find(label)) >= 0]
    return min(found)[2] if found else None
