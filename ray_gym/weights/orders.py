"""What the holder of a model's weights tells its replicas to do, and what they answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ray_gym.weights.checkpoint import Checkpoint

PauseMode = Literal["wait", "keep", "abort"]


@dataclass(frozen=True, slots=True)
class Check:
    """Whether the weights fit the model, as far as can be told while it serves."""

    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class Pause:
    """No token is generated after that, and nothing is left in the KV cache. A replica gives up after so long, and can be resumed then."""

    mode: PauseMode
    within_s: float


@dataclass(frozen=True, slots=True)
class Load:
    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class Confirm:
    """That this version is what the engine has, and that its prefix cache is empty."""

    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class Resume:
    pass


@dataclass(frozen=True, slots=True)
class Transfer:
    """A step of vLLM's own weight transfer; `info` is this replica's, by its place among all of them."""

    step: Literal["init", "start", "update", "finish"]
    info: Any = None
    version: int = 0
    """What is transferred, for `finish`."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """Give the GPU's memory to a trainer on the same one. Level 1 keeps the weights in the machine's memory, 2 keeps nothing."""

    level: int


@dataclass(frozen=True, slots=True)
class WakeUp:
    """`tags`: only that part (`weights`, `kv_cache`); None: all. It serves again when all is back."""

    tags: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do at the moment: ask again."""


@dataclass(frozen=True, slots=True)
class CatchUp:
    """To a replica that joins with other weights than the others serve: load these, then join again."""

    checkpoint: Checkpoint


@dataclass(frozen=True, slots=True)
class Admitted:
    """To a replica that joined: it may serve, and updates include it."""


Task = Check | Pause | Load | Confirm | Resume | Transfer | Sleep | WakeUp


@dataclass(frozen=True, slots=True)
class Order:
    number: int
    task: Task


@dataclass(frozen=True, slots=True)
class Joining:
    """A replica says what it has. It may have lost sight of the holder in the middle of an update."""

    version: int
    paused: bool


@dataclass(frozen=True, slots=True)
class Answer:
    number: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Ready:
    pass


Report = Joining | Answer | Ready
