"""Checks that pools hold their shares, that no task is starved, and that a restart chooses as before."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ray_gym.config.sections import SamplerSection, TasksSection
from ray_gym.data.tasks import TaskRow
from ray_gym.errors import UserError
from ray_gym.run.directory.posix_storage import PosixStorage
from ray_gym.stream.rounds import ROUND, Rounds
from ray_gym.stream.sampler import Sampler, TaskRate

TASKS = 60
GROUPS = 2000
RATE = {"hard": 0.05, "middle": 0.5, "easy": 0.95}


def kind_of(index: int) -> str:
    """Returns how hard a task really is: a tenth of them are hard, half are middling."""
    return "hard" if index % 10 == 0 else "middle" if index % 10 < 6 else "easy"


def sampler_of(weigh: Any = None, **section: Any) -> Sampler:
    rows = [TaskRow(f"t{n}", json.dumps({"n": n})) for n in range(TASKS)]
    return Sampler(rows, 0, SamplerSection(**section), weigh)


def rounds_at(folder: Path, sampler: Sampler) -> Rounds:
    folder.mkdir(exist_ok=True)
    return Rounds(PosixStorage.of(folder), sampler)


def play(rounds: Rounds, groups: range, stale: frozenset[str] = frozenset(), behind: int = 40) -> list[int]:
    """Plays groups, each of which is measured `behind` groups after it was chosen, and drops every second of the kinds
    that are in `stale`. Returns the tasks of the groups that were not dropped.
    """
    delivered = []
    for number in groups:
        rounds.index_of(number)
        if (over := number - behind) >= 0:
            index = rounds.index_of(over)
            rounds.measure(over, RATE[kind_of(index)])
            if kind_of(index) in stale and over % 2:
                rounds.lose(over)
            else:
                delivered.append(index)
    return delivered


@pytest.mark.parametrize("stale", [frozenset(), frozenset({"hard"}), frozenset({"hard", "middle"})])
def test_shares_hold_whatever_goes_stale(tmp_path: Path, stale: frozenset[str]) -> None:
    rounds = rounds_at(tmp_path, sampler_of(shares={"easy": 0.2, "middle": 0.5, "hard": 0.3}))
    play(rounds, range(300), stale)
    delivered = play(rounds, range(300, 300 + GROUPS), stale)
    shares = {kind: count / len(delivered) for kind, count in Counter(map(kind_of, delivered)).items()}
    assert shares == pytest.approx({"easy": 0.2, "middle": 0.5, "hard": 0.3}, abs=0.02)
    assert set(delivered) == set(range(TASKS)), "every task comes again"
    status = rounds.status()["pools"]
    assert {pool: one["tasks"] for pool, one in status.items()} == {"easy": 24, "middle": 30, "hard": 6}


def test_tasks_change_their_pools_as_the_policy_learns() -> None:
    sampler = sampler_of(memory=2)
    assert sampler.pool(3) == "middle", "it was not measured yet"
    for reward, pool in ((0.0, "hard"), (0.0, "hard"), (1.0, "middle"), (1.0, "middle"), (1.0, "easy")):
        sampler.measure(3, reward)
        assert sampler.pool(3) == pool


def test_an_empty_pool_leaves_its_share_to_the_others() -> None:
    sampler = sampler_of(shares={"easy": 0.5, "middle": 0.5, "hard": 0.0})
    for index in range(TASKS):
        sampler.measure(index, 0.9)
    assert {sampler.choose()[1] for _ in range(50)} == {"easy"}


def test_a_pool_that_was_empty_is_owed_nothing_for_that_time() -> None:
    sampler = sampler_of(shares={"easy": 0.2, "middle": 0.6, "hard": 0.2})
    for _ in range(1000):  # nothing is learnt yet
        sampler.measure(sampler.choose()[0], 0.0)
    for _ in range(8):  # one task is
        sampler.measure(7, 0.5)
    pools = Counter()
    for _ in range(200):
        index, pool = sampler.choose()
        pools[pool] += 1
        sampler.measure(index, 0.5 if index == 7 else 0.0)
    assert pools["middle"] == pytest.approx(150, abs=2) and pools["hard"] == pytest.approx(50, abs=2)
    for _ in range(16):
        sampler.measure(3, 1.0)
    pools = Counter(sampler.choose()[1] for _ in range(200))
    assert pools["easy"] == pytest.approx(40, abs=2) and pools["middle"] == pytest.approx(120, abs=2)


def test_a_restart_chooses_the_same_tasks_again_and_goes_on_alike(tmp_path: Path) -> None:
    first = rounds_at(tmp_path, sampler_of())
    play(first, range(500), frozenset({"hard"}))
    first.keep()
    chosen = [first.index_of(number) for number in range(500)]
    again = rounds_at(tmp_path, sampler_of())
    again.read()
    assert [again.index_of(number) for number in range(500)] == chosen
    last = 500 // ROUND * ROUND + ROUND
    assert [again.index_of(n) for n in range(last, last + 5 * ROUND)] == [
        first.index_of(n) for n in range(last, last + 5 * ROUND)
    ]


def test_weights_of_a_function() -> None:
    seen: list[TaskRate] = []

    def weigh(rates: Any) -> list[float]:
        seen[:] = rates
        return [1.0 if rate.task_id in ("t3", "t4") else 0.0 for rate in rates]

    sampler = sampler_of(weigh)
    sampler.measure(3, 0.5)
    chosen = Counter(sampler.choose()[0] for _ in range(400))
    assert set(chosen) == {3, 4} and abs(chosen[3] - 200) < 50
    assert seen[3] == TaskRate("t3", json.dumps({"n": 3}), 1, 0.5) and seen[4].reward is None


@pytest.mark.parametrize(
    ("weigh", "told"),
    [
        (lambda rates: [1.0], "it gave 1 weights for 60 tasks"),
        (lambda rates: [0.0] * len(rates), "one at least is above 0"),
        (lambda rates: [-1.0] * len(rates), "from 0 on"),
        (lambda rates: [float("nan")] * len(rates), "finite number"),
        (lambda rates: 1 / 0, "the function failed: ZeroDivisionError"),
    ],
)
def test_weights_that_are_none(weigh: Any, told: str) -> None:
    with pytest.raises(UserError, match=rf"tasks\.sampler\.weights: .*{told}"):
        sampler_of(weigh).choose()


def test_a_section_that_makes_no_sense() -> None:
    for wrong, told in (
        ({"shares": {"easy": 0, "middle": 0, "hard": 0}}, "one share at least"),
        ({"shares": {"easy": -1}}, "greater than or equal to 0"),
        ({"hard_below": 0.9}, r"hard_below \(0\.9\) is at most easy_above"),
    ):
        with pytest.raises(ValueError, match=told):
            SamplerSection.model_validate(wrong)
    with pytest.raises(ValueError, match="a generator makes new ones"):
        TasksSection.model_validate({"generate": 3, "sampler": {}})
