"""Asks a language model, the judge, for a label, and asks again if its answer has none.

Judges are in the environment's `auxiliary`, so each has a model in the config. If a judge can't be understood, that is
its own failure (`judge`): the episode gets a new try, and never a score that the policy did not earn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.graders.asking import ask_until
from ray_gym.graders.grader import Grader, Verdict
from ray_gym.models.thoughts import last_words

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode


@dataclass(frozen=True)
class Judge(Grader):
    """Asks a judge for a label, and gives the value of the label in the answer.

    `Judge(question, {"[[A=B]]": 1.0, "[[A!=B]]": 0.0})` asks for one of two labels. Only labels after the judge's last
    thought count, and no label within a longer word; in Chinese or Japanese, a word ends where the script changes. An
    answer with several different labels is unclear, and asked for again as one without any. A label also counts if the
    rest of the answer was cut.
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
    several: Literal["unclear", "last"] = "unclear"
    """Meaning of an answer with several different labels. unclear: it has no label; last: its last label counts."""

    def __post_init__(self) -> None:
        if not all(label.strip() for label in self.labels):
            raise ValueError("Judge: a label is blank, and would be found in every answer; give it a text")

    async def grade(self, episode: Episode) -> Verdict:
        """Returns the value of the judge's label. Without a label, returns `too_long` if the question left no room for
        one and `too_long` is set, else `unlabelled`. Errors: EpisodeFailure (judge) if that is None.
        """
        names = ", ".join(self.labels)
        reminder = f"Your answer does not have exactly one of the labels. Answer with exactly one of: {names}"
        asked = await ask_until(episode, self.judge, self.question, self._read, reminder, self.retries)
        if asked.found is not None:
            return Verdict(self.labels[asked.found], f"{self.judge} said {asked.found}")
        full = f"{self.judge}'s context has no room for the question and an answer"
        if asked.too_long and self.too_long is not None:
            return Verdict(self.too_long, full)
        if self.unlabelled is not None:
            return Verdict(self.unlabelled, full if asked.too_long else f"{self.judge} gave no label")
        message = f"no clear label ({names}) in {asked.answers} answers; the last: {asked.last[-200:]!r}"
        raise EpisodeFailure(
            FailureKind.JUDGE, self.judge, f"{full}; too_long gives this a value" if asked.too_long else message
        )

    def _read(self, said: str) -> str | None:
        return last_label(said, self.labels) if self.several == "last" else clear_label(said, self.labels)


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


_UNSPACED = (
    "\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff",  # Han
    "\u3041-\u309f",  # Hiragana
    "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f",  # Katakana
    "\u0e01-\u0e5b",  # Thai
    "\u0e81-\u0edf",  # Lao
    "\u1000-\u109f",  # Burmese
    "\u1780-\u17e9",  # Khmer
)
"""Letters by script, of the scripts that put no space between words: there a word ends where the script changes."""


def clear_label(text: str, labels: Iterable[str]) -> str | None:
    """Returns the one label in a text; None if there is none, or if there are different ones."""
    found = set(_labels_in(text, labels))
    return found.pop() if len(found) == 1 else None


def last_label(text: str, labels: Iterable[str]) -> str | None:
    """Returns the label that comes last in a text; None if there is none."""
    found = _labels_in(text, labels)
    return found[-1] if found else None


def _labels_in(text: str, labels: Iterable[str]) -> list[str]:
    """Returns the labels after the last thought in a text, in order: not those in longer words or numbers. Of two at the
    same place, the longer counts.
    """
    ordered = sorted(labels, key=len, reverse=True)
    alternatives = "|".join(_not_after(label[:1]) + re.escape(label) + _not_before(label[-1:]) for label in ordered)
    return re.findall(alternatives, last_words(text)) if ordered else []


def _not_after(first: str) -> str:
    """Returns a regular expression of what may not be before a label's first character: the same word or number.
    Markdown's underscores may be (`__YES__`).
    """
    word = _of_one_word(first)
    return rf"(?<!{word})(?<!{word}_)(?<!{word}__)(?<!\d[.,])" if word else ""


def _not_before(last: str) -> str:
    """Returns a regular expression of what may not be after a label's last character: the same word or number."""
    word = _of_one_word(last)
    return rf"(?!_{{0,2}}{word})(?![.,]\d)" if word else ""


def _of_one_word(letter: str) -> str:
    """Returns a regular expression of the letters that are one word with a letter beside them; "" for no letter."""
    if not re.match(r"\w", letter):
        return ""
    script = next((script for script in _UNSPACED if re.match(f"[{script}]", letter)), None)
    return f"[{script}]" if script else rf"[^\W_{''.join(_UNSPACED)}]"
