"""Computes majority@k: how often the letter that most of a task's first k episodes chose is right."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ray_gym.envs.mcqa.grader import recorded_letter


@dataclass(frozen=True, slots=True)
class Ballot:
    """A ballot holds the letters that the completed episodes of one task chose."""

    letters: tuple[str | None, ...]
    """Letter of each completed episode, in the order of their repeats; None if it chose none."""
    expected: str
    """The right letter."""


def majority(letters: Sequence[str | None], expected: str) -> float:
    """Returns 1 if the right letter has the most votes, 1/n if n letters with the most votes are tied and it is among
    them, else 0. None is no vote.
    """
    votes = Counter(letter for letter in letters if letter is not None)
    most = max(votes.values(), default=0)
    leading = [letter for letter, count in votes.items() if count == most]
    return 1 / len(leading) if expected in leading else 0.0


def majority_at(ballots: Sequence[Ballot]) -> dict[str, float]:
    """Returns the values of majority@k by name (`majority@4`), each a mean over tasks. k is 1, 2, 4, ... and the size
    of the largest group.

    A task with fewer than k episodes is left out of majority@k.
    """
    largest = max((len(ballot.letters) for ballot in ballots), default=0)
    sizes = sorted({largest, *(2**power for power in range(largest.bit_length()))}) if largest else []
    figures = {}
    for k in sizes:
        values = [majority(ballot.letters[:k], ballot.expected) for ballot in ballots if len(ballot.letters) >= k]
        figures[f"majority@{k}"] = sum(values) / len(values)
    return figures


def ballots_of(rows: Sequence[Mapping[str, Any]]) -> list[Ballot]:
    """Returns a ballot for each task of a run's rows that has a completed episode. Episodes that were not completed are
    left out.
    """
    groups: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row["repeat"]):
        if row["status"] == "completed":
            groups[row["group_id"]].append(row)
    return [
        Ballot(tuple(recorded_letter(row) for row in group), json.loads(group[0]["task"])["expected_answer"])
        for group in groups.values()
    ]
