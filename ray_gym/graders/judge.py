"""Asks a language model, the judge, for a label, and asks again if its answer has none.

Judges are in the environment's `auxiliary`, so each has a model in the config. If a judge can't be understood, that is
its own failure (`judge`): the episode gets a new try, and never a score that the policy did not earn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, SupportsFloat

from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.graders.asking import ask_until
from ray_gym.graders.grader import Grader, Verdict, wrong_argument
from ray_gym.graders.labels import clear_label, last_label
from ray_gym.graders.last_line import label_of_last_line

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode

ONE_OF, BETWEEN = "exactly one of: ", ", "
"""Words before the labels, and text between them, at the end of what a judge is told that has given none."""
_READERS = {"unclear": clear_label, "last": last_label, "last_line": label_of_last_line}
"""Functions that read the label of an answer, by what counts if there are several."""


@dataclass(frozen=True)
class Judge(Grader):
    """Asks a judge for a label, and gives the value of the label in the answer.

    `Judge(question, {"[[A=B]]": 1.0, "[[A!=B]]": 0.0})` asks for one of two labels. Only labels after the judge's last
    thought count, and no label within a longer word; in Chinese or Japanese, a word ends where the script changes. An
    answer with several different labels, or with a word of negation or doubt in the sentence of one, is unclear, and
    asked for again as one without any, unless the label stands alone on its line. So is a label in the midst of a
    sentence: it counts where it begins the sentence or follows a colon, `is`, `so`, `verdict` or `I rate it`, and where
    the sentence then ends or gives a reason. Spaces, hyphens and Markdown between
    the words of a label make no difference, and of a score on a scale (7/10) the number counts. A label also counts if
    the rest of the answer was cut.
    """

    question: str
    labels: Mapping[str, float]
    """Value of each label."""
    retries: int = 2
    """Number of times that an answer without a clear label is asked for again, in the same conversation."""
    unlabelled: float | None = None
    """Value if no answer has a clear label; None makes that the judge's failure."""
    too_long: float | None = None
    """Value if the question leaves no room for a label in the judge's context; None treats it as an answer without a
    label.

    Set it if the question contains words of the policy: otherwise the policy can escape a bad verdict by its length."""
    judge: str = "judge"
    """Name of the judge among the environment's `auxiliary`."""
    several: Literal["unclear", "last", "last_line"] = "unclear"
    """Meaning of an answer with several different labels. unclear: it has no label; last: its last label counts;
    last_line: its last line counts, if that is a label and nothing else, and no words before it are read."""

    def __post_init__(self) -> None:
        if not isinstance(self.labels, Mapping):
            raise wrong_argument("Judge: labels", self.labels, "a mapping of labels to their values")
        if not self.labels:
            raise ValueError("Judge: labels: name at least one; no answer would have a verdict")
        for label, value in self.labels.items():
            if not isinstance(label, str):
                raise wrong_argument("Judge: a label", label, f'a text: "{label}"')
            if not isinstance(value, SupportsFloat):
                raise wrong_argument(f"Judge: the value of {label}", value, "a number")
        if not isinstance(self.retries, int):
            raise wrong_argument("Judge: retries", self.retries, "a whole number")
        if not all(label.strip() for label in self.labels):
            raise ValueError("Judge: a label is blank, and would be found in every answer; give it a text")
        if self.several not in _READERS:
            expected = f"expected unclear, last or last_line, found {self.several!r}"
            raise ValueError(f"Judge: several: {expected}")

    async def grade(self, episode: Episode) -> Verdict:
        """Returns the value of the judge's label. Without a label, returns `too_long` if the question left no room for
        one and `too_long` is set, else `unlabelled`. Errors: EpisodeFailure (judge) if that is None.
        """
        names = BETWEEN.join(self.labels)
        reminder = f"Your answer does not have exactly one of the labels. Answer with {ONE_OF}{names}"
        if self.several == "last_line":
            reminder = f"The last line of your answer is not one of the labels. Let it be {ONE_OF}{names}"
        asked = await ask_until(episode, self.judge, self.question, self._read, reminder, self.retries)
        if asked.found is not None:
            return Verdict(self.labels[asked.found], f"{self.judge} said {asked.found}")
        full = f"{self.judge}'s context has no room for the question and an answer"
        if asked.too_long and self.too_long is not None:
            return Verdict(self.too_long, full)
        if self.unlabelled is not None:
            return Verdict(self.unlabelled, full if asked.too_long else f"{self.judge} gave no label{asked.why}")
        message = f"no clear label ({names}) in {asked.answers} answers; the last: {asked.last[-200:]!r}{asked.why}"
        raise EpisodeFailure(
            FailureKind.JUDGE, self.judge, f"{full}; too_long gives this a value" if asked.too_long else message
        )

    def _read(self, said: str) -> str | None:
        return _READERS[self.several](said, self.labels)


@dataclass(frozen=True)
class SwapCheck(Grader):
    """Asks the same question in both orders, to detect a judge that prefers a place.

    If the first verdict is below `enough`, its value counts, and the second order is not asked. If only the first
    reaches `enough`, the value is `disagreement`. If both do, the value is the second verdict's.
    """

    one_way: Grader
    """Grader that asks in the first order; its value is a part of the verdict."""
    other_way: Grader
    """Grader that asks in the second order; its value is a part of the verdict."""
    disagreement: float = 0.0
    """Value if only the first verdict is at least `enough`."""
    enough: float = 0.5
    """Least value that counts as a yes."""

    async def grade(self, episode: Episode) -> Verdict:
        """Asks in one or both orders, and returns the verdict with the values of the orders asked. Errors:
        EpisodeFailure of a grader.
        """
        first = await self.one_way.verdict(episode)
        if first.value < self.enough:
            return Verdict(first.value, first.why, {"one_way": first.value})
        second = await self.other_way.verdict(episode, f"{self.other_way.name}, swapped")
        parts = {"one_way": first.value, "other_way": second.value}
        if second.value < self.enough:
            return Verdict(self.disagreement, "the judge changed its mind when the two were exchanged", parts)
        return Verdict(second.value, "the judge agreed with itself when the two were exchanged", parts)
