"""What an environment author writes: one class.

    class Doubling(Environment[DoublingTask, Counter]):
        '''Double a number with one tool call.'''

        participants = ("policy",)

        def setup(self, task, episode): ...
        def opening(self, task, state): ...
        @tool()
        def double(self, state, caller, number: int) -> int: ...
        def score(self, state, episode): ...

The machinery is below: `Episode` carries out the commands, this class only answers questions about them. One instance
serves all sessions of a worker, so it keeps nothing of a session in itself: that is what the state is for.
"""

from __future__ import annotations

import math
import random
import unicodedata
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, SupportsFloat, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ray_gym.conversation import Conversation, system_prompt
from ray_gym.messages import Message, ToolSchema
from ray_gym.tools import Tool, tools_of

if TYPE_CHECKING:
    from ray_gym.episode import Episode
    from ray_gym.models.scripted import Player
    from ray_gym.participant import Participant
    from ray_gym.turn import Turn


class Task(BaseModel):
    """One row of a dataset. Environments subclass it with their own fields; unknown fields are errors.

    `system_prompts` (by participant) win over those of the config and of the environment. `messages` are a conversation to go on with:
    the policy sees it in the place of the opening's messages (a user sees its side of it), nothing in it is trained on, and whoever
    did not speak last speaks next. Its tool calls are not made again: `setup` gives the state that they led to.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    takes_nemo_gym_rows: ClassVar[bool] = False
    """Whether rows with `responses_create_params` are given to the task as they are, instead of under our names."""

    task_id: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    system_prompts: dict[str, str] = {}
    messages: Conversation = ()

    @field_validator("task_id")
    @classmethod
    def _is_one_line(cls, value: str | None) -> str | None:
        """It stands in tables and messages."""
        if value is not None and any(unicodedata.category(character) == "Cc" for character in value):
            raise ValueError("it has control characters")
        return value

    def prompts(self) -> dict[str, str]:
        """System prompts by participant, that of `messages` among them."""
        earlier = system_prompt(self.messages)
        return ({"policy": earlier} if earlier else {}) | self.system_prompts


TaskT = TypeVar("TaskT", bound=Task)
StateT = TypeVar("StateT")


@dataclass(frozen=True, slots=True)
class Opening:
    """What is there before anyone speaks.

    `system` and `messages` are by participant: a default system prompt (the config's and the task's win over it), and the
    messages that its thread starts with. A plain string is one user message. Earlier assistant and tool turns are prompt.
    """

    messages: Mapping[str, str | list[Message]] = field(default_factory=dict)
    system: Mapping[str, str] = field(default_factory=dict)
    first: str = "policy"


@dataclass(frozen=True, slots=True)
class Score:
    """A reward, with named parts and other participants' rewards where an environment has them."""

    reward: float
    parts: Mapping[str, float] = field(default_factory=dict)
    others: Mapping[str, float] = field(default_factory=dict)


Scored = Score | float | Mapping[str, float]
"""What `score` may give: a number, named parts (their sum is the reward), or a `Score`."""


class Options(BaseModel):
    """The keys beside `id` under `environment:` in a config. Environments subclass it."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Environment(Generic[TaskT, StateT]):
    """Override `setup` and `score`, and what else differs from the defaults.

    Where `participants`, `auxiliary` or `reward_range` depend on the options, set them in `__init__`.
    """

    participants: tuple[str, ...] = ("policy",)
    """Who speaks, in the order of their turns."""
    auxiliary: tuple[str, ...] = ()
    """Participants without turns, which `episode.ask` asks: judges, reward models, simulators of tools. Each is in the config."""
    opens_outside: ClassVar[bool] = False
    """Whether `setup` reaches outside of the worker (a server's session, say): then nobody asks it just to look at data."""
    pattern: ClassVar[str] = "multi-turn"
    """single-step, multi-step, multi-turn or user modelling: for the listing only."""
    scoring: ClassVar[str] = ""
    """How it is scored, in a few words: for the listing only."""
    reward_range: tuple[float, float] = (0.0, 1.0)
    """The lowest and the highest reward that `score` gives."""
    metrics_columns: ClassVar[tuple[str, ...]] = ("status", "group_id", "task_id", "repeat", "reward", "rewards")
    """What `metrics` is given of each row; `events` are most of a run, and are better left out."""
    Options: ClassVar[type[BaseModel]] = Options

    task_type: ClassVar[type[Task]] = Task
    tools: ClassVar[dict[str, Tool]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for base in getattr(cls, "__orig_bases__", ()):
            arguments = get_args(base)
            if get_origin(base) is Environment and isinstance(arguments[0], type) and issubclass(arguments[0], Task):
                cls.task_type = arguments[0]
        cls.tools = tools_of(cls)

    def scores_groups(self) -> bool:
        """Whether `score_group` is asked instead of `score`: by default if it is overridden. Override this where an option decides."""
        return type(self).score_group is not Environment.score_group

    @classmethod
    def narrows(cls) -> bool:
        return cls.narrow is not Environment.narrow

    @classmethod
    def brings_tools(cls) -> bool:
        """Whether a session may have other tools than those of the class."""
        return cls.tools_for is not Environment.tools_for

    @classmethod
    def has_metrics(cls) -> bool:
        return cls.metrics.__func__ is not Environment.metrics.__func__  # type: ignore[attr-defined]

    def __init__(self, options: BaseModel | None = None) -> None:
        self.options: Any = options if options is not None else self.Options()

    # ---- the task ----

    def generate(self, rng: random.Random, index: int) -> TaskT:
        """Task number `index` of an endless, seeded supply. `rng` belongs to this task alone."""
        raise NotImplementedError(f"{type(self).__name__} has no task generator: set tasks.path to a file of tasks")

    def check(self, task: TaskT) -> None:
        """Asked for every row of a file before a run: ValueError (which names the field) refuses it, for what the schema can't see."""

    def setup(self, task: TaskT, episode: Episode) -> StateT | Awaitable[StateT]:
        """The session's state, from the task alone (and `episode.rng(name)`). May be a coroutine function."""
        raise NotImplementedError

    def opening(self, task: TaskT, state: StateT) -> Opening:
        """First messages, written from the state, so that the two cannot drift apart."""
        return Opening()

    opening_observes: ClassVar[bool] = False
    """Whether `opening` shows a state that only the game itself brings forth. Then it comes after what a row's messages say, which may be
    a prompt, but no play: nothing could bring the state to where an earlier conversation has left it."""

    async def close(self) -> None:
        """The worker ends: give back what was opened for all its sessions (connections, say). It may be used again afterwards."""

    def perfect(self, task: TaskT) -> Mapping[str, Player]:
        """Scripted players by participant (judges too) with which the policy gets the highest reward; they may know the task.

        For tests and baselines.
        """
        return {}

    def tools_for(self, task: TaskT, state: StateT) -> Sequence[Tool]:
        """Tools of this session that the task or a library brings along (see `tool_by_schema`), after the `@tool` methods.

        Asked once, after `setup`: they stay the same for the whole session.
        """
        return ()

    # ---- the conversation ----

    async def run(self, episode: Episode) -> None:
        """The control flow: turns until something stops the episode. Override it to do anything else."""
        speaker = episode.first
        while not episode.stopped:
            turn = await episode.turn(speaker)
            following = self.next_speaker(episode.state, episode, turn)
            if following is None:
                return
            speaker = following

    def next_speaker(self, state: StateT, episode: Episode, turn: Turn) -> str | None:
        """Who speaks after `turn`; None ends the episode. By default the participants take turns; one alone has one turn."""
        if len(self.participants) == 1:
            return None
        return self.participants[(self.participants.index(turn.speaker) + 1) % len(self.participants)]

    def relay(self, state: StateT, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        """What `listener` is told of a turn that has ended, as a user message of its own view; None is nothing.

        By default the others hear what was said, or, if nothing was said, all results of the turn's tool calls.
        """
        if listener.name == turn.speaker:
            return None
        return turn.text or "\n".join(turn.tool_results) or None

    def narrow(self, tool: ToolSchema, state: StateT, caller: Participant) -> ToolSchema:
        """The tool's schema as the state allows it now (only the empty cells, say). Prompts show the whole schema."""
        return tool

    def finished(self, state: StateT, episode: Episode) -> str | None:
        """Asked after every step and message: the outcome if the episode is over (kept as the stop's text), else None."""
        return None

    # ---- the score ----

    async def score_group(self, episodes: Sequence[Episode]) -> Sequence[Scored]:
        """The scores of a whole group's episodes (those that were played to their end), in their order, once all are over.

        Overridden, it is asked instead of `score`, and may compare: `episode.state`, `episode.events`, `episode.ask`.
        """
        raise NotImplementedError

    def score(self, state: StateT, episode: Episode) -> Scored | Awaitable[Scored]:
        """The policy's reward: a number, named parts (their sum is the reward), or a `Score`. May be a coroutine function."""
        raise NotImplementedError

    @classmethod
    def metrics(cls, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, float]:
        """Figures of a whole run, from its rows: `metrics_columns` of `ray_gym.load(run).episodes`. `ray-gym show` prints them."""
        return {}


def as_score(value: Scored) -> Score:
    """Errors: TypeError if it is none of the three, ValueError if a number is not finite."""
    if isinstance(value, float):  # most are, and to look whether something else is like a number takes longer
        return Score(_number(value))
    if isinstance(value, Score):
        return Score(_number(value.reward), _numbers(value.parts), _numbers(value.others))
    if isinstance(value, Mapping):
        parts = _numbers(value)
        return Score(sum(parts.values()), parts)
    if isinstance(value, SupportsFloat) and not isinstance(value, str):
        return Score(_number(value))
    raise TypeError(f"score() returned {type(value).__name__}; expected a number, named parts or a Score")


def _numbers(named: Mapping[str, float]) -> dict[str, float]:
    return {str(name): _number(value) for name, value in named.items()}


def _number(value: SupportsFloat) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"score() returned {number}, which is no reward")
    return number
