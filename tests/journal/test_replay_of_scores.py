"""Scores by concurrent judges and a library in a process of its own: replayed, they are what they were, and nobody is asked again."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from replayed import Attempt, Plain, attempt, cut

from ray_gym import Episode, Message
from ray_gym.graders import AllOf, Judge, Library, SwapCheck, Weighted
from ray_gym.models.base import CompletionRequest

LABELS = {"[[YES]]": 1.0, "[[NO]]": 0.0}


class Scored(Plain):
    """Each of its judges is asked up to three times; the library would give another number every time it is called."""

    auxiliary = ("judge", "second")

    async def score(self, state: dict[str, Any], episode: Episode) -> Any:
        judges = {f"part {number}": Judge(f"{number}?", LABELS, unlabelled=0.5) for number in range(4)}
        swap = SwapCheck(Judge("one way?", LABELS, judge="second"), Judge("other way?", LABELS, judge="second"))
        return await Weighted(
            judges=(1.0, AllOf(enough=0.5, **judges)),
            swap=(1.0, swap),
            number=(1.0, Library("secrets:randbelow", (10**9,), deadline_s=20)),
            wrong=(1.0, Library("secrets:randbelow", (0,), deadline_s=20)),
        ).score(episode)


def moody(request: CompletionRequest, rng: random.Random) -> Message:
    """Some of a judge's answers have a label."""
    return Message("assistant", rng.choice(["[[YES]]", "[[NO]]", "Hm.", "Well."]) + f"\n{rng.random()}")


async def played(folder: Path, adopted: tuple[str, ...] = ()) -> Attempt:
    one = await attempt(folder, Scored(), moody, adopted)
    await one.played.episode._tool_runner.close()
    assert one.played.failure is None, one.played.failure
    return one


def told(one: Attempt, kind: str) -> list[str]:
    return [event.content for event in one.played.episode.events if event.kind == kind]


async def test_a_score_is_replayed_exactly(tmp_path: Path) -> None:
    first = await played(tmp_path)
    total = len(first.answered)
    assert {record.thread for record in first.answered} > {"judge/1", "second/1", "effect secrets:randbelow"}
    assert len(told(first, "verdict")) >= 4 + 4 + 2, "every one is in the record"
    assert any("Upper bound must be positive" in text for text in told(first, "verdict"))
    again = await played(tmp_path, (cut(first, total),))
    assert again.row == first.row and again.model.calls == [] and again.answered == []
    assert again.played.score == first.played.score


@pytest.mark.runs
async def test_cut_anywhere_in_the_scoring_it_goes_on_from_there(tmp_path: Path) -> None:
    first = await played(tmp_path)
    names = [record.thread for record in first.answered]
    begins = min(position for position, name in enumerate(names) if name.startswith(("judge", "second", "effect")))
    numbers = [text for text in told(first, "verdict") if text.startswith("number")]
    for answers in [*range(begins, len(names), 3), len(names)]:
        again = await played(tmp_path, (cut(first, answers),))
        assert again.played.episode.calls.log.replayed == answers
        assert again.played.episode.spec.try_ == 0, "it did not have to begin anew"
        if names[:answers].count("effect secrets:randbelow") == 2:
            assert [text for text in told(again, "verdict") if text.startswith("number")] == numbers
