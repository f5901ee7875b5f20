"""Defines the orders that the holder of a model's weights gives to its replicas, and what they answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ray_gym.weights.checkpoint import Checkpoint

PauseMode = Literal["wait", "keep", "abort"]


@dataclass(frozen=True, slots=True)
class CheckWeights:
    """This order is to check whether the weights fit the model, as far as can be told while it serves."""

    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class PauseServing:
    """This order is to generate no token any more, and to leave nothing in the KV cache.

    A replica gives up after `within_s` seconds, and can be resumed then.
    """

    mode: PauseMode
    within_s: float


@dataclass(frozen=True, slots=True)
class LoadWeights:
    """This order is to load weights."""

    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class Confirm:
    """This order is to confirm that the engine has this version, and that its prefix cache is empty."""

    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class ResumeServing:
    """This order is to serve again."""

    pass


@dataclass(frozen=True, slots=True)
class Transfer:
    """This order is a step of vLLM's own weight transfer; `info` is this replica's, by its place among all of them."""

    step: Literal["init", "start", "update", "finish"]
    info: Any = None
    version: int = 0
    """Version of the weights that are transferred, for `finish`."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """This order is to give the GPU's memory to a trainer on the same one.

    Level 1 keeps the weights in the machine's memory, 2 keeps nothing.
    """

    level: int


@dataclass(frozen=True, slots=True)
class WakeUp:
    """This order is to take the GPU's memory back.

    `tags` names a part (`weights`, `kv_cache`); None: all. The replica serves again when all is back.
    """

    tags: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Wait:
    """There is nothing to do at the moment: ask again."""


@dataclass(frozen=True, slots=True)
class CatchUp:
    """Tells a replica that joins with other weights than the others serve: load these, then join again."""

    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class Admitted:
    """Tells a replica that joined: it may serve, and updates include it."""


Task = CheckWeights | PauseServing | LoadWeights | Confirm | ResumeServing | Transfer | Sleep | WakeUp


@dataclass(frozen=True, slots=True)
class Order:
    """An order is a task with a number, which the answer repeats."""

    number: int
    task: Task


@dataclass(frozen=True, slots=True)
class Joining:
    """This report says what a replica has when it joins.

    It may have lost sight of the holder in the middle of an update.
    """

    version: int
    paused: bool


@dataclass(frozen=True, slots=True)
class OrderAnswer:
    """This report answers an order; `error` says what went wrong."""

    number: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    """This report asks for the next order."""

    pass


ReplicaReport = Joining | OrderAnswer | Ready
