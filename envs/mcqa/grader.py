"""Grades multiple choice: reads the chosen letter and compares it. The letter is in the verdict's text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ray_gym import Episode
from ray_gym.envs.mcqa.reading import READERS, Grading, letter_or_text
from ray_gym.graders import Grader, Verdict, search

_CHOSE = re.compile(r"ChosenLetter: chose ([A-Z]|nothing);")


@dataclass(frozen=True)
class ChosenLetter(Grader):
    """Gives 1 if the chosen letter is the expected one, else 0."""

    expected: str
    """The right letter."""
    options: Mapping[str, str]
    """Texts of the options, by letter."""
    grading: Grading
    """Way in which the letter is read, if no regular expression finds an option."""
    output_regex: Sequence[str] = ()
    """Regular expressions that are tried first, in this order."""

    async def grade(self, episode: Episode) -> Verdict:
        letter, remark = await self._by_regex(episode)
        if letter is None:
            letter = READERS[self.grading](episode.answer, self.options)
        return Verdict(float(letter == self.expected), f"chose {letter or 'nothing'}; expected {self.expected}{remark}")

    async def _by_regex(self, episode: Episode) -> tuple[str | None, str]:
        """Returns the letter of the option that the first `output_regex` finds that finds one, None if none does; and a
        remark if a search failed, else "".
        """
        remark = ""
        for pattern in self.output_regex:
            given = await search(episode, pattern, episode.answer)
            letter = None if given.value is None else letter_or_text(given.value, self.options)
            if letter is not None:
                return letter, remark
            if given.error is not None:
                remark = f"; output_regex was left out: {given.error}"
        return None, remark


def recorded_letter(row: Mapping[str, Any]) -> str | None:
    """Returns the letter that an episode chose, read from the `ChosenLetter` verdict in its row of the record; None if
    it chose none, or has no such verdict.
    """
    texts = [
        "".join(part["text"] for part in event["content"]) for event in row["events"] if event["kind"] == "verdict"
    ]
    found = [match[1] for text in texts if (match := _CHOSE.match(text))]
    return found[-1] if found and found[-1] != "nothing" else None
