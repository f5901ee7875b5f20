"""Checks that a member of an enumeration of texts is told by its value, never by its name."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest
from playing import Alone, play_script

from ray_gym import Opening, Score, ToolError
from ray_gym.score import as_score


class Outcome(str, Enum):  # noqa: UP042 (the text of a StrEnum is its value)
    WON = "won"
    POLICY = "policy"


class Spoken(Alone):
    def opening(self, task: Any, state: Any) -> Opening:
        return Opening(messages={Outcome.POLICY: Outcome.WON})

    def next_speaker(self, state: Any, episode: Any, turn: Any) -> str | None:
        return Outcome.POLICY


class Over(Alone):
    def finished(self, state: Any, episode: Any) -> str | None:
        return Outcome.WON if episode.turns else None


def test_an_error_of_a_tool_has_the_value() -> None:
    error = ToolError(Outcome.WON, content=Outcome.WON)
    assert (str(error), error.content, type(error.content)) == ("won", "won", str)


@pytest.mark.parametrize("given", [{Outcome.WON: 1.0}, Score(1.0, parts={Outcome.WON: 1.0}, others={Outcome.WON: 1.0})])
def test_the_names_of_parts_are_the_values(given: Any) -> None:
    score = as_score(given)
    assert list(map(repr, [*score.parts, *score.others])) == ["'won'"] * (len(score.parts) + len(score.others))


async def test_what_is_told_and_why_it_ends_are_the_values() -> None:
    spoken = (await play_script(Spoken(), ["42"])).played.episode
    assert repr(spoken.events[0].content) == "'won'"
    assert spoken.stop is not None and spoken.stop.text == "there is nothing that policy could answer"
    over = (await play_script(Over(), ["42"])).played.episode
    assert over.stop is not None and repr(over.stop.text) == "'won'" == repr(over.events[-1].content)
