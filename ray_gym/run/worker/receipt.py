"""Defines a receipt: what the driver learns of a finished episode. Everything else is in the episode's row."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ray_gym.episode.thread import Thread
from ray_gym.logs import about
from ray_gym.messages import utf8
from ray_gym.run.driver.lease import EpisodeKey, ids_of

logger = logging.getLogger(__name__)

COLUMNS = ("episode_id", "try", "attempt", "status", "stop_reason", "stop_text", "failure", "reward", "turns", "usage")
"""Columns of a row that a receipt is made of."""


@dataclass(frozen=True, slots=True)
class Receipt:
    episode: EpisodeKey
    status: str
    stop_reason: str
    stop_text: str
    failure: str | None
    reward: float | None
    tokens: int
    model_calls: int
    turns: int
    try_: int = 0
    replayed: int = 0
    """Number of calls that its last attempt had answered from the journal."""
    versions: tuple[tuple[str, int], ...] = ()
    """Oldest weight version of its trainable tokens, by model."""


def receipt_of(row: Mapping[str, Any], replayed: int = 0, versions: tuple[tuple[str, int], ...] = ()) -> Receipt:
    """Makes the receipt of a row, which has at least the columns `COLUMNS`."""
    usage, failure = row["usage"] or {}, row["failure"]
    return Receipt(
        episode=EpisodeKey(row["episode_id"], row["attempt"]),
        status=row["status"],
        stop_reason=row["stop_reason"] or "",
        stop_text=utf8(row["stop_text"] or "")[:80],
        failure=utf8(f"{failure['kind']} in {failure['where']}: {failure['message']}") if failure else None,
        reward=row["reward"],
        tokens=usage.get("generated_tokens") or 0,
        model_calls=usage.get("model_calls") or 0,
        turns=row["turns"] or 0,
        try_=row["try"],
        replayed=replayed,
        versions=versions,
    )


def log_end(receipt: Receipt) -> None:
    level = logging.WARNING if receipt.status == "failed" else logging.DEBUG
    if logger.isEnabledFor(level):
        with about(**ids_of(receipt.episode)):
            logger.log(level, "the episode is %s: %s", receipt.status, receipt.failure or receipt.stop_reason)


def oldest_versions(threads: Iterable[Thread]) -> tuple[tuple[str, int], ...]:
    """Returns the oldest weight version of trainable tokens, by model."""
    oldest: dict[str, int] = {}
    for thread in threads:
        for sample in thread.ledger.samples if thread.participant.trainable else ():
            if sample.versions:
                model, version = thread.participant.model, min(span.version for span in sample.versions)
                oldest[model] = min(version, oldest.get(model, version))
    return tuple(oldest.items())
