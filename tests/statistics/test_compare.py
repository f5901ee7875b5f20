"""Compares two hand-made runs, and their parts, with values that scipy and statsmodels give for them."""

from __future__ import annotations

import numpy as np
import pytest
from rows import collected, row, rows_of
from scipy import stats
from statsmodels.stats.multitest import multipletests

from ray_gym.statistics.compare import compare, compare_slices
from ray_gym.statistics.slices import columns_of, slices_of


def is_success(reward: float) -> bool:
    return reward >= 1


def test_runs_are_paired_by_task() -> None:
    first = rows_of({"a": [0, 1], "b": [0, None], "c": [0.5], "d": [None], "e": [0, 0, 1], "only": [1]})
    second = rows_of({"a": [1], "b": [1, 1], "c": [0.25], "d": [1], "e": [1, 1], "new": [0], "newer": [0]})
    for number, each in enumerate([*first, *second]):
        each["turns"] = 1 + number % 5
    found = compare(collected(first), collected(second), is_success)
    assert (found.common, found.only_first, found.only_second, found.flips) == (5, 1, 2, None)
    changes = [1 - 0.5, 1 - 0, 0.25 - 0.5, 1 - 1 / 3]
    reward, test = found.numbers["reward"], stats.ttest_1samp(changes, 0)
    assert (reward.first, reward.second) == pytest.approx((np.mean([0.5, 0, 0.5, 1 / 3]), np.mean([1, 1, 0.25, 1])))
    assert reward.difference.interval.value == pytest.approx(np.mean(changes))
    assert reward.difference.p == pytest.approx(test.pvalue)
    assert found.numbers["failed"].difference.interval.value == pytest.approx((0 - 0.5 + 0 - 1) / 5)
    tested = {name: one.difference.p for name, one in found.numbers.items() if one.difference.interval.se}
    assert {"reward", "success", "failed", "turns"} <= set(tested) and "generated_tokens" not in tested
    told = multipletests(list(tested.values()), method="holm")[1]
    assert [found.numbers[name].p_adjusted for name in tested] == pytest.approx(told)


def test_one_episode_of_each_task_has_mcnemars_test() -> None:
    first = rows_of({str(number): [float(number < 12)] for number in range(20)})
    second = rows_of({str(number): [float(2 <= number < 19)] for number in range(20)})
    flips = compare(collected(first), collected(second), is_success).flips
    assert flips is not None and (flips.gained, flips.lost) == (7, 2)
    assert flips.p == pytest.approx(stats.binomtest(2, 9, 0.5).pvalue)


def test_one_common_task_and_none() -> None:
    found = compare(collected(rows_of({"a": [0]})), collected(rows_of({"a": [1], "b": [0]})), is_success)
    reward = found.numbers["reward"]
    assert (reward.difference.interval.low, reward.difference.p, reward.p_adjusted) == (None, None, None)
    assert reward.difference.interval.why_none.startswith("one task only")
    with pytest.raises(ValueError, match="no task in common"):
        compare(collected(rows_of({"a": [0]})), collected(rows_of({"b": [0]})), is_success)
    same_id = collected([row("a", 1.0, env_id="another")])
    with pytest.raises(ValueError, match="no task in common"):
        compare(collected(rows_of({"a": [0]})), same_id, is_success)


def test_tasks_whose_episodes_all_failed_in_one_run() -> None:
    found = compare(
        collected(rows_of({"a": [None], "b": [None]})), collected(rows_of({"a": [1], "b": [1]})), is_success
    )
    assert "reward" not in found.numbers and found.numbers["failed"].difference.interval.value == -1
    assert found.flips is None


def test_parts_are_compared_and_adjusted_together() -> None:
    rows = [
        [row(f"{env}{task}", float(draw), env_id=env) for env in "xy" for task, draw in enumerate(draws)]
        for draws in ((0, 0, 1, 0, 1, 0), (1, 1, 1, 0, 1, 0))
    ]
    rows[1][0]["reward"] = 0.5
    found = compare_slices(collected(rows[0]), collected(rows[1]), ["env_id"], is_success)
    assert list(found) == [("x",), ("y",)]
    changes = {"x": [0.5, 1, 0, 0, 0, 0], "y": [1, 1, 0, 0, 0, 0]}
    successes = {"x": [0, 1, 0, 0, 0, 0], "y": [1, 1, 0, 0, 0, 0]}
    p = [stats.ttest_1samp(values[env], 0).pvalue for env in "xy" for values in (changes, successes)]
    assert [one.difference.p for of in found.values() for one in of.values()] == pytest.approx(p)
    told = multipletests(p, method="holm")[1]
    assert [one.p_adjusted for of in found.values() for one in of.values()] == pytest.approx(told)


def test_parts_of_a_run() -> None:
    rows = [*rows_of({"a": [1, 0], "b": [1, None]}), row("c", 0.0, env_id="other", stop_reason=None)]
    found = slices_of(collected(rows), columns_of("env, stop"), is_success)
    assert [(one.key, one.episodes, one.tasks) for one in found] == [
        (("made", "failed"), 1, 1),
        (("made", "finished"), 3, 2),
        (("other", None), 1, 1),
    ]
    assert found[0].reward is None and found[0].failed is not None and found[0].failed.value == 1
    assert found[1].reward is not None and found[1].reward.value == pytest.approx(2 / 3) and found[1].reward.se
    assert found[2].reward is not None and found[2].reward.why_none.startswith("one task only")
    by_task = slices_of(collected(rows), ["task_id"], is_success)
    assert [one.key for one in by_task] == [("a",), ("b",), ("c",)]


@pytest.mark.parametrize("text", ["nope", "env,nope", "", " , "])
def test_columns_that_there_are_not(text: str) -> None:
    with pytest.raises(ValueError, match="there are: env, task"):
        columns_of(text)
