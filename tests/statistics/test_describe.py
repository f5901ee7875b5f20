"""Compares the description of hand-made runs with values that are worked out by numpy, scipy and statsmodels here."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from rows import collected, row, rows_of, said
from scipy import stats
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.proportion import proportion_confint

from ray_gym.statistics.calls import UNKNOWN_TOOL, UNREADABLE_CALL
from ray_gym.statistics.describe import Description, describe
from ray_gym.statistics.interval import Interval

UNEQUAL: dict[str, list[float | None]] = {
    "a": [1, 0, 1, 1],
    "b": [0, 0.5, None],
    "c": [1],
    "d": [None, None],
    "e": [0.25, 0.25, 0.25, 0, 1],
}


def described(tasks: dict[str, list[float | None]], **options: object) -> Description:
    return describe(collected(rows_of(tasks)), lambda reward: reward >= 1, **options)  # type: ignore[arg-type]


def ends(interval: Interval | None) -> tuple[float | None, float | None]:
    assert interval is not None
    return interval.low, interval.high


def wilson(share: float, se: float, tasks: int, most: int) -> tuple[float, float]:
    """Returns Wilson's interval on the effective number of episodes."""
    worth = np.clip(share * (1 - share) / se**2, tasks, most)
    low, high = proportion_confint(share * worth, worth, method="wilson")
    return float(low), float(high)


def test_the_mean_reward_of_unequal_repeats_is_that_of_statsmodels() -> None:
    found = described(UNEQUAL)
    scored = [[reward for reward in rewards if reward is not None] for rewards in UNEQUAL.values()]
    rewards = np.concatenate(scored)
    groups = {"groups": np.repeat(np.arange(5), [len(of_task) for of_task in scored])}
    fitted = OLS(rewards, np.ones(12)).fit(cov_type="cluster", cov_kwds=groups, use_t=True)
    assert found.reward is not None and found.reward.value == pytest.approx(rewards.mean())
    assert found.reward.se == pytest.approx(fitted.bse[0])
    assert ends(found.reward) == pytest.approx(tuple(fitted.conf_int()[0]))
    assert (found.reward.episodes, found.reward.tasks, found.episodes, found.tasks) == (12, 4, 15, 5)
    assert found.status == {"completed": 12, "failed": 3}


def test_successes_have_wilsons_interval_on_the_effective_number() -> None:
    found = described(UNEQUAL)
    hits = np.array([1, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 1])
    of_tasks = np.repeat([0, 1, 2, 3], [4, 2, 1, 5])
    sums = np.bincount(of_tasks, hits - hits.mean())
    se = np.sqrt(4 / 3 * np.square(sums).sum()) / 12
    assert found.success is not None and found.success.value == pytest.approx(5 / 12)
    assert ends(found.success) == pytest.approx(wilson(5 / 12, se, 4, 12))


def test_attempts_of_tasks_with_enough_episodes_only() -> None:
    found = {one.k: one for one in described(UNEQUAL).attempts}
    assert {k: (one.tasks, one.left_out) for k, one in found.items()} == {1: (4, 0), 2: (3, 1), 4: (2, 2), 5: (1, 3)}
    for k, one in found.items():
        scored = [[reward for reward in rewards if reward is not None] for rewards in UNEQUAL.values()]
        chosen = [list(combinations(rewards, k)) for rewards in scored if len(rewards) >= k]
        at = [np.mean([max(each) >= 1 for each in of_task]) for of_task in chosen]
        hat = [np.mean([min(each) >= 1 for each in of_task]) for of_task in chosen]
        best = [np.mean([max(each) for each in of_task]) for of_task in chosen]
        values = (one.pass_at.value, one.pass_hat.value, one.best_of.value)
        assert values == pytest.approx((np.mean(at), np.mean(hat), np.mean(best)))
        if len(best) > 1:
            test = stats.ttest_1samp(best, 0).confidence_interval(0.95)
            assert ends(one.best_of) == pytest.approx((test.low, test.high))
            apart = sum(len(rewards) // k for rewards in scored if len(rewards) >= k)
            se = float(np.std(at, ddof=1) / np.sqrt(len(at)))
            expected = wilson(float(np.mean(at)), se, len(at), apart)
            assert ends(one.pass_at) == pytest.approx(expected)
    assert found[5].pass_at.why_none and found[5].pass_at.low is None


def test_chosen_attempts_and_none_that_has_as_many_episodes() -> None:
    assert [one.k for one in described(UNEQUAL, ks=[3, 8]).attempts] == [3]
    assert described({"a": [0.0], "b": [1.0]}, ks=[2]).attempts == []


def test_spread_within_groups() -> None:
    found = described(UNEQUAL).spread
    deviations = [np.std(rewards, ddof=1) for rewards in ([1, 0, 1, 1], [0, 0.5], [0.25, 0.25, 0.25, 0, 1])]
    assert (found.groups, found.single) == (3, 1)
    assert found.deviation is not None and found.deviation.value == pytest.approx(np.mean(deviations))
    test = stats.ttest_1samp(deviations, 0).confidence_interval(0.95)
    assert ends(found.deviation) == pytest.approx((test.low, test.high))
    alike = described({"a": [1, 1], "b": [0, 0], "c": [0, 1], "d": [0.5]}).spread
    assert alike.without is not None and alike.without.value == pytest.approx(2 / 3)


def test_groups_are_apart_also_within_a_task() -> None:
    rows = [row("a", reward, group_id=group) for reward, group in ((0.0, "x"), (0.0, "x"), (1.0, "y"), (1.0, "y"))]
    found = describe(collected(rows), lambda reward: reward >= 1).spread
    assert found.groups == 2 and found.without is not None and found.without.value == 1


def test_failures_are_apart_from_rewards() -> None:
    rows = rows_of({"a": [1, None], "b": [0, None], "c": [0.5, 0.5]})
    rows[3]["failure"] = {"kind": "infra", "where": "engine", "message": "gone"}
    rows[4]["failure"] = {"kind": "policy", "where": "policy", "message": "no call"}
    rows += [row("c", None, status="cancelled", stop_reason="surplus", failure=None)]
    found = describe(collected(rows), lambda reward: reward >= 1)
    failures = found.failures
    assert failures.played == 6 and found.reward is not None and found.reward.value == pytest.approx(0.5)
    assert failures.failed is not None and failures.failed.value == pytest.approx(2 / 6)
    assert {kind: one.value for kind, one in failures.kinds.items()} == pytest.approx(
        {"user": 1 / 6, "infra": 1 / 6, "policy": 1 / 6}
    )
    assert failures.simulators is not None and failures.simulators.value == pytest.approx(1 / 6)
    sums = np.array([1 - 2 * 2 / 6, 1 - 2 * 2 / 6, -2 * 2 / 6])
    se = float(np.sqrt(3 / 2 * np.square(sums).sum()) / 6)
    assert ends(failures.failed) == pytest.approx(wilson(2 / 6, se, 3, 6))
    assert {name: one.value for name, one in found.stop_reasons.items()} == pytest.approx(
        {"finished": 4 / 7, "failed": 2 / 7, "surplus": 1 / 7}
    )


def test_all_equal_no_success_one_task_and_one_episode() -> None:
    equal = described({"a": [0.5, 0.5], "b": [0.5, 0.5]})
    assert ends(equal.reward) == (0.5, 0.5) and any("no width" in remark for remark in equal.remarks)
    none = described({"a": [0, 0], "b": [0, 0], "c": [0]})
    assert none.success is not None and none.success.value == 0
    assert ends(none.success) == pytest.approx(proportion_confint(0, 3, method="wilson"))
    one_task = described({"a": [0, 1]})
    assert one_task.reward is not None and one_task.reward.low is None
    assert one_task.remarks == [
        "no intervals over tasks: one task only, and other tasks may differ from it by any amount"
    ]
    assert [one.pass_at.value for one in one_task.attempts] == [0.5, 1]
    one = described({"a": [1]})
    assert one.reward is not None and (one.reward.value, one.reward.se) == (1, None)
    assert one.spread.groups == 0 and one.length_against_reward["turns"] is None
    failed = described({"a": [None], "b": [None]})
    assert failed.reward is failed.success is None and not failed.attempts and not failed.quantities
    assert failed.remarks == ["no completed episode has a reward"]


@pytest.mark.filterwarnings("error")
def test_rewards_too_large_to_be_squared_are_warned_of() -> None:
    found = described({"a": [1e308, -1e308], "b": [1.7e308, 0], "c": [1, 0]})
    assert "some rewards are beyond 1e+150" in found.remarks[0]
    assert "beyond" not in described({"a": [1e149], "b": [-1e149]}).remarks[0]


@pytest.mark.parametrize(("mean", "told"), [(0.05, "near 0"), (0.95, "near 1"), (0.3, "")])
def test_means_near_a_bound_are_warned_of(mean: float, told: str) -> None:
    hits = np.arange(100) < 100 * mean
    found = described({str(number): [float(hit)] for number, hit in enumerate(hits)})
    assert len(found.remarks) == (2 if told else 0) and all(told in remark for remark in found.remarks)
    other_scale = described({str(number): [20 * float(hit) - 1] for number, hit in enumerate(hits)})
    assert not any("mean reward" in remark for remark in other_scale.remarks), "not between 0 and 1: no bound is known"


def test_numbers_and_lengths_against_rewards() -> None:
    rng = np.random.default_rng(3)
    tokens, tasks = rng.integers(1, 500, 60), np.repeat(np.arange(12), 5)
    rewards = np.round(tokens / 500 + rng.random(12)[tasks] + rng.random(60), 3)
    rows = [
        row(str(task), float(reward), tokens=int(count))
        for task, reward, count in zip(tasks, rewards, tokens, strict=True)
    ]
    found = describe(collected(rows), lambda reward: reward >= 1)
    counted = found.quantities["generated_tokens"]
    assert (counted.median, counted.p95, counted.most) == pytest.approx(
        (*np.quantile(tokens, [0.5, 0.95]), tokens.max())
    )
    assert counted.mean.value == pytest.approx(tokens.mean())
    overall = found.length_against_reward["generated_tokens"]
    assert overall is not None and overall.value == pytest.approx(stats.pearsonr(tokens, rewards).statistic)
    left_out = [
        np.arctanh(stats.pearsonr(tokens[tasks != task], rewards[tasks != task]).statistic) for task in range(12)
    ]
    se = np.sqrt(11 / 12 * np.square(np.array(left_out) - np.mean(left_out)).sum())
    width = stats.t.ppf(0.975, 11) * se
    z = np.arctanh(overall.value)
    assert ends(overall) == pytest.approx((np.tanh(z - width), np.tanh(z + width)))
    within = found.length_against_reward["generated_tokens within tasks"]
    left = [values - (np.bincount(tasks, values) / 5)[tasks] for values in (tokens, rewards)]
    assert within is not None and within.value == pytest.approx(stats.pearsonr(*left).statistic)
    assert found.length_against_reward["turns"] is None, "all have two turns"


def test_errors_of_each_tool() -> None:
    asked = said("message", calls=[("1", "read"), ("2", "write")])
    fine, wrong = said("tool_result", tool_call_id="1"), said("tool_result", tool_call_id="2", error="no such file")
    again = [said("message", calls=[("1", "write")]), said("tool_result", tool_call_id="1", error="full")]
    rows = [
        row("a", 1.0, events=[asked, fine, wrong, *again]),
        row("b", 1.0, events=[asked, fine, said("tool_result", tool_call_id="2")]),
        row("c", 0.0, events=[said("tool_result", tool_call_id="9")]),
        row("d", 0.0, events=None),
    ]
    found = describe(collected(rows), lambda reward: reward >= 1).tools
    assert list(found) == ["write", UNKNOWN_TOOL, "read"]
    counts = {name: (one.calls, one.errors, one.tasks_with_errors) for name, one in found.items()}
    assert counts == {"write": (3, 2, 1), "read": (2, 0, 0), UNKNOWN_TOOL: (1, 0, 0)}
    sums = np.array([2 - 2 * 2 / 3, -2 / 3])
    se = float(np.sqrt(2 * np.square(sums).sum()) / 3)
    assert ends(found["write"].rate) == pytest.approx(wilson(2 / 3, se, 2, 3))


def test_calls_that_could_not_be_read_have_a_row_of_their_own() -> None:
    refused = said("tool_result", tool_call_id="1", error="it is no JSON")
    unread = [said("message", calls=[("1", "")]), refused]
    beside = [said("message", calls=[("1", ""), ("2", "read")]), refused, said("tool_result", tool_call_id="2")]
    rows = [row("a", 1.0, events=[*unread, *unread]), row("b", 1.0, events=beside)]
    found = describe(collected(rows), lambda reward: reward >= 1).tools
    counts = {name: (one.calls, one.errors, one.tasks_with_errors) for name, one in found.items()}
    assert counts == {UNREADABLE_CALL: (3, 3, 2), "read": (1, 0, 0)}


def test_a_call_from_outside_counts_once() -> None:
    events = [
        said("message", calls=[("1", "read")]),
        said("tool_call", calls=[("1", "read")], error="gone"),
        said("tool_result", tool_call_id="1"),
        said("message", "user", calls=[("1", "look")]),
        said("tool_result", "user", tool_call_id="1"),
    ]
    found = describe(collected([row("a", 1.0, events=events)]), lambda reward: reward >= 1).tools
    assert {name: (one.calls, one.errors) for name, one in found.items()} == {"read": (1, 1), "look": (1, 0)}


def test_the_majority_of_extracted_answers() -> None:
    def episodes(task: str, *answers: str) -> list[dict[str, object]]:
        told = [
            [said("message", text="Hm."), said("message", text=answer), said("note", text="x")] for answer in answers
        ]
        return [
            row(task, float(answer.startswith("4")), events=events)
            for events, answer in zip(told, answers, strict=True)
        ]

    rows = [*episodes("a", "4", "4.0", "5"), *episodes("b", "6", "6", "4"), *episodes("c", "4", "?", "?")]
    found = describe(collected(rows, extract=lambda text: None if text == "?" else text), lambda reward: reward >= 1)
    values = {one.k: one.majority.value for one in found.attempts if one.majority is not None}
    of_two = [np.mean([1, 0.5, 0.5]), np.mean([0, 0.5, 0.5]), np.mean([1, 1, 0])]
    assert values == pytest.approx({1: np.mean([2 / 3, 1 / 3, 1 / 3]), 2: np.mean(of_two), 3: np.mean([1, 0, 1])})
    plain = describe(collected(rows), lambda reward: reward >= 1)
    assert all(one.majority is None for one in plain.attempts)
