"""Defines the config of a run, as pydantic models. `config.file` reads one; `run.plan` brings it to life.

Options of environments and engines (`environment.*` beside `id`, `models.NAME.*` beside `engine`) belong to their own
classes and are validated by those.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator, model_validator

from ray_gym.config.interpolations import Interpolation, as_written
from ray_gym.messages import ToolChoice
from ray_gym.models.base import Sampling

Positive = Annotated[int, Field(ge=1)]
Natural = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0)]
MOST_WAITING = 64
"""Commands that may wait in one session, unless `service.max_waiting_commands` says otherwise."""


class Section(BaseModel):
    """A section of a config is immutable, and refuses unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class RunSection(Section):
    """This section names a run and its seed."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=128)] | None = None
    """Name of the run. Without one it is made of the config's name and the time."""
    seed: int = 0


class PluginSection(Section):
    """A plugin section has further keys, which belong to a class found by name."""

    model_config = ConfigDict(extra="allow", frozen=True)

    @property
    def options(self) -> dict[str, Any]:
        """Returns the further keys and their values."""
        return dict(self.model_extra or {})


class EnvironmentSection(PluginSection):
    id: str
    """A registered id, or package.module:Class."""


class ModelSection(PluginSection):
    engine: str
    """vllm, openai, scripted, or package.module:Class."""


class TasksSection(Section):
    """This section says where tasks come from, and how often each is played."""

    path: str | None = None
    """A .jsonl or .parquet file; a relative path is taken from the config's folder, then from the working directory."""
    generate: Positive | None = None
    """Number of tasks to take from the environment's generator (under `run.seed`)."""
    limit: Positive | None = None
    repeats: Positive = 1
    """Episodes a task: the size of a group."""

    @model_validator(mode="after")
    def _one_source(self) -> TasksSection:
        if (self.path is None) == (self.generate is None):
            raise ValueError("set one of path (a file) and generate (a number)")
        return self


class ParticipantSection(Section):
    """This section says which model plays a participant, and how it is asked."""

    model: str
    system_prompt: str | None = None
    sampling: Sampling = Sampling()
    tool_choice: ToolChoice = "auto"
    parallel_tool_calls: bool = False
    """Under `tool_choice: required`: true if one message may hold several calls."""
    trainable: bool | None = None
    """True if its samples are trained on. Default: the policy's are, others' are not."""
    stop_text: str | None = None
    """Ends the episode when this participant says it; words count only where they stand by themselves."""
    max_turns: Positive | None = None
    max_steps_per_turn: Positive | None = None
    concurrency: Positive | None = None
    """Its calls in flight at once in a worker, for a judge on a model that others need more. Default: no limit."""


class RetriesSection(Section):
    """This section says how often to try again, by whose fault the failure was."""

    infra: Natural = 10
    """Calls made again, with longer and longer pauses; some minutes in all."""
    user: Natural = 2
    """New tries of an episode, from its start, after a fault of the simulated user (or of a simulated tool)."""
    judge: Natural = 2
    environment: Natural = 0
    nondeterminism: Natural = 1
    """New tries after a replay that went another way than what was recorded."""


class LimitsSection(Section):
    """This section limits the turns, tokens and seconds of an episode, and the failures of a run."""

    max_turns: Positive = 10
    """Turns of the policy; each other participant may have as many."""
    max_steps_per_turn: Positive = 10
    token_budget: Positive | None = None
    """Generated tokens an episode, over all participants; judges' don't count."""
    episode_deadline_s: Seconds = 600
    """Seconds that the episode is really played: pauses after failures don't count, nor what is replayed."""
    call_deadline_s: Seconds = 300
    tool_deadline_s: Seconds = 60
    score_deadline_s: Seconds = 600
    retries: RetriesSection = RetriesSection()
    max_failed: Annotated[int, Field(ge=0)] | Annotated[float, Field(ge=0, le=1)] | None = None
    """Stop the run when more episodes than this have failed: a number, or a share of all (a fraction)."""


class FanoutSection(Section):
    """This section says on how many workers episodes are played, and how many at once."""

    workers: Positive = 2
    concurrency: Positive = 64
    """Episodes in flight, over all workers."""
    cpus_per_worker: Annotated[float, Field(ge=0)] = 0
    stuck_after_s: Seconds = 30
    """A worker whose event loop does not turn for this long is ended; the episode that blocked it has failed."""
    memory_gb: Annotated[float, Field(gt=0)] | None = None
    """A worker that takes more than this is ended, and the episodes that it had are played on elsewhere. Default: Ray's own limit."""


class GroupsSection(Section):
    """This section says what becomes of a group of which an episode failed."""

    incomplete: Literal["wait", "release", "drop"] = "release"
    """wait: play the failed ones again first (`extra_tries`); release: go on without them; drop: leave the whole group out."""
    minimum: Positive = 1
    """A group with fewer completed episodes than this is dropped."""
    extra_tries: Natural = 2


class OutputSection(Section):
    """This section says where a run writes, and how durably."""

    dir: str = "runs"
    """Folder in which run directories are made: a path, or the URI of an object store, e.g. s3://bucket/prefix.
    Credentials are the environment's.
    """
    journal_dir: str | None = None
    """Folder of journals, with a folder for each run: on a filesystem that all nodes share. Default: in the run
    directory, which can't be if that is on an object store.
    """
    durability: Literal["off", "process", "disk"] = "process"
    """The end that a journaled call survives. process: that of every process, not of a machine; disk: also that of a
    machine; off: no journal, so episodes that were half played are played anew.
    """
    roll_rows: Positive = 2000
    roll_mb: Positive = 64
    roll_s: Seconds = 20

    @field_validator("durability", mode="before")
    @classmethod
    def _off(cls, value: Any) -> Any:
        """Reads a bare off, which is false in YAML."""
        return "off" if value is False else value


class LogSection(Section):
    """This section is about lines on the standard error of the command, and of workers (Ray keeps theirs in its own log
    folder).
    """

    format: Literal["plain", "json"] = "plain"
    """json: one object a line, and nothing else is written."""
    level: Literal["debug", "info", "warning", "error"] = "info"
    """debug has lines for every episode: that it ended, that it is committed, that it goes on elsewhere."""


class OfferSection(Section):
    """An offer is an environment that a service offers beside that of its config, with the participants that play
    it.
    """

    environment: EnvironmentSection
    participants: Annotated[dict[str, ParticipantSection], Field(min_length=1)]
    sources: dict[str, TasksSection] = {}


class TokensSection(Section):
    """This section says where the bearer tokens of a service's callers are; they are never in the config itself."""

    file: str | None = None
    """Lines of NAME TOKEN; readable by its owner only."""
    env: str | None = None
    """An environment variable with NAME=TOKEN pairs, separated by spaces."""


class ServiceSection(Section):
    """This section says what `ray-gym serve` opens, and how much of it."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=64)] = "service"
    """Name of the service's directory in output.dir: a service of the same name resumes what is there."""
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=1, le=65535)] = 8000
    tokens: TokensSection | None = None
    """Needed unless the host is a loopback address."""
    offers: dict[str, OfferSection] = {}
    """Further environments, by the name that callers give."""
    sources: dict[str, TasksSection] = {}
    """Further tasks of the config's own environment; `default` is the section `tasks`."""
    gateways: Positive = 1
    """Replicas of the gateway."""
    max_body_mb: Annotated[float, Field(gt=0)] = 16
    body_deadline_s: Seconds = 30
    """Seconds that a request's body may take to arrive."""
    max_requests: Positive = 2000
    """Requests in flight at one gateway; further ones are answered 503."""
    max_streams: Positive = 256
    """Streams open at one gateway."""
    active_rollouts: Positive = 2
    """Runs that are played at once."""
    queued_rollouts: Positive = 64
    """Runs that may wait; further ones are answered 429."""
    max_episodes: Positive = 100_000
    """Episodes of one rollout."""
    max_sessions: Positive = 2000
    """Sessions open at once; further ones are answered 429."""
    max_waiting_commands: Positive = MOST_WAITING
    """Commands of one session that wait for their turn, or for the answer of one that is carried out already; further
    ones are answered 429.
    """
    caller_share: Annotated[float, Field(gt=0, le=1)] = 0.75
    """Where there are several callers: share that one may have of `max_requests`, `max_streams`, `max_sessions` and the
    queue of rollouts.
    """
    session_workers: Positive = 2
    idle_s: Seconds = 600
    """A session to which nothing was said for this long is closed."""

    def share_for(self, callers: int) -> ServiceSection:
        """Returns the section for a number of callers: a single one has all of it."""
        return self if callers > 1 else self.model_copy(update={"caller_share": 1.0})

    def most_of_one(self, most: int) -> int:
        """Returns how much one caller may have of what there is for all."""
        return math.ceil(most * self.caller_share)


class RunConfig(Section):
    """This is the whole config of a run."""

    run: RunSection = RunSection()
    train: Literal["any", "strict"] = "any"
    """strict: refuse to start if a trainable participant's samples would be other than plain (see docs/tokens.md); any: warn."""
    environment: EnvironmentSection
    tasks: TasksSection
    models: Annotated[dict[str, ModelSection], Field(min_length=1)]
    participants: Annotated[dict[str, ParticipantSection], Field(min_length=1)]
    limits: LimitsSection = LimitsSection()
    groups: GroupsSection = GroupsSection()
    fanout: FanoutSection = FanoutSection()
    output: OutputSection = OutputSection()
    log: LogSection = LogSection()
    service: ServiceSection = ServiceSection()
    """Only `ray-gym serve` looks at it."""
    _filled_in: tuple[Interpolation, ...] = PrivateAttr(())

    def with_filled_in(self, filled_in: tuple[Interpolation, ...]) -> RunConfig:
        """Returns a copy that remembers what its file has as ${...}."""
        config = self.model_copy()
        config._filled_in = filled_in
        return config

    def with_sections(self, moved: Mapping[tuple[str, ...], tuple[str, ...]], **changes: Any) -> RunConfig:
        """Returns a copy with other sections in the place of its own.

        `moved` maps paths of keys: for sections that lay elsewhere in the file, where they lay, to where they lie now.
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
        """Returns all of the config, defaults too, as it may be written down and shown: values that came out of ${...}
        are that again.
        """
        written: dict[str, Any] = as_written({**self.model_dump(mode="json"), **changes}, self._filled_in)
        return written
