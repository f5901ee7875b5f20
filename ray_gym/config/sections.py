"""Defines the config of a run, as pydantic models. `config.file` reads a config; `run.plan` makes a plan of it.

Options of environments and engines (`environment.*` beside `id`, `models.NAME.*` beside `engine`) are defined and
validated by their own classes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    field_validator,
    model_serializer,
    model_validator,
)

from ray_gym.config.interpolations import Interpolation, as_written
from ray_gym.messages import ToolChoice, is_blank
from ray_gym.models.base import Sampling
from ray_gym.models.numbers import NO_BOOL, Flag, Integer, Real
from ray_gym.models.price import Price
from ray_gym.sandbox.limits import SandboxLimits

Positive = Annotated[Integer, Field(ge=1)]
Natural = Annotated[Integer, Field(ge=0)]
Seconds = Annotated[Real, Field(gt=0)]
NotNegative = Annotated[Real, Field(ge=0)]
MOST_WAITING = 64
"""Default of `service.max_waiting_commands`."""

MOST_WORKERS = 10_000
"""Largest `fanout.workers`. A worker is a process, and plays thousands of episodes at once."""


class Section(BaseModel):
    """A section of a config is immutable, and refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RunSection(Section):
    """This section names a run and its seed."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=128)] | None = None
    """Name of the run. Default: made from the name of the config's file, the time and the number of the process."""
    seed: Integer = 0
    """Seed of all random numbers of the run."""


class PluginSection(Section):
    """A plugin section has further keys, which belong to a class found by name."""

    model_config = ConfigDict(extra="allow", frozen=True)
    instead: ClassVar[tuple[str, ...]] = ()
    """Keys that may stand for the one that names the class."""

    @property
    def options(self) -> dict[str, Any]:
        """Returns a new dictionary of the section's further keys and their values."""
        return dict(self.model_extra or {})


def is_plugin_section(kind: Any) -> bool:
    """Says whether a type is that of a plugin section."""
    return isinstance(kind, type) and issubclass(kind, PluginSection)


class EnvironmentSection(PluginSection):
    """This section chooses the environment; its further keys are the environment's options."""

    id: str
    """A registered id, or package.module:Class."""


class ModelSection(PluginSection):
    """This section chooses the engine of a model; its further keys are the engine's options."""

    engine: str
    """vllm, openai, scripted, or package.module:Class."""
    price: Price | None = None
    """Money for a million tokens of the model: {input, cached, output}. Default: its calls cost nothing that is
    counted."""

    @model_serializer(mode="wrap")
    def _without_defaults(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Writes the section with the keys that it was given, by which `as_written` knows one that stands for another."""
        written: dict[str, Any] = write(self)
        price = written.pop("price")
        kept = {"price": {key: value for key, value in price.items() if value is not None}} if price else {}
        return {"engine": written.pop("engine"), **kept, **written}


class PoolShares(Section):
    """This section gives each pool of tasks its share of a stream's groups. Shares count in proportion."""

    easy: NotNegative = 0.2
    middle: NotNegative = 0.6
    hard: NotNegative = 0.2

    @model_validator(mode="after")
    def _some(self) -> PoolShares:
        if not self.easy + self.middle + self.hard:
            raise ValueError("one share at least is above 0")
        return self


class SamplerSection(Section):
    """This section says which tasks of a file a stream plays more often than others. Without it, each is played once in
    an epoch.
    """

    shares: PoolShares = PoolShares()
    """Shares of the groups that easy, middle and hard tasks have. Tasks that were not measured yet are in the middle."""
    hard_below: Real = 0.25
    """Mean reward of the policy below which a task is hard."""
    easy_above: Real = 0.75
    """Mean reward of the policy above which a task is easy."""
    memory: Positive = 4
    """Number of a task's last groups that its mean reward is about."""
    weights: str | None = None
    """Function (package.module:name) that gives each task a weight; then there are no pools. It takes a list of
    `ray_gym.stream.TaskRate`, and returns as many numbers."""

    @model_validator(mode="after")
    def _ordered(self) -> SamplerSection:
        if self.hard_below > self.easy_above:
            raise ValueError(f"hard_below ({self.hard_below:g}) is at most easy_above ({self.easy_above:g})")
        return self


class TasksSection(Section):
    """This section says where tasks come from, and how many times each is played."""

    path: str | None = None
    """A .jsonl or .parquet file. A relative path starts in the config's folder or, if the file isn't there, in the
    working directory."""
    generate: Positive | None = None
    """Number of tasks to take from the environment's generator (under `run.seed`)."""
    limit: Positive | None = None
    """Most tasks to take. Default: all."""
    repeats: Positive = 1
    """Number of episodes of each task, which make up a group."""
    sampler: SamplerSection | None = None
    """Makes a stream choose some tasks of the file at `path` more often than others. Default: all once in an epoch. A run
    has no use for it."""

    @model_validator(mode="after")
    def _one_source(self) -> TasksSection:
        if (self.path is None) == (self.generate is None):
            raise ValueError("set one of path (a file) and generate (a number)")
        if self.sampler is not None and self.path is None:
            raise ValueError(
                "sampler: it chooses among the tasks of a file (path); a generator makes new ones each time"
            )
        return self


SHORT_IDS = ("command", "python")
"""Keys of the section `agent` that say which agent it is, where there is no `id`."""


class AgentSection(PluginSection):
    """This section says which program plays a participant; its further keys are the agent's options."""

    instead: ClassVar[tuple[str, ...]] = SHORT_IDS
    id: str
    """Name of the agent, e.g. codex. It may be left out beside `command` and `python`."""
    deadline_s: Seconds = 600
    """Seconds that a turn of the program may take. Waits for its model to be free, or to be there, don't count."""

    @model_validator(mode="before")
    @classmethod
    def _name(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and "id" not in data:
            return next(({**data, "id": name} for name in SHORT_IDS if name in data), data)
        return data


class ParticipantSection(Section):
    """This section says which model plays a participant, and how the model is called."""

    model: str
    """Name of the model under `models`."""
    system_prompt: str | None = None
    """System prompt. Default: the one of the environment's opening."""
    sampling: Sampling = Sampling()
    tool_choice: ToolChoice = "auto"
    """auto: it may call tools; none: it is offered no tools; required: every message has to call one."""
    parallel_tool_calls: Flag = False
    """Under `tool_choice: required`: true if one message may hold several calls."""
    trainable: Flag | None = None
    """True if its samples may be trained on. Default: true for the policy, false for others."""
    stop_text: str | None = None
    """Text that ends the episode when this participant says it. It counts only as whole words."""
    max_turns: Positive | None = None
    """Turns that it may have. Default: `limits.max_turns`."""
    max_steps_per_turn: Positive | None = None
    """Model calls that it may make in a turn. Default: `limits.max_steps_per_turn`."""
    agent: AgentSection | None = None
    """Program that plays it, and calls its model. Default: none; ray_gym calls the model, and its tools."""
    concurrency: Positive | None = None
    """Most of its calls that may be in flight at once in a worker, for example for a judge that shares its model.
    Default: no limit."""

    @field_validator("stop_text")
    @classmethod
    def _check_stop_text(cls, value: str | None) -> str | None:
        if value and is_blank(value):
            raise ValueError("it is blank, so that any space would end the episode")
        return value

    @model_validator(mode="after")
    def _check_agent(self) -> ParticipantSection:
        own = (
            "parallel_tool_calls" if self.parallel_tool_calls else "tool_choice" if self.tool_choice != "auto" else None
        )
        if self.agent is not None and own is not None:
            raise ValueError(f"{own}: the agent's program says itself what its calls may do; leave it out")
        return self


class SandboxSection(PluginSection):
    """This section chooses the sandbox of an episode, where agents' programs and tools of the environment act; its
    further keys are the kind's options.
    """

    kind: str = "bubblewrap"
    """Kind of the sandbox: bubblewrap, podman, docker, apptainer or process (which protects from nothing)."""
    limits: SandboxLimits = SandboxLimits()
    """Limits that all programs of an episode share."""
    ahead: Natural = 0
    """Sandboxes that each worker has open before an episode needs them."""
    most: Positive | None = None
    """Sandboxes of a worker's episodes at a time, and as many to grade in; further episodes wait. Default: no limit."""

    @model_validator(mode="after")
    def _check_ahead(self) -> SandboxSection:
        if self.most is not None and self.ahead > self.most:
            raise ValueError(f"ahead: {self.ahead} is more than most ({self.most})")
        return self


class RetriesSection(Section):
    """This section says how many times something is tried again, by the kind of the failure."""

    infra: Natural = 10
    """Retries of a call, with growing pauses; they take some minutes in all."""
    user: Natural = 2
    """New tries of an episode, from its start, after a failure of the simulated user (or of a simulated tool)."""
    judge: Natural = 2
    """New tries of an episode after a failure of a judge."""
    environment: Natural = 0
    """New tries of an episode after a failure of the environment's code."""
    nondeterminism: Natural = 1
    """New tries of an episode whose replay diverged from the record."""


def _count_or_fraction(value: Any, read: ValidatorFunctionWrapHandler) -> int | float | None:
    """Reads a number of episodes, or a fraction of all of them. Errors: ValueError for any other value."""
    try:
        number: int | float | None = read(float(value) if isinstance(value, str) and "." in value else value)
    except (ValidationError, ValueError):
        if isinstance(value, bool):
            raise ValueError(f"{NO_BOOL} (found {value})") from None
        number = -1
    if number is None or (number >= 0 and (isinstance(number, int) or number <= 1)):
        return number
    raise ValueError(f"expected a whole number of episodes, or a fraction of all from 0.0 to 1.0 (found {value!r:.40})")


class LimitsSection(Section):
    """This section limits the turns, tokens and seconds of an episode, and the failures and the cost of a run."""

    max_turns: Positive = 10
    """Turns of the policy in an episode. Each other participant may have as many."""
    max_steps_per_turn: Positive = 10
    """Model calls of a participant in one turn."""
    token_budget: Positive | None = None
    """Tokens that may be generated in an episode, over all participants; judges' tokens don't count. Default: no
    limit."""
    episode_deadline_s: Seconds = 600
    """Seconds for which an episode may be played. Pauses after failures, and replayed calls, don't count."""
    call_deadline_s: Seconds = 300
    """Seconds that a model call, or the environment's `setup`, may take."""
    tool_deadline_s: Seconds = 60
    """Seconds that a tool call may take, without the waits of models that the tool asks."""
    score_deadline_s: Seconds = 600
    """Seconds that the scoring of an episode, or of a group, may take."""
    retries: RetriesSection = RetriesSection()
    max_failed: Annotated[Integer | Real | None, WrapValidator(_count_or_fraction)] = None
    """Most episodes that may fail before the run is stopped: a whole number, or a fraction of all episodes as a decimal
    number. Default: no limit."""
    max_cost: Annotated[Real, Field(gt=0, allow_inf_nan=False)] | None = None
    """Most money that the model calls of a run may cost, by `models.NAME.price`, over all workers and resumptions.
    Default: no limit."""


class FanoutSection(Section):
    """This section says how many workers play episodes, and how many episodes they play at once."""

    workers: Annotated[Integer, Field(ge=1, le=MOST_WORKERS)] = 2
    """Number of workers. A run with fewer episodes starts fewer."""
    concurrency: Positive = 64
    """Number of episodes in flight, over all workers."""
    cpus_per_worker: Annotated[Real, Field(ge=0)] = 0
    """CPUs that Ray reserves for each worker."""
    stuck_after_s: Seconds = 30
    """Seconds after which a worker with a blocked event loop is ended. The episode that blocked it fails; its others
    are resumed elsewhere."""
    memory_gb: Annotated[Real, Field(gt=0)] | None = None
    """Memory in GiB above which a worker is ended. An episode whose code was running then fails; the others are resumed
    elsewhere. Default: Ray's own limit."""


class GroupsSection(Section):
    """This section says what happens to a group with a failed episode, and, in a stream, to one without spread."""

    incomplete: Literal["wait", "release", "drop"] = "release"
    """wait: play the failed episodes again first (`extra_tries`); release: commit the group without them; drop: leave
    out the whole group."""
    minimum: Positive = 1
    """Least number of completed episodes in a group with a failed one. A group with fewer is dropped."""
    extra_tries: Natural = 2
    """New tries of a failed episode while its group waits."""
    extra: Natural = 0
    """Episodes that are begun in each group beyond `tasks.repeats`. The first `tasks.repeats` that complete make the
    group; the rest are cut off, and become rows that don't train."""
    spread: Literal["keep", "drop", "replace"] = "keep"
    """Says what a stream does with a group without spread: its completed episodes all have the same reward, so that no
    advantage is left. keep: deliver it; drop: leave it out, so that an epoch has fewer groups; replace: leave it out, and let a new task's
    group take its place."""
    max_without_spread: Positive | None = 200
    """Most groups in a row that a stream leaves out for want of spread; null: no limit. Beyond that it fails, since the
    tasks are too easy or too hard for the policy."""


class OutputSection(Section):
    """This section says where a run writes, and which failures its journal survives."""

    dir: str = "runs"
    """Folder in which run directories are made: a path, or the URI of an object store, e.g. s3://bucket/prefix.
    Credentials come from environment variables."""
    journal_dir: str | None = None
    """Folder of journals, with a folder for each run, on a filesystem that all nodes share. Default: in the run
    directory, unless that is on an object store."""
    durability: Literal["off", "process", "disk"] = "process"
    """Failures that a journaled call survives. process: the death of any process, but not of a machine; disk: also that
    of a machine; off: none, for no journal is kept, and half-played episodes are played anew."""
    roll_rows: Positive = 2000
    """Number of rows at which a worker stages a file."""
    roll_mb: Positive = 64
    """Size of the rows in MiB at which a worker stages a file."""
    roll_s: Seconds = 20
    """Seconds after which a worker stages a file."""

    @field_validator("durability", mode="before")
    @classmethod
    def _off(cls, value: Any) -> Any:
        """Returns "off" for False, since YAML reads an unquoted off as false; other values as they are."""
        return "off" if value is False else value


class LogSection(Section):
    """This section configures the log lines on standard error, of the command and of workers. Ray keeps the workers'
    lines in its own log folder.
    """

    format: Literal["plain", "json"] = "plain"
    """plain: lines of text; json: one object in each line, and no other output."""
    level: Literal["debug", "info", "warning", "error"] = "info"
    """Least level of the lines. debug has lines for every episode: that it ended, is committed, or is resumed
    elsewhere."""


class OfferSection(Section):
    """This section describes an environment that a service offers beside its config's own, with the participants that
    play it.
    """

    environment: EnvironmentSection
    participants: Annotated[dict[str, ParticipantSection], Field(min_length=1)]
    """Participants by name."""
    sources: dict[str, TasksSection] = {}
    """Tasks by the name of their source."""


class TokensSection(Section):
    """This section says where the bearer tokens of a service's callers are. The tokens themselves are never in the
    config.
    """

    file: str | None = None
    """File with lines of NAME TOKEN. Only its owner may be able to read it."""
    env: str | None = None
    """Environment variable with NAME=TOKEN pairs, separated by spaces."""


class ServiceSection(Section):
    """This section configures `ray-gym serve`, and limits its callers."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=64)] = "service"
    """Name of the service's directory in output.dir. A service of the same name resumes its rollouts and sessions."""
    host: str = "127.0.0.1"
    """Address on which the gateways listen."""
    port: Annotated[Integer, Field(ge=1, le=65535)] = 8000
    """Port on which the gateways listen."""
    tokens: TokensSection | None = None
    """Bearer tokens of callers. They are required unless the host is a loopback address."""
    offers: dict[str, OfferSection] = {}
    """Further environments, by the name that callers use."""
    sources: dict[str, TasksSection] = {}
    """Further sources of tasks for the config's own environment, by name; `default` is the section `tasks`."""
    gateways: Positive = 1
    """Number of replicas of the gateway."""
    max_body_mb: Annotated[Real, Field(gt=0)] = 16
    """Largest body of a request, in MiB."""
    body_deadline_s: Seconds = 30
    """Seconds that a request's body may take to arrive."""
    max_requests: Positive = 2000
    """Requests in flight at one gateway; any further one is answered 503."""
    max_streams: Positive = 256
    """Streams open at one gateway."""
    active_rollouts: Positive = 2
    """Rollouts that are played at once."""
    queued_rollouts: Positive = 64
    """Rollouts that may wait; any further one is answered 429."""
    max_episodes: Positive = 100_000
    """Episodes of one rollout."""
    max_sessions: Positive = 2000
    """Sessions that may be open at once; any further one is answered 429."""
    max_waiting_commands: Positive = MOST_WAITING
    """Commands of one session that may wait for their turn, or for the result of the same command; any further one is
    answered 429."""
    caller_share: Annotated[Real, Field(gt=0, le=1)] = 0.75
    """Share that one of several callers may have of `max_requests`, `max_streams`, `max_sessions` and the queue of
    rollouts."""
    session_workers: Positive = 2
    """Number of workers that play sessions."""
    idle_s: Seconds = 600
    """Seconds without a command after which a session is closed."""

    def share_for(self, callers: int) -> ServiceSection:
        """Returns the section for a service with this number of callers. If it has only one, `caller_share` becomes 1,
        so that the caller may use everything.
        """
        return self if callers > 1 else self.model_copy(update={"caller_share": 1.0})

    def most_of_one(self, most: int) -> int:
        """Returns how many of `most` (the limit for all callers together) one caller may have: its share, rounded
        up.
        """
        return math.ceil(most * self.caller_share)


class RunConfig(Section):
    """This is the whole config of a run, a service or a stream."""

    run: RunSection = RunSection()
    train: Literal["any", "strict"] = "any"
    """strict: refuse to start if samples of a trainable participant would not be plain (see docs/tokens.md); any:
    warn."""
    environment: EnvironmentSection
    tasks: TasksSection
    models: Annotated[dict[str, ModelSection], Field(min_length=1)]
    """Models by name."""
    participants: Annotated[dict[str, ParticipantSection], Field(min_length=1)]
    """Participants by name."""
    limits: LimitsSection = LimitsSection()
    groups: GroupsSection = GroupsSection()
    fanout: FanoutSection = FanoutSection()
    output: OutputSection = OutputSection()
    log: LogSection = LogSection()
    sandbox: SandboxSection = SandboxSection()
    """Sandbox of agents' programs and of the environment's tools."""
    service: ServiceSection = ServiceSection()
    """Options of `ray-gym serve`; runs ignore them."""
    _filled_in: tuple[Interpolation, ...] = PrivateAttr(())
    _overrides: tuple[str, ...] = PrivateAttr(())

    @property
    def overrides(self) -> tuple[str, ...]:
        """Returns the overrides (key=value) that were applied to the config's file, for messages."""
        return self._overrides

    def with_overrides(self, overrides: tuple[str, ...]) -> RunConfig:
        """Returns a copy that knows the overrides (key=value) that were applied to its file."""
        config = self.model_copy()
        config._overrides = overrides
        return config

    @property
    def filled_in(self) -> tuple[Interpolation, ...]:
        """Returns the values that the file has as texts with ${...}."""
        return self._filled_in

    def with_filled_in(self, filled_in: tuple[Interpolation, ...]) -> RunConfig:
        """Returns a copy that knows which of its values the file has as texts with ${...}, for `as_written`."""
        config = self.model_copy()
        config._filled_in = filled_in
        return config

    def with_sections(self, moved: Mapping[tuple[str, ...], tuple[str, ...]], **changes: Any) -> RunConfig:
        """Returns a copy with the sections of `changes` in place of its own. The changes are not validated.

        `moved` maps old paths of keys to new ones, for sections of `changes` that come from elsewhere in the file, so
        that their ${...} are still known.
        """
        config = self.model_copy(update=changes)
        replaced = set(changes)
        kept = [each for each in self._filled_in if each.path[0] not in replaced]
        for each in self._filled_in:
            for old, new in moved.items():
                if each.path[: len(old)] == old:
                    kept.append(replace(each, path=(*new, *each.path[len(old) :])))
        return config.with_filled_in(tuple(kept))

    def as_written(self, **changes: Any) -> dict[str, Any]:
        """Returns the whole config with its defaults, as plain data that may be stored and shown. Values that came from
        ${...} are written as that again. `changes` replace whole sections in the result.
        """
        written: dict[str, Any] = as_written({**self.model_dump(mode="json"), **changes}, self._filled_in)
        return written
