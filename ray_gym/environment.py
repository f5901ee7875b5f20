"""An environment is one class that its author writes.

    class Doubling(Environment[DoublingTask, Counter]):
        '''Double a number with one tool call.'''

        participants = ("policy",)

        def setup(self, task, episode): ...
        def opening(self, task, state): ...
        @tool()
        def double(self, state, caller, number: int) -> int: ...
        def score(self, state, episode): ...

`Episode` plays the episode, and calls the methods of the environment where something has to be decided. One instance
serves all episodes of a worker, so it keeps nothing of an episode in itself: that is what the state is for.
"""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, ForwardRef, Generic, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict

from ray_gym.errors import wrong_return
from ray_gym.messages import ToolSchema
from ray_gym.rendering import Rendered
from ray_gym.score import Scored
from ray_gym.task import Opening, Task, TaskT
from ray_gym.tools.tool import Tool, tools_of

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode
    from ray_gym.episode.participant import Participant
    from ray_gym.episode.turn import Turn
    from ray_gym.models.player import Player


StateT = TypeVar("StateT")


class Options(BaseModel):
    """Options are the keys beside `id` under `environment:` in a config. Environments with options subclass it."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _task_type_of(given: Any, module: str) -> Any:
    """Returns the type of tasks that the first type in `Environment[...]` says: that of a type variable is its bound, if
    that is one of tasks (else None), that of an alias is what it names, and a name is looked up in the class's module.
    """
    if isinstance(given, TypeVar):
        bound = _task_type_of(given.__bound__, given.__module__)
        return bound if _is_of_tasks(bound) else None
    if isinstance(given, ForwardRef):
        return getattr(sys.modules.get(module), given.__forward_arg__, given)
    inner = given.__origin__ if get_origin(given) is Annotated else getattr(given, "__value__", None)
    return given if inner is None else _task_type_of(inner, module)


def _first_type(base: Any) -> Any:
    """Returns the first type that a base gives `Environment`, also by the type variables of bases between; None for none."""
    origin, types = get_origin(base), get_args(base)
    if origin is Environment:
        return types[0]
    for inner in getattr(origin, "__orig_bases__", ()):
        given = _first_type(inner)
        if given is not None:
            parameters = getattr(origin, "__parameters__", ())
            return types[parameters.index(given)] if given in parameters else given
    return None


def _is_of_tasks(given: Any) -> bool:
    return isinstance(given, type) and issubclass(given, Task)


class Environment(Generic[TaskT, StateT]):
    """An environment defines the tasks, the state, the conversation and the score of episodes.

    A subclass overrides `setup` and `score`, and each other method whose default does not fit.

    Where `participants`, `auxiliary` or `reward_range` depend on the options, set them in `__init__`, after
    `super().__init__(options)`.
    """

    participants: tuple[str, ...] = ("policy",)
    """Participants that speak, in the order of their turns."""
    auxiliary: tuple[str, ...] = ()
    """Participants without turns, which `episode.ask` asks: judges, reward models, simulators of tools. Each has
    a model in the config.
    """
    opens_outside: ClassVar[bool] = False
    """True if `setup` reaches outside of the worker (a server's session, say): then it is never called just to look at
    data.
    """
    uses_sandbox: bool = False
    """True if episodes have a sandbox (`episode.sandbox`), which `furnish` puts the task's files into."""
    pattern: ClassVar[str] = "multi-turn"
    """single-step, multi-step, multi-turn or user modelling: for the listing only."""
    scoring: ClassVar[str] = ""
    """A few words on how episodes are scored: for the listing only."""
    reward_range: tuple[float, float] = (0.0, 1.0)
    """The lowest and the highest reward that `score` gives."""
    metrics_columns: ClassVar[tuple[str, ...]] = ("status", "group_id", "task_id", "repeat", "reward", "rewards")
    """Columns of each row that `metrics` is given; `events` are most of a run, and are better left out."""
    Options: ClassVar[type[BaseModel]] = Options
    options: Any
    """The values of `Options` that the config gives."""

    task_type: ClassVar[type[Task]] = Task
    tools: ClassVar[dict[str, Tool]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "task_type" not in vars(cls):
            cls._find_task_type()
        if "tools" in vars(cls):
            raise TypeError(
                f"{cls.__name__}.tools holds what the class's own tools are: make each a method with @tool(), or return "
                "them from tools_for"
            )
        cls.tools = tools_of(cls)
        for name in cls.tools:
            if hasattr(Environment, name) or name in Environment.__annotations__:
                raise TypeError(f"{cls.__name__}: the tool {name} would replace the hook of that name; rename it")

    @classmethod
    def _find_task_type(cls) -> None:
        """Takes the type of tasks that a base of the class names, unless one that the class inherits is narrower."""
        for base in vars(cls).get("__orig_bases__", ()):
            given, inherited = _task_type_of(_first_type(base), cls.__module__), cls.task_type
            is_narrower = _is_of_tasks(given) and _is_of_tasks(inherited) and issubclass(inherited, given)
            if given not in (None, Any) and not is_narrower:
                cls.task_type = given

    def scores_groups(self) -> bool:
        """Says whether `score_group` is called instead of `score`: by default if the environment overrides it.

        Override this where an option decides.
        """
        return type(self).score_group is not Environment.score_group

    @classmethod
    def narrows(cls) -> bool:
        """Says whether the environment overrides `narrow`."""
        return cls.narrow is not Environment.narrow

    @classmethod
    def brings_tools(cls) -> bool:
        """Says whether the environment overrides `tools_for`, so that an episode may have more tools than the class."""
        return cls.tools_for is not Environment.tools_for

    @classmethod
    def renders(cls) -> bool:
        """Says whether the environment overrides `render`."""
        return cls.render is not Environment.render

    @classmethod
    def has_metrics(cls) -> bool:
        """Says whether the environment overrides `metrics`."""
        own = inspect.getattr_static(cls, "metrics")
        return own is not inspect.getattr_static(Environment, "metrics")

    def __init__(self, options: BaseModel | None = None) -> None:
        self.options = options if options is not None else self.Options()

    def __setattr__(self, name: str, value: object) -> None:
        """Sets an attribute of the object. Errors: TypeError if it would hide a hook or a tool of the class."""
        is_called = (name in self.tools or hasattr(Environment, name)) and callable(getattr(type(self), name))
        if name == "tools" or (is_called and not callable(value)):
            raise TypeError(
                f"self.{name} = {value!r:.60} would hide {type(self).__name__}.{name}: give it another name"
            )
        super().__setattr__(name, value)

    # ---- the task ----

    def generate(self, rng: random.Random, index: int) -> TaskT:
        """Returns task number `index` of an endless, seeded supply. `rng` belongs to this task alone.

        Errors: NotImplementedError if the environment has no generator.
        """
        raise NotImplementedError(f"{type(self).__name__} has no task generator: set tasks.path to a file of tasks")

    def check(self, task: TaskT) -> None:
        """Checks in a task what its schema can't. By default every task is right.

        It is called for every row of a file before a run. Errors: ValueError that names the field.
        """

    def setup(self, task: TaskT, episode: Episode) -> StateT | Awaitable[StateT]:
        """Makes the state of an episode from the task alone (and `episode.rng(name)`). May be a coroutine function."""
        raise NotImplementedError

    async def furnish(self, state: StateT, episode: Episode) -> None:
        """Puts the task's files into `episode.sandbox`, which is empty. It is called after `setup` if `uses_sandbox` is
        True, and not where somebody only looks at tasks. By default it does nothing.
        """

    def opening(self, task: TaskT, state: StateT) -> Opening:
        """Returns the system prompts, the first messages and the first speaker. It writes them from the state, so that
        the two cannot drift apart. By default there are no messages, and the policy speaks first.
        """
        return Opening()

    opening_observes: ClassVar[bool] = False
    """True if `opening` shows an observation that only the game itself makes. Then the opening comes after the messages
    of the task's row. These may be a prompt, but no earlier play, because nothing could bring the game to where an
    earlier conversation left it.
    """

    async def prepare_worker(self) -> None:
        """Checks, when a worker starts, that it can have what all episodes need from outside (a server, say). By default
        it does nothing. Errors: UserError, which ends the run at its start.
        """

    async def close(self) -> None:
        """Closes what was opened for all episodes of the worker (connections, say), when the worker ends. By default it
        does nothing.

        The environment may be used again afterwards.
        """

    def perfect(self, task: TaskT) -> Mapping[str, Player]:
        """Returns scripted players by participant (judges too) with which the policy gets the highest reward. They may
        know the task. Empty means that the environment has none.

        They are for tests and baselines.
        """
        return {}

    def tools_for(self, task: TaskT, state: StateT) -> Sequence[Tool]:
        """Returns further tools of an episode, from the task or a library (see `tool_by_schema`); they come after the
        `@tool` methods.

        It is called once, after `setup`, and the tools stay the same for the whole episode.
        """
        return ()

    # ---- the conversation ----

    async def run(self, episode: Episode) -> None:
        """Runs the control flow: turns until something stops the episode, or `next_speaker` returns None. Override it
        to do anything else.
        """
        speaker = episode.first
        while not episode.stopped:
            turn = await episode.turn(speaker)
            following = self.next_speaker(episode.state, episode, turn)
            if following is None:
                return
            if not isinstance(following, str) or following not in self.participants:
                raise wrong_return(
                    self, "next_speaker", following, f"one of {', '.join(self.participants)}, or None to end"
                )
            speaker = following

    def next_speaker(self, state: StateT, episode: Episode, turn: Turn) -> str | None:
        """Returns the participant that speaks after `turn`; None ends the episode.

        By default the participants take turns in their order, and an episode with one participant ends after one turn.
        """
        if len(self.participants) == 1:
            return None
        return self.participants[(self.participants.index(turn.speaker) + 1) % len(self.participants)]

    def relay(self, state: StateT, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        """Returns the text of the user message that tells `listener`, who is not the speaker, of an ended turn; None or
        a blank text if the listener is told nothing.

        By default the listener hears all words of the turn or, if nothing was said, the results of the calls that were
        carried out of tools that the listener may call, too. Refused calls are not told.
        """
        return turn.text or "\n".join(episode.results_for(turn, listener)) or None

    def narrow(self, tool: ToolSchema, state: StateT, caller: Participant) -> ToolSchema:
        """Returns the tool's schema as the state allows it now (only the empty cells, say); by default the whole
        schema.

        It is called before each model call, for which the narrowed schema is then valid. Prompts show the whole schema.
        `tool` is a copy, which may be changed.
        """
        return tool

    def finished(self, state: StateT, episode: Episode) -> str | None:
        """Returns the outcome if the episode is over (a text that is not blank, kept as the stop's text), else None; by
        default None.

        It is called after every step and message.
        """
        return None

    def render(self, state: StateT, episode: Episode) -> Rendered | None:
        """Returns a picture of the state for people, as `Markdown` or `Html`; None for no picture, as by default.

        It is called where `finished` is. A picture that differs from the last is recorded, and `ray-gym view` shows it
        after the event that led to it. It changes nothing: not the state, and no random number is drawn. An error in it
        fails no episode, but stands in the picture's place.
        """
        return None

    # ---- the score ----

    async def score_group(self, episodes: Sequence[Episode]) -> Sequence[Scored]:
        """Returns the scores of a group's episodes, in their order, once all are over. Episodes that failed are not
        among them.

        If it is overridden, it is called instead of `score`. It may compare the episodes by their states and events,
        and ask (`episode.ask`).
        """
        raise NotImplementedError

    def score(self, state: StateT, episode: Episode) -> Scored | Awaitable[Scored]:
        """Returns the policy's reward: a number, named parts (their sum is the reward), or a `Score`.

        May be a coroutine function.
        """
        raise NotImplementedError

    @classmethod
    def metrics(cls, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, float]:
        """Returns figures of a whole run by name, which `ray-gym show` prints; by default none.

        `rows`: a mapping for each episode, with the columns `metrics_columns` of `ray_gym.load(run).episodes`.
        """
        return {}
