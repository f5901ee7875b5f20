"""Describes a run by estimates with intervals over tasks. Episodes that failed are never part of a reward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ray_gym.statistics.collect import Collected
from ray_gym.statistics.correlation import correlation_over_tasks
from ray_gym.statistics.groups import Attempts, Spread, attempts_at, powers_of_two, spread_within
from ray_gym.statistics.interval import Interval
from ray_gym.statistics.means import codes_of, mean_over_tasks
from ray_gym.statistics.proportions import proportion_over_tasks
from ray_gym.statistics.remarks import remarks_on

Success = Callable[[float], bool]
"""Function that says whether a reward is that of a success."""
SIMULATORS = ("user", "judge")
"""Kinds of failures that are the fault of a simulated user or of a judge."""
QUANTITIES = ("turns", "generated_tokens", "prompt_tokens", "model_calls", "tool_calls", "cost")
LENGTHS = ("generated_tokens", "turns")
PLAYED = ("completed", "failed", "dropped")
"""Statuses of episodes that were played to an end; a cancelled episode was given up by somebody else."""


@dataclass(frozen=True, slots=True)
class ToolRate:
    """Counts the calls of a tool that were answered, and those that were answered with an error."""

    calls: int
    errors: int
    rate: Interval
    """Share of errors; its `episodes` are calls."""
    tasks_with_errors: int


@dataclass(frozen=True, slots=True)
class Quantity:
    """Describes a number that each completed episode has."""

    mean: Interval
    median: float
    p95: float
    """95th percentile."""
    most: float


@dataclass(frozen=True, slots=True)
class Failures:
    """Says how many of the episodes that were played failed, and whose fault it was."""

    played: int
    """Number of the episodes that were played to an end: all but the cancelled ones."""
    failed: Interval | None
    """Share of these that have no score."""
    kinds: dict[str, Interval]
    """Share of these with a failure of each kind. A failure of the policy's is scored, so it is in the rewards too."""
    simulators: Interval | None
    """Share of these that failed by the simulated user's or the judge's fault."""


@dataclass(frozen=True, slots=True)
class Description:
    """Describes a run. Rewards, attempts, spread and lengths are those of completed episodes."""

    episodes: int
    tasks: int
    status: dict[str, int]
    reward: Interval | None
    """Mean reward; None without a completed episode."""
    success: Interval | None
    """Share of completed episodes with a success."""
    attempts: list[Attempts]
    spread: Spread
    stop_reasons: dict[str, Interval]
    """Share of all episodes, by stop reason."""
    failures: Failures
    tools: dict[str, ToolRate]
    quantities: dict[str, Quantity]
    cost: float | None
    """Cost of all episodes together; None if no model of theirs has a price."""
    length_against_reward: dict[str, Interval | None]
    """Correlation of a length with the reward, over all episodes, and within tasks (` within tasks`); None where one of
    them does not vary."""
    remarks: list[str]
    """Warnings of what the numbers can't say."""


@np.errstate(over="ignore", invalid="ignore")  # a remark says it
def describe(given: Collected, is_success: Success, ks: Sequence[int] | None = None) -> Description:
    """Describes the episodes of a run. `is_success` says which rewards are successes; `ks`: numbers of attempts, None
    for the powers of two.
    """
    tasks, status = given.tasks(), given.texts("status")
    scored = given.where(is_scored(given))
    rewards, of_tasks = scored.numbers("reward"), scored.tasks()
    hits = hits_of(rewards, is_success)
    most = int(np.bincount(of_tasks).max()) if len(of_tasks) else 0
    known = scored.texts("answer").tolist()
    answers = known if any(answer is not None for answer in known) else None
    reward = mean_over_tasks(rewards, of_tasks) if len(rewards) else None
    success = proportion_over_tasks(hits, of_tasks) if len(rewards) else None
    return Description(
        episodes=len(given),
        tasks=len(np.unique(tasks)),
        status=dict(Counter(status.tolist()).most_common()),
        reward=reward,
        success=success,
        attempts=attempts_at(rewards, hits, of_tasks, powers_of_two(most) if ks is None else ks, answers),
        spread=spread_within(rewards, scored.groups(), of_tasks),
        stop_reasons=_shares(given.texts("stop_reason"), tasks),
        failures=_failures(given, tasks, status),
        tools=_tools(given, tasks),
        quantities={name: found for name in QUANTITIES if (found := _quantity(scored.numbers(name), of_tasks))},
        cost=_total(given.numbers("cost")),
        length_against_reward=_lengths(scored, rewards, of_tasks),
        remarks=[*_unscored(status, len(rewards)), *remarks_on(rewards, reward, success)],
    )


def _unscored(status: NDArray[np.object_], scored: int) -> list[str]:
    """Returns a warning of completed episodes whose reward is none, or no finite number."""
    without = int((status == "completed").sum()) - scored
    return (
        [f"{without} completed episodes have no reward that is a finite number: they are left out"] if without else []
    )


def is_scored(given: Collected) -> NDArray[np.bool_]:
    """Returns whether each episode is completed and has a reward that is a finite number: bool [n]."""
    return np.asarray((given.texts("status") == "completed") & np.isfinite(given.numbers("reward")), dtype=np.bool_)


def hits_of(rewards: NDArray[np.float64], is_success: Success) -> NDArray[np.bool_]:
    """Returns whether each reward is that of a success: bool [n]."""
    return np.array([is_success(reward) for reward in rewards.tolist()], dtype=np.bool_)


def _shares(labels: NDArray[np.object_], tasks: NDArray[np.int64]) -> dict[str, Interval]:
    """Returns the share of each label among all episodes, the most frequent first. None is no label."""
    counts = Counter(label for label in labels.tolist() if label is not None)
    return {label: proportion_over_tasks(labels == label, tasks) for label, _ in counts.most_common()}


def _failures(given: Collected, tasks: NDArray[np.int64], status: NDArray[np.object_]) -> Failures:
    played = np.isin(status.astype(str), PLAYED)
    if not played.any():
        return Failures(0, None, {}, None)
    kinds, of_tasks, has_failed = given.texts("failure_kind")[played], tasks[played], status[played] == "failed"
    simulators = has_failed & np.isin(kinds.astype(str), SIMULATORS)
    return Failures(
        played=int(played.sum()),
        failed=proportion_over_tasks(has_failed, of_tasks),
        kinds=_shares(kinds, of_tasks),
        simulators=proportion_over_tasks(simulators, of_tasks),
    )


def _tools(given: Collected, tasks: NDArray[np.int64]) -> dict[str, ToolRate]:
    """Returns the tools, the one whose rate of errors is surely the highest first: a name that was called once, such as
    one that a model made up, is not above a tool that is broken for many tasks.
    """
    names = given.calls.column("tool").combine_chunks().dictionary_encode()
    errors = np.asarray(given.calls.column("is_error").to_numpy(), dtype=np.bool_)
    of_calls = tasks[given.calls.column("episode").to_numpy()]
    tools = names.indices.to_numpy()
    found = {}
    for number, name in enumerate(names.dictionary.to_pylist()):
        chosen = tools == number
        wrong, of_tasks = errors[chosen], of_calls[chosen]
        rate = proportion_over_tasks(wrong, of_tasks)
        found[name] = ToolRate(int(chosen.sum()), int(wrong.sum()), rate, len(np.unique(of_tasks[wrong])))
    return dict(sorted(found.items(), key=lambda item: (-(item[1].rate.low or 0), -item[1].rate.value, item[0])))


def _quantity(values: NDArray[np.float64], tasks: NDArray[np.int64]) -> Quantity | None:
    there = ~np.isnan(values)
    if not there.any():
        return None
    kept = values[there]
    median, p95 = np.quantile(kept, [0.5, 0.95])
    return Quantity(mean_over_tasks(kept, tasks[there]), float(median), float(p95), float(kept.max()))


def _total(values: NDArray[np.float64]) -> float | None:
    there = ~np.isnan(values)
    return float(values[there].sum()) if there.any() else None


def _lengths(scored: Collected, rewards: NDArray[np.float64], tasks: NDArray[np.int64]) -> dict[str, Interval | None]:
    found: dict[str, Interval | None] = {}
    for name in LENGTHS:
        lengths = scored.numbers(name)
        there = ~np.isnan(lengths)
        if there.any():
            given = (lengths[there], rewards[there], codes_of(tasks[there]))
            found[name] = correlation_over_tasks(*given)
            found[f"{name} within tasks"] = correlation_over_tasks(*given, within=True)
    return found
