"""Estimates what several attempts at a task are worth, from the episodes of a group. Nothing is drawn at random.

Each function takes the outcomes of one task's n episodes, and averages over all ways to choose k of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import ArrayLike

MOST_CHOICES = 20_000
"""Most ways to choose k of n answers that `majority_at` goes through."""


def pass_at(hits: ArrayLike, k: int) -> float | None:
    """Returns the chance that at least one of k episodes is a hit (Chen et al. 2021, arXiv 2107.03374, section 2.1);
    None for fewer than k episodes. `hits`: bool [n].
    """
    n, right = _counts(hits)
    return None if n < k else 1 - comb(n - right, k) / comb(n, k)


def pass_hat(hits: ArrayLike, k: int) -> float | None:
    """Returns the chance that all of k episodes are hits (pass^k; Yao et al. 2024, arXiv 2406.12045, section 4); None
    for fewer than k episodes. `hits`: bool [n].
    """
    n, right = _counts(hits)
    return None if n < k else comb(right, k) / comb(n, k)


def best_of(rewards: ArrayLike, k: int) -> float | None:
    """Returns the mean of the highest reward of k episodes; None for fewer than k. `rewards`: float [n]."""
    ordered = np.sort(np.asarray(rewards, dtype=np.float64))
    n = len(ordered)
    if n < k:
        return None
    chances = np.array([comb(below, k - 1) for below in range(n)], dtype=object) / comb(n, k)
    return float((ordered * chances.astype(np.float64)).sum())


def majority_at(answers: Sequence[Hashable | None], expected: Hashable, k: int) -> float | None:
    """Returns the chance that the commonest of k answers is the expected one (Wang et al. 2022, arXiv 2203.11171); None
    for fewer than k answers, or if there are more than `MOST_CHOICES` ways to choose k.

    Of answers that are equally common, each has an equal chance. None, which stands for no answer, is never the
    commonest, unless there is no other.
    """
    if len(answers) < k or comb(len(answers), k) > MOST_CHOICES:
        return None
    chances = [
        _chance_of(expected, Counter(answer for answer in chosen if answer is not None))
        for chosen in combinations(answers, k)
    ]
    return sum(chances) / len(chances)


def _chance_of(expected: Hashable, counts: Counter[Hashable]) -> float:
    most = max(counts.values(), default=0)
    commonest = [answer for answer, count in counts.items() if count == most]
    return 1 / len(commonest) if expected in commonest else 0.0


def _counts(hits: ArrayLike) -> tuple[int, int]:
    given = np.asarray(hits, dtype=np.bool_)
    return len(given), int(given.sum())
