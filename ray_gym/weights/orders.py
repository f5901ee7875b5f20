"""Defines the orders that the holder of a model's weights gives to its replicas, and their reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ray_gym.weights.checkpoint import Checkpoint
from ray_gym.weights.lines import ServedLines

PauseMode = Literal["wait", "keep", "abort"]


@dataclass(frozen=True, slots=True)
class CheckWeights:
    """Orders a replica to check that weights fit the model, as far as that can be checked while it serves."""

    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class PauseServing:
    """Orders a replica to generate no more tokens, and to leave nothing in the KV cache.

    A replica gives up after `within_s` seconds, and can be resumed then.
    """

    mode: PauseMode
    within_s: float


@dataclass(frozen=True, slots=True)
class LoadWeights:
    """Orders a replica to load weights. A checkpoint of a line without an adapter takes the line's adapter away."""

    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class Confirm:
    """Orders a replica to check that its engine has this version, and that its prefix cache is empty."""

    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class ResumeServing:
    """Orders a replica to serve again."""

    pass


@dataclass(frozen=True, slots=True)
class Transfer:
    """Orders a replica to do a step of vLLM's own weight transfer. `info` holds this replica's arguments, which depend
    on its place in the group.
    """

    step: Literal["init", "start", "update", "finish"]
    info: Any = None
    version: int = 0
    """Version of the weights that are transferred, for `finish`."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """Orders a replica to give its GPUs' memory to a trainer on the same GPUs.

    Level 1 keeps the weights in the machine's memory, level 2 does not keep them.
    """

    level: int


@dataclass(frozen=True, slots=True)
class WakeUp:
    """Orders a replica to take its GPUs' memory back.

    `tags` names parts (`weights`, `kv_cache`); None means all. The replica serves again when it has all of it.
    """

    tags: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Wait:
    """Tells a replica that there is no order at the moment, and that it should ask again."""


@dataclass(frozen=True, slots=True)
class CatchUp:
    """Tells a replica to load what is served, and then to join again: it has other weights or adapters, or is paused."""

    served: ServedLines


@dataclass(frozen=True, slots=True)
class Admitted:
    """Tells a replica that it has joined: it may serve, and updates include it."""


Task = CheckWeights | PauseServing | LoadWeights | Confirm | ResumeServing | Transfer | Sleep | WakeUp


@dataclass(frozen=True, slots=True)
class Order:
    """Holds a task for a replica with a number, which the replica's answer repeats."""

    number: int
    task: Task


@dataclass(frozen=True, slots=True)
class Joining:
    """Reports that a replica wants to join, with the weight versions that it has (`ServedLines.versions`), and whether
    it is paused.

    It may have lost the holder in the middle of an update.
    """

    versions: dict[str, int]
    paused: bool


@dataclass(frozen=True, slots=True)
class OrderAnswer:
    """Reports that an order was carried out, or why not: `error` is the message, None if it was."""

    number: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """Reports that a replica waits for its next order."""

    pass


ReplicaReport = Joining | OrderAnswer | Ready
