"""Counts what happens while a run goes on: for the progress line, the closing summary and summary.json."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ray_gym.run.worker.receipt import Receipt

MAX_OUTCOMES = 50
"""Number of distinct stop texts that are counted, so that an environment whose texts are all different fills no memory.
"""
MAX_FAILURES = 20


@dataclass(slots=True)
class NodeShares:
    """Counts, for each node, the workers that were on it and the episodes of theirs that were committed."""

    addresses: dict[str, str] = field(default_factory=dict)
    """Addresses of all nodes, by id."""
    _workers: dict[str, str] = field(default_factory=dict)
    _episodes: Counter[str] = field(default_factory=Counter)

    def add_worker(self, worker: str, node: str) -> None:
        self._workers[worker] = node

    def count_committed(self, worker: str, episodes: int) -> None:
        self._episodes[self._workers.get(worker, "")] += episodes

    def summary(self) -> list[dict[str, Any]]:
        workers = Counter(self._workers.values())
        return [
            {"node": node, "address": self.addresses.get(node, ""), "workers": count, "episodes": self._episodes[node]}
            for node, count in sorted(workers.items(), key=lambda item: (self.addresses.get(item[0], ""), item[0]))
        ]


@dataclass
class Tally:
    total: int
    already_done: int = 0
    tokens_before: int = 0
    done: int = 0
    rewarded: int = 0
    reward_sum: float = 0.0
    tokens: int = 0
    model_calls: int = 0
    turns: int = 0
    workers_lost: int = 0
    resumed: int = 0
    """Number of episodes that were resumed from what an older attempt had recorded."""
    retried: int = 0
    """Number of episodes that were played from their start more than once."""
    replayed_calls: int = 0
    refused_files: int = 0
    refused_bytes: int = 0
    by_status: Counter[str] = field(default_factory=Counter)
    by_stop: Counter[str] = field(default_factory=Counter)
    by_outcome: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    nodes: NodeShares = field(default_factory=NodeShares)
    """Shares of the nodes since this driver started."""
    made: float = field(default_factory=time.monotonic)
    began: float | None = None
    took_s: float | None = None

    def start(self) -> None:
        """Takes the time of the first lease: from here on the figures show the run's own speed."""
        if self.began is None:
            self.began = time.monotonic()

    @staticmethod
    def of_resumed(total: int, done: Iterable[Receipt]) -> Tally:
        """Makes the tally of a run of which some episodes are committed already."""
        tally = Tally(total)
        for receipt in done:
            tally.add(receipt)
        tally.already_done, tally.tokens_before = tally.done, tally.tokens
        return tally

    def add(self, receipt: Receipt, sign: int = 1) -> None:
        """Counts an episode; `sign` -1 takes it back, when its row was lost with a worker."""
        self.done += sign
        self.tokens += sign * receipt.tokens
        self.model_calls += sign * receipt.model_calls
        self.turns += sign * receipt.turns
        self.resumed += sign * (receipt.replayed > 0)
        self.retried += sign * (receipt.try_ > 0)
        self.replayed_calls += sign * receipt.replayed
        self.by_status[receipt.status] += sign
        self.by_stop[receipt.stop_reason] += sign
        if receipt.reward is not None and receipt.status == "completed":
            self.rewarded += sign
            self.reward_sum += sign * receipt.reward
        outcome = receipt.stop_text if receipt.stop_reason == "finished" else ""
        if outcome and (outcome in self.by_outcome or len(self.by_outcome) < MAX_OUTCOMES):
            self.by_outcome[outcome] += sign
        if receipt.failure and (receipt.failure in self.failures or len(self.failures) < MAX_FAILURES):
            self.failures[receipt.failure] += sign

    @property
    def commonest_failure(self) -> str:
        return self.failures.most_common(1)[0][0] if self.failures else "unknown"

    @property
    def finished(self) -> int:
        """Counts the episodes finished since this driver started."""
        return self.done - self.already_done

    @property
    def elapsed_s(self) -> float:
        if self.took_s is not None or self.began is None:
            return self.took_s or 0.0
        return time.monotonic() - self.began

    @property
    def mean_reward(self) -> float | None:
        return self.reward_sum / self.rewarded if self.rewarded else None

    @property
    def tokens_per_s(self) -> float:
        return (self.tokens - self.tokens_before) / max(self.elapsed_s, 1e-9)

    @property
    def remaining_s(self) -> float | None:
        if not self.finished:
            return None
        return (self.total - self.done) * self.elapsed_s / self.finished

    def summary(self) -> dict[str, Any]:
        """Returns what summary.json says of the episodes; seconds count from the first lease to the last commit."""
        return {
            "episodes": self.done,
            "of": self.total,
            "already_done": self.already_done,
            "status": dict(+self.by_status),
            "stop_reasons": dict(+self.by_stop),
            "outcomes": dict(+self.by_outcome),
            "failures": dict(+self.failures),
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
            "turns": self.turns,
            "model_calls": self.model_calls,
            "generated_tokens": self.tokens,
            "seconds": round(self.elapsed_s, 3),
            "seconds_to_first_lease": round((self.began or self.made) - self.made, 3),
            "episodes_per_s": round(self.finished / max(self.elapsed_s, 1e-9), 3),
            "tokens_per_s": round(self.tokens_per_s, 3),
        }
