"""Defines the base class of engines, and the protocols of their optional abilities.

An engine is a kind of model in a config: `models: {policy: {engine: NAME, ...}}`. Subclass `Engine` and write
`connect`; override `check`, `start` and `stop` where there is something to check, to start and to release. Export the
class under an entry point of the group `ray_gym.engines`. `docs/extending.md` has a complete example.

Each ability that only some engines have is a Protocol of its own. An engine has the ability if it has the Protocol's
members; nothing is registered, and nothing has to be inherited:

    protocol    of      ability                                              used by
    OnNodes     engine  GPUs and files are checked before anything starts    `ray-gym doctor`, every start
    Served      engine  weights can be updated while it serves               a stream of a trainer
    OnAnother   engine  it is a line of adapters on another model            every start, a stream of a trainer
    HasDoor     engine  its replicas answer OpenAI's API                     the gateway of a service
    OpensDoor   engine  requests in OpenAI's formats go to its endpoint      the gateway of a service
    Tokenizing  engine  trainers can compare its tokenizer with theirs       the gateway of a service
    Gated       model   episodes wait while it has no room for them          every worker
    Counting    model   it counts the tokens of prompts                      the Messages API of a service
    Sized       model   agents' programs are told how long its context is,   every worker
                        and limits reserve no more for a call
    Paced       model   calls are kept within its limits a minute            every worker
    Warns       model   what goes wrong with its calls is told to the user   every worker
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from ray_gym.errors import UserError
from ray_gym.models.door import Door
from ray_gym.models.model import CompletionRequest, Model, Sampling
from ray_gym.models.placement import Replicas
from ray_gym.models.rates import RateLimit
from ray_gym.models.tokenizers import TokenizerDigest


class NoOptions(BaseModel):
    """Accepts no keys of a config beside `engine`."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class EngineCheck:
    """Tells an engine what the participants will ask of it: `samplings` by participant, and whether any of them has
    tools.

    `episodes` is the largest number of episodes in flight; None means that it is not known, as in a service. What is
    asked of lines of adapters (`OnAnother`) is asked of the model below them, too. `engines` are those of the config's
    models in use, by name.
    """

    model: str
    """Name of the model under `models` in the config."""
    samplings: dict[str, Sampling]
    uses_tools: bool
    episodes: int | None = None
    engines: Mapping[str, Engine] = field(default_factory=dict)


class Engine(ABC):
    """An engine checks, starts and stops one model that the config names, and connects processes to it.

    The driver creates it from its options, checks it and starts it. It is then pickled to the workers, which only call
    `connect`.
    """

    Options: ClassVar[type[BaseModel]] = NoOptions
    """Class of the options: the keys beside `engine` in the config."""

    def __init__(self, options: Any) -> None:
        """Keeps the options, an instance of `Options`."""
        self.options = options

    @property
    def gives_tokens(self) -> bool:
        """Returns True if the model's completions hold the exact token ids and their logprobs, without which there are
        no samples. By default returns False.

        A subclass may also write `gives_tokens = True` in place of a property. The same holds for `tells_versions` and
        `reshapes`.
        """
        return False

    @property
    def tells_versions(self) -> bool:
        """Returns False if the model's completions don't say which version of the weights their tokens came from. Then
        they count as of the version that was told last when the call began, 0 if none was (`Stream.advance`). By
        default returns True.
        """
        return True

    @property
    def reshapes(self) -> str:
        """Returns a description of those options that change the distribution which tokens are drawn from, beyond a
        participant's sampling. It is "" if there are none, which is the default.
        """
        return ""

    def check(self, request: EngineCheck) -> None:
        """Checks, before anything starts, all that can be checked then. By default nothing is.

        Errors: UserError that names `models.{request.model}` and the field.
        """
        return None

    def gpus(self) -> float:
        """Returns the number of GPUs that `start` will ask the cluster for, by default 0."""
        return 0

    def start(self, run_id: str, name: str, say: Callable[[str], None]) -> None:
        """Starts the model, or takes over one that is up, and blocks until it is ready. By default does nothing. `say`
        shows a line to the user. Errors: UserError for mistakes in the config, RunFailed if the model does not come up.
        """
        return None

    @abstractmethod
    def connect(self) -> Model:
        """Returns a connection of this process to the model. It is called after `start`, in each worker."""

    def stop(self) -> None:
        """Releases what `start` has taken. By default does nothing. It is called however the run ended."""
        return None


# ---- parts of an engine ----


@runtime_checkable
class OnNodes(Protocol):
    """Describes an engine that places replicas on nodes of the cluster."""

    def placed(self) -> Sequence[Replicas]:
        """Returns the replicas that `start` will put on nodes; an empty list if it attaches to an application that is
        up.
        """
        ...

    def missing_files(self) -> str | None:
        """Returns a message about the files of a replica that can't be read on this node, and what to do; None if all
        can be read.
        """
        ...


@runtime_checkable
class Served(Protocol):
    """Describes an engine whose model is a Serve application."""

    @property
    def app(self) -> str:
        """Returns the name of the application. It is known once the engine was started."""
        ...


@runtime_checkable
class OnAnother(Protocol):
    """Describes an engine whose model is a line of adapters on another model of the config, which starts before it."""

    @property
    def of(self) -> str:
        """Returns the name of the other model in the config."""
        ...

    @property
    def line(self) -> str:
        """Returns the name of the line. It is known once the engine was checked."""
        ...


@runtime_checkable
class HasDoor(Protocol):
    """Describes an engine whose replicas speak OpenAI's protocol themselves, by a method `openai`."""

    @property
    def door(self) -> str:
        """Returns the name of the Serve application of its replicas. It is known once the engine was started."""
        ...


@runtime_checkable
class OpensDoor(Protocol):
    """Describes an engine that connects to an endpoint, which speaks OpenAI's protocol."""

    passes: tuple[str, ...]
    """Paths of requests that are forwarded to the endpoint."""

    def open_door(self) -> Door: ...


@runtime_checkable
class Tokenizing(Protocol):
    """Describes an engine whose model has a tokenizer."""

    def tokenizer(self) -> TokenizerDigest:
        """Returns the digest of the model's tokenizer. It is called after `start`, in any process, and blocks for at
        most half a minute. Errors: EpisodeFailure (infra) if the model can't be reached.
        """
        ...


def line_of(engine: Engine) -> str:
    """Returns the name of the line that an engine's model is; "" for a model with weights of its own."""
    return engine.line if isinstance(engine, OnAnother) else ""


def models_on(name: str, engines: Mapping[str, Engine]) -> set[str]:
    """Returns the names of a model and of the lines of adapters on it."""
    return {name} | {line for line, engine in engines.items() if isinstance(engine, OnAnother) and engine.of == name}


def bases_first(names: Iterable[str], known: Container[str], make: Callable[[str], Engine]) -> dict[str, Engine]:
    """Makes the engines of models, and of the models below those that are lines of adapters, which come first: they are
    started in this order.

    `known`: names of the models of the config. `make`: makes the engine of a model. Errors: UserError for a line on a
    model that is not in the config; those of `make`.
    """
    made = {name: make(name) for name in names}
    for name, engine in list(made.items()):
        if isinstance(engine, OnAnother) and engine.of not in made:
            if engine.of not in known:
                raise UserError(f"models.{name}.of: there is no model {engine.of!r} under models")
            made[engine.of] = make(engine.of)
    return dict(sorted(made.items(), key=lambda item: isinstance(item[1], OnAnother)))


# ---- parts of what `connect` gives ----


@runtime_checkable
class Gated(Protocol):
    """Describes a model that may be too busy for more episodes."""

    @property
    def is_gated(self) -> bool: ...

    async def room(self, conversations: float) -> float:
        """Returns how many more episodes the model has room for, while all workers together have `conversations`
        episodes in flight.

        It is infinite if the model has no limits, or can't be asked.
        """
        ...


@runtime_checkable
class Counting(Protocol):
    """Describes a model that may be able to count the tokens of prompts, since it has the chat template here."""

    @property
    def counts_tokens(self) -> bool: ...

    async def count_tokens(self, request: CompletionRequest) -> int:
        """Returns the number of tokens of a request's prompt. Errors: EpisodeFailure: infra if the model can't be
        reached, data if its template refuses the request.
        """
        ...


@runtime_checkable
class Sized(Protocol):
    """Describes a model that may know how long its context is."""

    async def context_tokens(self) -> int | None:
        """Returns the largest length of prompt and answer together, in tokens; None if that is not known, or the model
        can't be reached.
        """
        ...


@runtime_checkable
class Paced(Protocol):
    """Describes a model whose endpoint takes only so many requests or tokens a minute."""

    @property
    def rate(self) -> RateLimit | None:
        """Returns the limit of this worker's calls; None if there is none."""
        ...


@runtime_checkable
class Warns(Protocol):
    """Describes a model that notices what a run's user should know while calls go on, such as an endpoint that is down."""

    def take_warnings(self) -> list[str]:
        """Returns the warnings since the last call, without secrets. The run shows them, those alike once a minute."""
        ...
