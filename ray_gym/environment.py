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
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict

from ray_gym.errors import wrong_return
from ray_gym.messages import ToolSchema
from ray_gym.near_names import is_used, misspelt, written_otherwise
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


class Environment(Generic[TaskT, StateT]):
    """An environment defines the tasks, the state, the conversation and the score of episodes.

    A subclass overrides `setup` and `score`, and each other method whose default does not fit.

    Where `participants`, `auxiliary` or `reward_range` depend on the options, set them in `__init__`.
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

    task_type: ClassVar[type[Task]] = Task
    tools: ClassVar[dict[str, Tool]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for base in cls.__dict__.get("__orig_bases__", ()):  # its own: a subclass may name another `task_type`
            arguments = get_args(base)
            if get_origin(base) is Environment and isinstance(arguments[0], type) and issubclass(arguments[0], Task):
                cls.task_type = arguments[0]
        cls.tools = tools_of(cls)
        for name in cls.tools:
            if hasattr(Environment, name):
                raise TypeError(f"{cls.__name__}: the tool {name} would replace the hook of that name; rename it")

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
        return not _is_left(cls, "metrics")

    @classmethod
    def wrong_hooks(cls) -> list[str]:
        """Returns a line for each hook that the class has to define and does not, for each method or attribute whose
        name is near to that of a hook that its class leaves as it is, and for each hook that can't be called as one (async
        or a generator where it may not be, other parameters, no function); empty if all is well.
        """
        left = [hook for hook in _HOOKS if _is_left(cls, hook)]
        near = {name: hook for base in cls.__mro__ for name, hook in _near(cls, base).items()}
        lines = [f"{cls.__name__}.{name} is near to the hook {hook}: rename one" for name, hook in near.items()]
        required = {"setup": ("setup",), "score": ("score", "score_group")}
        missing = [name for name, any_of in required.items() if set(any_of) <= set(left) - set(near.values())]
        lines += [f"{cls.__name__} defines no {name}, which every environment has to" for name in missing]
        lines += [f"{cls.__name__}.{hook} {why}" for hook in _HOOKS if (why := _unfit(cls, hook))]
        return lines + [f"{cls.__name__}.{name} {why}" for name, why in _wrong_attributes(cls)]

    def __init__(self, options: BaseModel | None = None) -> None:
        self.options: Any = options if options is not None else self.Options()

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
        """
        return tool

    def finished(self, state: StateT, episode: Episode) -> str | None:
        """Returns the outcome if the episode is over (kept as the stop's text), else None; by default None.

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


_HOOKS = [name for name in vars(Environment) if not name.startswith("_") and callable(getattr(Environment, name))]
_CLASSES = [name for name in _HOOKS if isinstance(getattr(Environment, name), type)]
_ATTRIBUTES = [name for name in vars(Environment) if not name.startswith("_") and name not in _HOOKS]
_RESERVED_WORDS = (
    *("generate", "opening", "relay", "narrow", "next_speaker", "tools_for", "metrics"),
    *("furnish", "score_group"),
)
"""Hooks that nobody but a run calls, so that a method with their words and parameters was meant for them. Words of other
hooks are common in helpers (`check_answer`, `score_one`).
"""
_MAY_BE_ASYNC = ("setup", "score")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _near(cls: type[Environment[Any, Any]], base: type) -> dict[str, str]:
    """Returns the names that a class of an environment's line defines and that are near to a hook's or an attribute's
    which the class itself leaves as it is, each with the name that it is near to.
    """
    if base in Environment.__mro__:
        return {}
    own = [name for name in vars(base) if not name.startswith("_") and not hasattr(Environment, name)]
    near = {}
    for name in own:
        if name not in cls.tools:
            left = [hook for hook in _hooks_like(getattr(base, name)) if hook not in vars(base)]
            if hook := misspelt(name, left) or _meant(cls, base, name, left):
                near[name] = hook
    return near


def _hooks_like(value: object) -> list[str]:
    """Returns the hooks and attributes that a value can be meant for: a class, a method, or any other value."""
    if isinstance(value, type):
        return _CLASSES
    return [hook for hook in _HOOKS if hook not in _CLASSES] if callable(value) else [*_ATTRIBUTES, "task_type"]


def _meant(cls: type[Environment[Any, Any]], base: type, name: str, left: Sequence[str]) -> str | None:
    """Returns the hook in `left` for which a name was probably meant that has its words: no method of the class uses the
    name. None if there is none.
    """
    if is_used(name, (one for one in cls.__mro__ if one not in Environment.__mro__)):
        return None
    return written_otherwise(name, left) or _hook_within(cls, base, name)


def _hook_within(cls: type[Environment[Any, Any]], base: type, name: str) -> str | None:
    """Returns the hook for which a method of a class was probably meant, like `get_opening` for `opening`: its words are
    in the method's name, the method has its parameters, and the class leaves both it and `run`, which might call the
    method, as they are. Beside hooks that are common words, the name has only words of parameters (`check_task`). None if
    there is none.
    """
    for hook in _hooks_like(getattr(base, name)) if _is_left(cls, "run") and callable(getattr(base, name)) else ():
        if f"_{hook}_" in f"_{name}_" and _is_left(cls, hook):
            expected, own = _parameters(Environment, hook), _parameters(base, name)
            if expected is None or own is None or list(own.parameters) != list(expected.parameters):
                continue
            others = f"_{name}_".replace(f"_{hook}_", "_").strip("_").split("_")
            if hook in _RESERVED_WORDS or set(others) <= set(expected.parameters):
                return hook
    return None


def _is_left(cls: type[Environment[Any, Any]], hook: str) -> bool:
    """Says whether a class leaves a hook as it is."""
    return _function(cls, hook) is _function(Environment, hook)


def _unfit(cls: type[Environment[Any, Any]], hook: str) -> str | None:
    """Returns why a hook of a class can't be called as a hook; None if it can."""
    function = _function(cls, hook)
    if isinstance(_function(Environment, hook), type):
        return None  # an attribute that is a class
    if not callable(function):
        return f"is the name of a hook, and no function (found {function!r:.60})"
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return "has a yield: return the value instead"
    if hook == "metrics" and isinstance(inspect.getattr_static(cls, hook), FunctionType):
        return "is called on the class: write @classmethod above it"
    is_async = inspect.iscoroutinefunction(_function(Environment, hook)) or hook in _MAY_BE_ASYNC
    if inspect.iscoroutinefunction(function) and not is_async:
        return "is async, and nothing awaits it: write it without async"
    expected, own = _parameters(Environment, hook), _parameters(cls, hook)
    if expected is not None and own is not None:
        try:
            own.bind(*expected.parameters)
        except TypeError:
            fits = False
        else:
            fits = [name for name in own.parameters if name in expected.parameters] == [
                name for name in expected.parameters if name in own.parameters
            ]
        if not fits:
            return f"takes ({', '.join(own.parameters)}), and is called with ({', '.join(expected.parameters)})"
    return None


def _wrong_attributes(cls: type[Environment[Any, Any]]) -> Iterator[tuple[str, str]]:
    """Yields the attributes of a class that are not of their kind, each with what it has to be. One that is a property
    is known only when there is an object.
    """
    for name in ("participants", "auxiliary"):
        given = getattr(cls, name)
        if not isinstance(given, property | list | tuple) or not all(isinstance(one, str) for one in _items(given)):
            yield name, f'has to be names in a tuple, like ("policy",) with its comma (found {given!r:.60})'
    names = [*_items(cls.participants), *_items(cls.auxiliary)]
    if twice := [name for name in names if names.count(name) > 1]:
        yield "participants", f"and auxiliary have {twice[0]!r} twice: each has one part in an episode"
    for name in ("opening_observes", "opens_outside", "uses_sandbox"):
        if not isinstance(given := getattr(cls, name), bool | property):
            yield name, f"has to be True or False (found {given!r:.60})"
    if cls.uses_sandbox is False and not _is_left(cls, "furnish") and _is_left(cls, "__init__"):
        yield "furnish", "is never called: set uses_sandbox = True"
    pair = cls.reward_range
    if not isinstance(pair, property) and not _is_range(pair):
        yield "reward_range", f"has to be two numbers, the lowest reward first (found {pair!r:.60})"
    for name, base in (("Options", BaseModel), ("task_type", Task)):
        given = getattr(cls, name)
        if not (isinstance(given, type) and issubclass(given, base)):
            yield name, f"has to be a subclass of {base.__name__} (found {given!r:.60})"
    making = inspect.signature(cls)
    try:
        making.bind(None)
    except TypeError:
        yield "__init__", f"takes {making}, and is called with (options)"


def _items(given: Any) -> Iterable[Any]:
    return given if isinstance(given, list | tuple) else ()


def _is_range(pair: Any) -> bool:
    numbers = isinstance(pair, list | tuple) and len(pair) == 2 and all(isinstance(one, int | float) for one in pair)
    return numbers and pair[0] <= pair[1]


def _parameters(cls: type, hook: str) -> inspect.Signature | None:
    """Returns the parameters of a hook as it is called on an object; None for one that is no plain function."""
    static = inspect.getattr_static(cls, hook)
    if not isinstance(static, FunctionType | classmethod | staticmethod):
        return None
    signature = inspect.signature(getattr(cls, hook))
    parameters = list(signature.parameters.values())
    if isinstance(static, FunctionType) and parameters and parameters[0].kind in _POSITIONAL:
        parameters = parameters[1:]
    return signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)


def _function(cls: type, name: str) -> Any:
    """Returns the function behind a method or a class method."""
    method = getattr(cls, name)
    return getattr(method, "__func__", method)
