"""Defines a receipt, which tells the driver of a finished episode. Everything else is in the episode's row."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ray_gym.logs import about
from ray_gym.messages import utf8
from ray_gym.printable import cut
from ray_gym.run.lease import EpisodeKey, ids_of

logger = logging.getLogger(__name__)

COLUMNS = (
    "episode_id",
    "try",
    "attempt",
    "status",
    "stop_reason",
    "stop_text",
    "failure",
    "reward",
    "rewards",
    "turns",
    "usage",
    "costs",
)
"""Columns of a row from which a receipt is made."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """Summarises one finished attempt at an episode."""

    episode: EpisodeKey
    status: str
    stop_reason: str
    stop_text: str
    """First 80 characters of the stop's text."""
    failure: str | None
    """Kind, place and message of the failure, cut if they are long; None if there is none."""
    reward: float | None
    tokens: int
    """Generated tokens of all participants."""
    model_calls: int
    turns: int
    """Turns of the policy."""
    try_: int = 0
    """Number of the try, from 0."""
    replayed: int = 0
    """Number of calls that the last attempt answered from the journal."""
    costs: tuple[tuple[str, float], ...] = ()
    """Cost of each participant's calls that has a price, with its model."""
    versions: tuple[tuple[str, int], ...] = ()
    """Oldest version of the weights that generated trainable tokens, by model."""
    others: tuple[float, ...] = ()
    """Rewards of the other participants."""
    undecided: tuple[str, ...] = ()
    """Functions of graders that gave no verdict, each with the reason, cut if it is long."""


def receipt_of(
    row: Mapping[str, Any],
    replayed: int = 0,
    versions: tuple[tuple[str, int], ...] = (),
    undecided: Iterable[str] = (),
) -> Receipt:
    """Makes the receipt of a row, which must have the columns `COLUMNS`. The row does not have the fields `replayed`,
    `versions` and `undecided`, so they are passed.
    """
    usage, failure = row["usage"] or {}, row["failure"]
    return Receipt(
        episode=EpisodeKey(row["episode_id"], row["attempt"]),
        status=row["status"],
        stop_reason=row["stop_reason"] or "",
        stop_text=utf8(row["stop_text"] or "")[:80],
        failure=cut(utf8(f"{failure['kind']} in {failure['where']}: {failure['message']}")) if failure else None,
        reward=row["reward"],
        tokens=usage.get("generated_tokens") or 0,
        model_calls=usage.get("model_calls") or 0,
        turns=row["turns"] or 0,
        try_=row["try"],
        replayed=replayed,
        costs=tuple((cost["model"], cost["cost"]) for cost in row["costs"] or ()),
        versions=versions,
        others=tuple(
            one["value"] for one in row["rewards"] or () if one["name"] == "reward" and one["participant"] != "policy"
        ),
        undecided=tuple(cut(utf8(told)) for told in undecided),
    )


def log_end(receipt: Receipt) -> None:
    """Logs the end of an episode, as a warning if it failed, and at level debug otherwise."""
    level = logging.WARNING if receipt.status == "failed" else logging.DEBUG
    if logger.isEnabledFor(level):
        with about(**ids_of(receipt.episode)):
            logger.log(level, "the episode is %s: %s", receipt.status, receipt.failure or receipt.stop_reason)
