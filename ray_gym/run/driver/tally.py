"""Counts the events of a run for the progress line, the closing summary and summary.json."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from ray_gym.errors import FailureKind
from ray_gym.models.price import PICOS, money_in
from ray_gym.run.cluster.shares import NodeShares
from ray_gym.run.directory.receipt import Receipt
from ray_gym.run.driver.failures import FailureCounts, kind_of, shorten
from ray_gym.run.driver.first_tries import FirstTries

MAX_OUTCOMES = 50
"""Most distinct stop texts that are counted. It bounds the memory if an environment's texts are all different."""
MAX_FAILURES = 20
"""Most distinct failures that are counted."""
MAX_WARNINGS = 20
"""Most distinct warnings of workers that are kept."""
LATELY_S = 90.0
"""Seconds for which a warning is told of a run that is watched from elsewhere: more than between two of them."""
BY_CODE = f"{FailureKind.ENVIRONMENT} in "
"""Beginning of a receipt's failure by the environment's own code."""


def is_by_code(receipt: Receipt) -> bool:
    """Says whether an episode failed by the environment's own code."""
    return receipt.status == "failed" and receipt.failure is not None and receipt.failure.startswith(BY_CODE)


@dataclass
class Tally:
    """Counts the episodes of a run, and what they cost."""

    total: int
    """Number of planned episodes."""
    already_done: int = 0
    """Episodes that were committed before this driver started."""
    tokens_before: int = 0
    """Tokens generated in the episodes that were committed before this driver started."""
    done: int = 0
    """Episodes that are finished, with those of earlier drivers."""
    rewarded: int = 0
    """Completed episodes that have a reward."""
    reward_sum: float = 0.0
    """Sum of the rewards of completed episodes."""
    tokens: int = 0
    """Generated tokens of finished episodes, with those of earlier drivers."""
    model_calls: int = 0
    turns: int = 0
    workers_lost: int = 0
    resumed: int = 0
    """Episodes that were resumed from the records of an older attempt."""
    retried: int = 0
    """Episodes that were played from their start more than once."""
    replayed_calls: int = 0
    """Calls that were answered from a journal."""
    refused_files: int = 0
    """Files with rows of attempts that did not count."""
    refused_bytes: int = 0
    """Bytes that were written to journals after these were fenced."""
    by_status: Counter[str] = field(default_factory=Counter)
    """Episodes by status."""
    by_stop: Counter[str] = field(default_factory=Counter)
    """Episodes by stop reason."""
    by_outcome: Counter[str] = field(default_factory=Counter)
    """Episodes by stop text, for those that the environment finished; at most MAX_OUTCOMES distinct texts."""
    failures: FailureCounts = field(default_factory=lambda: FailureCounts(MAX_FAILURES))
    """Failed episodes by the kind of their failure; at most MAX_FAILURES kinds."""
    scored_faults: FailureCounts = field(default_factory=lambda: FailureCounts(MAX_FAILURES))
    """Episodes that are scored in spite of a failure, the policy's own, by its kind; at most MAX_FAILURES kinds."""
    undecided: FailureCounts = field(default_factory=lambda: FailureCounts(MAX_FAILURES))
    """Verdicts that functions of graders did not give, of episodes that ended since this driver started; at most
    MAX_FAILURES kinds."""
    costs: Counter[str] = field(default_factory=Counter)
    """Cost of the finished episodes in picos, by the name of the model, of those that have a price."""
    spent: int | None = None
    """Picos that the whole run has spent, by which `limits.max_cost` counts; None before the end, and without it."""
    reward_range: tuple[float, float] = (float("-inf"), float("inf"))
    """Lowest and highest reward that the environment declares."""
    out_of_range: int = 0
    """Completed episodes with a reward outside of `reward_range`."""
    failed_by_code: int = 0
    """Episodes that failed by the environment's own code since this driver started."""
    first_tries: FirstTries = field(default_factory=FirstTries)
    """The first episodes since this driver started, and what ended its workers."""
    nodes: NodeShares = field(default_factory=NodeShares)
    """Counts by node since this driver started."""
    made: float = field(default_factory=time.monotonic)
    """Time at which the tally was made (monotonic, seconds)."""
    began: float | None = None
    """Time of the first lease (monotonic, seconds); None before it."""
    warnings: dict[str, str] = field(default_factory=dict)
    """First warning of workers of each kind, since this driver started; at most MAX_WARNINGS kinds."""
    warned_at: dict[str, float] = field(default_factory=dict)
    """Time of the last warning of each of these kinds (monotonic, seconds)."""
    slow_start: str = ""
    """Warning about workers that take long to start; empty while none does."""
    took_s: float | None = None
    """Seconds from the first lease to the end; None before the end."""

    def start(self) -> None:
        """Records the current time as that of the first lease. Later calls do nothing."""
        if self.began is None:
            self.began = time.monotonic()

    @staticmethod
    def of_resumed(
        total: int, done: Iterable[Receipt], reward_range: tuple[float, float] = (float("-inf"), float("inf"))
    ) -> Tally:
        """Makes the tally of a run of `total` episodes, of which those with receipts in `done` are already committed.
        `reward_range`: lowest and highest reward that the environment declares.
        """
        tally = Tally(total, reward_range=reward_range)
        for receipt in done:
            tally.add(receipt)
        tally.already_done, tally.tokens_before = tally.done, tally.tokens
        tally.first_tries.goes_on = tally.by_status["completed"] > 0
        tally.failed_by_code = 0
        return tally

    def add(self, receipt: Receipt, sign: int = 1) -> None:
        """Adds a finished episode to the counts, or with `sign` -1 takes it out again, because its row was lost with
        its worker. Only completed episodes count for the mean reward.
        """
        self.done += sign
        self.tokens += sign * receipt.tokens
        self.model_calls += sign * receipt.model_calls
        self.turns += sign * receipt.turns
        for model, cost in receipt.costs:
            self.costs[model] += sign * round(cost * PICOS)
        self.resumed += sign * (receipt.replayed > 0)
        self.retried += sign * (receipt.try_ > 0)
        self.replayed_calls += sign * receipt.replayed
        self.by_status[receipt.status] += sign
        self.by_stop[receipt.stop_reason] += sign
        if receipt.reward is not None and receipt.status == "completed":
            self.rewarded += sign
            self.reward_sum += sign * receipt.reward
            low, high = self.reward_range
            self.out_of_range += sign * any(not low <= reward <= high for reward in (receipt.reward, *receipt.others))
        outcome = receipt.stop_text if receipt.stop_reason == "finished" else ""
        if outcome and (outcome in self.by_outcome or len(self.by_outcome) < MAX_OUTCOMES):
            self.by_outcome[outcome] += sign
        if receipt.failure and receipt.status == "failed":  # not dropped: the group's failed episodes tell why
            self.failures.add(receipt.failure, sign)
            if is_by_code(receipt):
                self.failed_by_code += sign
                self.first_tries.fail(receipt.episode.episode_id, sign)
        elif receipt.failure and receipt.status == "completed":
            self.scored_faults.add(receipt.failure, sign)
        for told in receipt.undecided:
            self.undecided.add(told, sign)

    def add_warning(self, warning: str) -> None:
        """Notes a warning of a worker, and keeps its text for the summary if it is the first of its kind."""
        kind = kind_of(warning)
        if kind in self.warnings or len(self.warnings) < MAX_WARNINGS:
            self.warnings.setdefault(kind, shorten(warning))
            self.warned_at[kind] = time.monotonic()

    @property
    def troubles(self) -> str:
        """Returns, in lines, why workers take long to start, and what they warned of lately; "" if there is nothing."""
        since = time.monotonic() - LATELY_S
        lately = [text for kind, text in self.warnings.items() if self.warned_at[kind] >= since]
        return "\n".join([self.slow_start] * bool(self.slow_start) + lately)

    @property
    def commonest_failure(self) -> str:
        """Returns the failure that the most episodes have; "unknown" if no episode has failed."""
        failures = self.failures.told()
        return failures.most_common(1)[0][0] if failures else "unknown"

    @property
    def is_hopeless(self) -> bool:
        """Says whether all episodes that this driver has played failed by the environment's own code, and its first tries
        show that others will.
        """
        return self.failed_by_code == self.finished and self.first_tries.are_hopeless

    @property
    def finished(self) -> int:
        """Returns the number of episodes finished since this driver started."""
        return self.done - self.already_done

    @property
    def elapsed_s(self) -> float:
        """Returns the seconds from the first lease until now, or until the end of the run if it has ended; 0 before the
        first lease.
        """
        if self.took_s is not None or self.began is None:
            return self.took_s or 0.0
        return time.monotonic() - self.began

    @property
    def mean_reward(self) -> float | None:
        """Returns the mean of the rewards of completed episodes that have one, earlier drivers' included; None if there
        are none.
        """
        return self.reward_sum / self.rewarded if self.rewarded else None

    @property
    def tokens_per_s(self) -> float:
        """Returns the tokens generated in episodes that finished since this driver started, per second since the first
        lease.
        """
        return (self.tokens - self.tokens_before) / max(self.elapsed_s, 1e-9)

    @property
    def remaining_s(self) -> float | None:
        """Returns the estimated seconds until all episodes are finished, at the mean speed of this driver so far; None
        before its first episode is finished.
        """
        if not self.finished:
            return None
        return (self.total - self.done) * self.elapsed_s / self.finished

    def _cost(self) -> dict[str, Any] | None:
        """Returns what the finished episodes cost, in all and by model, and what the whole run has spent; None if
        neither is known.
        """
        if not self.costs and self.spent is None:
            return None
        by_model = {model: money_in(picos) for model, picos in sorted(self.costs.items())}
        spent = None if self.spent is None else money_in(self.spent)
        return {"total": money_in(self.costs.total()), "by_model": by_model, "spent": spent}

    def summary(self) -> dict[str, Any]:
        """Returns the part of summary.json about the episodes. Counts include those of earlier drivers; speeds,
        nodes, warnings and undecided verdicts are those of this driver. `seconds` counts from the first lease to the end of the run.
        """
        return {
            "episodes": self.done,
            "of": self.total,
            "already_done": self.already_done,
            "status": dict(+self.by_status),
            "stop_reasons": dict(+self.by_stop),
            "outcomes": dict(+self.by_outcome),
            "failures": dict(self.failures.told()),
            "scored_faults": dict(self.scored_faults.told()),
            "undecided": dict(self.undecided.told().most_common()),
            "warnings": list(self.warnings.values()),
            "recovery": {
                "workers_lost": self.workers_lost,
                "episodes_resumed": self.resumed,
                "episodes_retried": self.retried,
                "calls_replayed": self.replayed_calls,
                "stale_files_refused": self.refused_files,
                "stale_journal_bytes_refused": self.refused_bytes,
            },
            "nodes": self.nodes.summary(),
            "mean_reward": self.mean_reward,
            "rewarded": self.rewarded,
            "rewards_out_of_range": self.out_of_range,
            "reward_range": [float(bound) if isfinite(bound) else None for bound in self.reward_range],
            "turns": self.turns,
            "model_calls": self.model_calls,
            "generated_tokens": self.tokens,
            "cost": self._cost(),
            "seconds": round(self.elapsed_s, 3),
            "seconds_to_first_lease": round((self.began or self.made) - self.made, 3),
            "episodes_per_s": round(self.finished / max(self.elapsed_s, 1e-9), 3),
            "tokens_per_s": round(self.tokens_per_s, 3),
        }
