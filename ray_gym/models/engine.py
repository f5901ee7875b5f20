"""An engine is a kind of model in a config: `models: {policy: {engine: NAME, ...}}`. Its parts all stand here.

Subclass `Engine` and write `connect`; override `check`, `start` and `stop` where there is something to find wrong, to
bring up and to give back. Export the class under an entry point of the group `ray_gym.engines`; `docs/extending.md` has
a whole one.

Abilities that only some engines have stand below it, each part a Protocol of its own. An engine has a part by having
its members; nothing is registered, and nothing has to be inherited:

    part        of      what it gives                                        who asks
    OnNodes     engine  GPUs and files are looked at before anything starts  `ray-gym doctor`, every start
    Served      engine  weights can be updated while it serves               a stream of a trainer
    HasDoor     engine  its replicas answer OpenAI's API                     the gateway of a service
    OpensDoor   engine  the endpoint that it stands for does                 the gateway of a service
    Gated       model   episodes wait while it has no room for them          every worker
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from ray_gym.models.door import Door
from ray_gym.models.model import Model, Sampling
from ray_gym.models.placement import Replicas


class NoOptions(BaseModel):
    """Takes nothing beside `engine`."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class EngineCheck:
    """Tells an engine what the participants will ask of it: `samplings` by participant, and whether any of them has
    tools.

    `episodes` is how many are in flight at most; None means that nobody can say, as in a service.
    """

    model: str
    """Its name under `models` in the config."""
    samplings: dict[str, Sampling]
    uses_tools: bool
    episodes: int | None = None


class Engine(ABC):
    """Is a named model of the config: it comes up, lets workers reach it, and goes away.

    The driver makes it from its options, checks and starts it; it is then pickled to the workers, which only `connect`.
    """

    Options: ClassVar[type[BaseModel]] = NoOptions
    """The keys beside `engine` in the config."""

    def __init__(self, options: Any) -> None:
        """Keeps the options, an instance of `Options`."""
        self.options = options

    @property
    def gives_tokens(self) -> bool:
        """Says whether its completions hold the exact token ids and their logprobs: only then there are samples.

        A subclass may also write `gives_tokens = True`; so it is with `reshapes`.
        """
        return False

    @property
    def reshapes(self) -> str:
        """Says what its options do to the distribution that tokens are drawn from, beyond a participant's sampling.

        Empty where they do nothing to it.
        """
        return ""

    def check(self, request: EngineCheck) -> None:
        """Finds what can be found wrong before anything starts.

        Errors: UserError that names `models.{request.model}` and the field.
        """
        return None

    def gpus(self) -> float:
        """Returns how many GPUs `start` will ask the cluster for."""
        return 0

    def start(self, run_id: str, name: str, say: Callable[[str], None]) -> None:
        """Brings the model up, or finds it up; `say` tells the user. Blocks. Errors: UserError, RunFailed."""
        return None

    @abstractmethod
    def connect(self) -> Model:
        """Makes a connection to the model, for one process. Called after `start`, in each worker."""

    def stop(self) -> None:
        """Gives back what `start` took. Called however the run ended."""
        return None


# ---- parts of an engine ----


@runtime_checkable
class OnNodes(Protocol):
    """Describes an engine that places replicas on nodes of the cluster."""

    def placed(self) -> Sequence[Replicas]:
        """Returns the replicas that `start` will put on nodes; none where it attaches to an application that is up."""
        ...

    def missing_files(self) -> str | None:
        """Says, on a node, which files of a replica can't be read there, and what to do; None if all can."""
        ...


@runtime_checkable
class Served(Protocol):
    """Describes an engine whose model is a Serve application."""

    @property
    def app(self) -> str:
        """Returns the name of the application, once it was started."""
        ...


@runtime_checkable
class HasDoor(Protocol):
    """Describes an engine whose replicas speak OpenAI's protocol themselves, by a method `openai`."""

    @property
    def door(self) -> str:
        """Returns the Serve application of its replicas, once it was started."""
        ...


@runtime_checkable
class OpensDoor(Protocol):
    """Describes an engine that stands for an endpoint, which speaks OpenAI's protocol."""

    passes: tuple[str, ...]
    """Paths that go to the endpoint as they are."""

    def open_door(self) -> Door: ...


# ---- a part of what `connect` gives ----


@runtime_checkable
class Gated(Protocol):
    """Describes a model that may have no room for more episodes."""

    @property
    def is_gated(self) -> bool: ...

    async def room(self, conversations: float) -> float:
        """Returns for how many more episodes there is room, while all workers together have `conversations` in flight.

        Infinity means that nobody can say.
        """
        ...
