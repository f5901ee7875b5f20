"""Defines the service's requests and answers, which are JSON.

The gateway, its OpenAPI description and the client share them. `docs/service.md` shows how they are used.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ray_gym.messages import ToolChoice, is_blank
from ray_gym.models.tokenizers import TokenizerDigest
from ray_gym.openai_api.sampling import Request, SamplingChange, Whole

Sent = TypeVar("Sent", bound=Request)


def to_json(request: Request) -> bytes:
    """Returns a request as JSON (UTF-8) with the fields that were set. This takes some milliseconds per megabyte."""
    return request.model_dump_json(exclude_unset=True).encode()


def read(kind: type[Sent], text: bytes) -> Sent:
    """Reads a request of this kind from JSON. Call it in a thread: it lets other threads run after every JSON object.

    Errors: ValueError for text that is no JSON, or JSON that is no such request (pydantic's ValidationError).
    """
    return kind.model_validate(json.loads(text, object_pairs_hook=_object))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Makes a dictionary from the keys and values of a JSON object.

    It is Python code, so that other threads can run.
    """
    return dict(pairs)


JsonObject = dict[str, Any]
Name = Annotated[str, Field(min_length=1, max_length=128)]
"""Name of an environment, a participant, a model or a source."""
LONGEST_TEXT = 1_000_000
"""Most characters of a text in a request."""
Text = Annotated[str, Field(max_length=LONGEST_TEXT)]
Seed = Annotated[Whole, Field(ge=0, lt=2**63)]

RolloutState = Literal["queued", "running", "done", "failed", "cancelled"]
"""State of a rollout. The last three are final."""


class Answer(BaseModel):
    """This is the base class of the service's answers. Later versions may add fields: clients ignore those that they
    don't know.
    """

    model_config = ConfigDict(frozen=True)


# ---- models ----


class ModelInfo(Answer):
    """Describes a model of the service, in the form of OpenAI's API with one field more."""

    id: str
    """Name of the model in the service's config."""
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "ray_gym"
    tokenizer: TokenizerDigest | None = None
    """Digest of the model's tokenizer, which a trainer compares with its own; None for a model without one here."""


# ---- errors ----


class Problem(Answer):
    """Describes an error in the form of OpenAI's API, so that clients of that API understand it."""

    message: str
    """Explanation for people."""
    type: str
    """Kind of the error, as OpenAI's clients expect it."""
    code: str
    """Name of the error, for programs."""
    param: str | None = None
    """Name of the request's field that is wrong; None if no field is."""


class ErrorAnswer(Answer):
    """Answers a request that is refused."""

    error: Problem


# ---- environments ----


class EnvironmentInfo(Answer):
    """Describes an environment that the service offers."""

    name: str
    """Name to give as a request's `environment`."""
    description: str
    pattern: str
    """Kind of interaction, such as `multi-turn`."""
    participants: list[str]
    """Names of the participants that have turns, in the order of their turns."""
    auxiliary: list[str]
    """Names of the participants without turns, such as judges."""
    tools: list[str]
    """Names of the tools."""
    scoring: str
    """Explanation of the reward, for people."""
    reward_range: tuple[float, float]
    """Lowest and highest reward."""
    task_schema: JsonObject
    """JSON schema of a task."""
    generates: bool
    """True if the environment can generate tasks."""


class EnvironmentList(Answer):
    """Lists the environments that the service offers, the config's own first."""

    environments: list[EnvironmentInfo]


# ---- rollouts ----


class ParticipantChange(Request):
    """Changes a participant for one rollout. A field that is not given stays as it is in the service's config."""

    model: Name | None = None
    """Name of a model of the service's config."""
    system_prompt: Text | None = None
    sampling: SamplingChange = SamplingChange()
    tool_choice: ToolChoice | None = None
    stop_text: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    """Text that ends the episode when the participant says it."""
    max_turns: Annotated[Whole, Field(ge=1, le=10_000)] | None = None
    """Most turns of the participant in an episode."""
    max_steps_per_turn: Annotated[Whole, Field(ge=1, le=10_000)] | None = None
    """Most steps of the participant in a turn."""

    @field_validator("stop_text")
    @classmethod
    def _check_stop_text(cls, value: str | None) -> str | None:
        if value is not None and is_blank(value):
            raise ValueError("it is blank, so that any space would end the episode")
        return value


class RolloutRequest(Request):
    """Asks for a rollout. At most one of `tasks`, `generate` and `source` is given, and says which tasks are played.

    Without any of these, the tasks are those of the source `default` in the service's config.
    """

    environment: Name | None = None
    """Name of the environment; None: the config's own."""
    tasks: Annotated[list[JsonObject], Field(min_length=1, max_length=100_000)] | None = None
    """Tasks with the fields of the environment's `task_schema`."""
    generate: Annotated[Whole, Field(ge=1, le=1_000_000)] | None = None
    """Number of tasks that the environment generates from `seed`."""
    source: Name | None = None
    """Name of a source of tasks in the service's config."""
    limit: Annotated[Whole, Field(ge=1, le=1_000_000)] | None = None
    """Most tasks that are played; None: all."""
    repeats: Annotated[Whole, Field(ge=1, le=10_000)] = 1
    """Number of episodes of each task, which are a group."""
    seed: Seed = 0
    participants: Annotated[dict[Name, ParticipantChange], Field(max_length=16)] = {}  # noqa: RUF012 (pydantic copies it)


class RolloutStatus(Answer):
    """Describes a rollout. Times are seconds since 1970."""

    id: str
    environment: str
    state: RolloutState
    episodes: int
    """Number of episodes that the rollout has."""
    statuses: dict[str, int]
    """Number of the episodes that are over, by status: completed, failed, cancelled, dropped."""
    stop_reasons: dict[str, int]
    """Number of the episodes that are over, by the reason why they stopped."""
    reward_mean: float | None
    """Mean of the episodes' rewards; None if no episode has one."""
    failure: str | None
    """Reason of the failure; None unless the rollout has failed."""
    created_at: float
    started_at: float | None
    """None until the rollout is played."""
    ended_at: float | None
    """None as long as more episodes may be committed."""
    notes: list[str] = []
    """Oddities of the rollout's plan, such as a temperature of 0 where a task has several episodes."""
    waiting: str | None = None
    """Reasons why the rollout may be late: workers that take long to start, and what workers warn of, such as an endpoint
    that does not answer. None if there are none."""


class RolloutList(Answer):
    """Gives a page of the caller's rollouts, the newest first."""

    rollouts: list[RolloutStatus]
    next: str | None = None
    """The cursor of the next page; None if this is the last one."""


class EpisodePage(Answer):
    """Gives episodes in the order of their commits, each as its row of the table; docs/record.md has the columns."""

    episodes: list[JsonObject]
    next: str | None
    """The cursor of the next page; None if the rollout has ended and this is the last page."""


class GroupDone(Answer):
    """Describes an event of the stream of groups: all episodes of a group are over.

    The event's id is the cursor after the group.
    """

    group_id: str
    task_id: str
    episodes: list[JsonObject]
    """Rows of the group's episodes; docs/record.md has the columns."""


# ---- sessions ----


class SessionRequest(Request):
    """Asks for a session: an episode of one task, in which the caller plays the policy."""

    environment: Name | None = None
    """Name of the environment; None: the config's own."""
    task: JsonObject | None = None
    """Task to play, with the fields of the environment's `task_schema`; None: a task is generated from `seed`."""
    seed: Seed = 0


class ToolCallPart(BaseModel):
    """Describes a call of a tool in an assistant's message."""

    id: str
    name: str
    """Name of the tool."""
    arguments: str
    """JSON text."""


class SeenMessage(Answer):
    """Shows a message as a participant sees it."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    reasoning: str | None = None
    """Reasoning that an assistant's message has beside its content."""
    tool_calls: list[ToolCallPart] = []
    """Tool calls of an assistant's message."""
    tool_call_id: str | None = None
    """Id of the call that a tool's message answers."""


class View(Answer):
    """Shows the messages of a session that one participant sees, and the tools that it may call."""

    messages: list[SeenMessage]
    tools: list[JsonObject]
    """Tools in the form of OpenAI's chat completions."""


class StopInfo(Answer):
    """Says why an episode is over."""

    reason: str
    """Name of the reason, such as `finished` or `max_turns`."""
    text: str
    """Text that triggered the stop, such as the outcome that the environment gave."""


class RewardPart(Answer):
    """Gives a named reward of a participant."""

    participant: str
    name: str
    value: float


class ScoreInfo(Answer):
    """Describes how an episode has ended."""

    status: Literal["completed", "failed", "cancelled", "dropped"]
    reward: float | None
    """Reward of the policy; None unless the episode was scored."""
    rewards: list[RewardPart]
    failure: JsonObject | None
    """Reason of the failure, with the fields `kind`, `where` and `message`; None unless the episode failed."""


class SessionInfo(Answer):
    """Describes the state of a session."""

    id: str
    environment: str
    task_id: str
    participants: dict[str, View]
    """View of the policy, by its name; empty if the environment has no policy. The others' views are not shown."""
    stop: StopInfo | None
    """Reason why the episode is over: then it can only be scored. None as long as it is not over."""
    score: ScoreInfo | None
    """Score, once the session was scored or has failed; None before."""


class SessionEntry(Answer):
    """Describes a session in the list of a caller's sessions."""

    id: str
    environment: str
    task_id: str
    state: Literal["open", "committed"]
    """`open` until the session's episode is committed, then `committed`."""
    created_at: float
    """Seconds since 1970."""


class SessionList(Answer):
    """Gives a page of the caller's sessions, the newest first.

    The list has all sessions that are open, and those that have ended since the service was started.
    """

    sessions: list[SessionEntry]
    next: str | None = None
    """The cursor of the next page; None if this is the last one."""


class SessionOpened(SessionInfo):
    """Answers the request that opens a session."""

    openai_path: str
    """Path of the OpenAI-compatible endpoint for a black-box agent.

    Its base URL is the service's address with this path.
    """
    anthropic_path: str = ""
    """Path of the endpoint of Anthropic's Messages API, to whose clients the service's address with this path is the
    base URL.
    """
    mcp_path: str = ""
    """Path of the MCP server that offers the policy's tools to an agent."""
    api_key: str
    """Key that opens these endpoints and this session's other paths, and nothing else."""


class ToolCallRequest(Request):
    """Calls a tool for a participant."""

    participant: Name = "policy"
    name: Annotated[str, Field(max_length=1000)]
    """Name of the tool."""
    arguments: JsonObject | Text
    """Arguments of the tool as an object, or as the JSON text that the model wrote."""
    id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Id that the model gave the call; None: the service makes one."""


class ToolCallAnswer(Answer):
    """Gives the result of a tool call."""

    content: str
    """Text that the model reads; empty if the episode is over and the tool has given none."""
    error: str | None
    """Reason why the call was refused or could not be read, or why it has ended the episode; None without one."""
    stop: StopInfo | None
    """Reason of the stop if the episode is over now."""


class MessageRequest(Request):
    """Says something for a participant. The others hear it, and the service lets them answer."""

    participant: Name = "policy"
    content: Text


class MessageAnswer(Answer):
    """Gives the messages that the participant hears in reply, and the reason of the stop if the episode is over now."""

    messages: list[SeenMessage]
    stop: StopInfo | None


class Health(Answer):
    """Says that this gateway runs."""

    status: Literal["ok"]


class Readiness(Answer):
    """Says whether the service accepts requests, and names its models."""

    status: Literal["ready", "starting", "stopping"]
    models: list[str]
    """Names of the models of the service's config."""
