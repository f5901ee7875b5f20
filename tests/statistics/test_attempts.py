"""Compares pass@k, pass^k, best of k and majority@k with all ways to choose k episodes, gone through one by one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from ray_gym.statistics.attempts import best_of, majority_at, pass_at, pass_hat
from ray_gym.statistics.groups import powers_of_two


@pytest.mark.parametrize("hits", [[1, 0, 0, 1, 0], [0, 0, 0], [1, 1, 1], [1]])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_hits_of_k_episodes(hits: list[int], k: int) -> None:
    chosen = list(combinations(hits, k))
    if not chosen:
        assert pass_at(hits, k) is pass_hat(hits, k) is best_of(hits, k) is None
        return
    assert pass_at(hits, k) == pytest.approx(np.mean([any(one) for one in chosen]))
    assert pass_hat(hits, k) == pytest.approx(np.mean([all(one) for one in chosen]))


@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_the_best_of_k(k: int) -> None:
    rewards = [0.5, -1, 0.5, 2, 0, 0.25]
    assert best_of(rewards, k) == pytest.approx(np.mean([max(one) for one in combinations(rewards, k)]))


def test_many_episodes_are_no_trouble() -> None:
    assert pass_at([True] + [False] * 9999, 5000) == pytest.approx(0.5)
    assert best_of(np.arange(2000), 1000) == pytest.approx(1000 * 2001 / 1001 - 1)


def test_the_majority_of_k_answers() -> None:
    assert majority_at(["4", "4", "5"], "4", 3) == 1
    assert majority_at(["4", "4", "5"], "4", 1) == pytest.approx(2 / 3)
    assert majority_at(["4", "5"], "4", 2) == 0.5, "of equals each has its chance"
    assert majority_at([None, None, "4"], "4", 3) == 1, "no answer is no majority"
    assert majority_at([None, None], "4", 2) == 0
    assert majority_at(["4"], "4", 2) is None and majority_at(["4"] * 40, "4", 20) is None


@pytest.mark.parametrize(
    ("most", "ks"),
    [(0, []), (1, [1]), (6, [1, 2, 4, 6]), (128, [1, 2, 4, 8, 16, 32, 64, 128]), (3240, [1, 2, 4, 8, 16, 32, 64, 128])],
)
def test_numbers_of_attempts_that_are_told(most: int, ks: list[int]) -> None:
    assert powers_of_two(most) == ks
