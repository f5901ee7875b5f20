"""Defines the service's requests and answers, which are JSON.

They type the gateway, its OpenAPI description and the client.
"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from ray_gym.messages import ToolChoice
from ray_gym.openai_api.sampling import Request, SamplingChange, Whole

Sent = TypeVar("Sent", bound=Request)


def to_json(request: Request) -> bytes:
    """Returns the request as JSON with the fields that were set. Takes some milliseconds a megabyte."""
    return request.model_dump_json(exclude_unset=True).encode()


def read(kind: type[Sent], text: bytes) -> Sent:
    """Reads a request from JSON. Call it in a thread: other threads have their turn after every JSON object.

    Errors: ValueError (pydantic's ValidationError) for JSON that is not such a request.
    """
    return kind.model_validate(json.loads(text, object_pairs_hook=_object))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Makes an object's dictionary in Python code, so that the interpreter may switch to another thread here."""
    return dict(pairs)


JsonObject = dict[str, Any]
Name = Annotated[str, Field(min_length=1, max_length=128)]
LONGEST_TEXT = 1_000_000
Text = Annotated[str, Field(max_length=LONGEST_TEXT)]
Seed = Annotated[Whole, Field(ge=0, lt=2**63)]

RolloutState = Literal["queued", "running", "done", "failed", "cancelled"]


class Answer(BaseModel):
    """An answer of the service. Later versions may add fields: clients ignore those that they don't know."""

    model_config = ConfigDict(frozen=True)


# ---- errors ----


class Problem(Answer):
    """Says what was wrong with a request, in the shape of OpenAI's API, so that its clients understand it."""

    message: str
    type: str
    code: str
    param: str | None = None


class ErrorAnswer(Answer):
    error: Problem


# ---- what there is ----


class EnvironmentInfo(Answer):
    name: str
    description: str
    pattern: str
    participants: list[str]
    auxiliary: list[str]
    tools: list[str]
    scoring: str
    reward_range: tuple[float, float]
    task_schema: JsonObject
    """JSON schema of a task."""
    generates: bool
    """True if the environment can generate tasks."""


class EnvironmentList(Answer):
    environments: list[EnvironmentInfo]


# ---- rollouts ----


class ParticipantChange(Request):
    """Changes a participant for one rollout. A field that is not given stays as it is in the service's config."""

    model: Name | None = None
    system_prompt: Text | None = None
    sampling: SamplingChange = SamplingChange()
    tool_choice: ToolChoice | None = None
    stop_text: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    max_turns: Annotated[Whole, Field(ge=1, le=10_000)] | None = None
    max_steps_per_turn: Annotated[Whole, Field(ge=1, le=10_000)] | None = None


class RolloutRequest(Request):
    """Asks for a rollout of tasks that are given, of generated ones, or of those of a source in the service's config.

    Without any of these, the tasks come from the source `default`.
    """

    environment: Name | None = None
    tasks: Annotated[list[JsonObject], Field(min_length=1, max_length=100_000)] | None = None
    generate: Annotated[Whole, Field(ge=1, le=1_000_000)] | None = None
    source: Name | None = None
    limit: Annotated[Whole, Field(ge=1, le=1_000_000)] | None = None
    repeats: Annotated[Whole, Field(ge=1, le=10_000)] = 1
    seed: Seed = 0
    participants: Annotated[dict[Name, ParticipantChange], Field(max_length=16)] = {}  # noqa: RUF012 (pydantic copies it)


class RolloutStatus(Answer):
    id: str
    environment: str
    state: RolloutState
    episodes: int
    """Number of episodes that the rollout has."""
    statuses: dict[str, int]
    """Number of the episodes that are over, by status: completed, failed, cancelled, dropped."""
    stop_reasons: dict[str, int]
    reward_mean: float | None
    failure: str | None
    created_at: float
    started_at: float | None
    ended_at: float | None


class RolloutList(Answer):
    """Gives a page of the caller's rollouts, the newest first."""

    rollouts: list[RolloutStatus]
    next: str | None = None
    """The cursor of the next page; None if this is the last one."""


class EpisodePage(Answer):
    """Gives episodes in the order of their commits, each as its row of the table; docs/record.md has the columns."""

    episodes: list[JsonObject]
    next: str | None
    """The cursor of the next page; None when there is nothing more and there never will be."""


class GroupDone(Answer):
    """A group whose episodes are all over: an event of the stream. The event's id is the cursor after the group."""

    group_id: str
    task_id: str
    episodes: list[JsonObject]


# ---- sessions ----


class SessionRequest(Request):
    environment: Name | None = None
    task: JsonObject | None = None
    """Task to play, with the fields of the environment's `task_schema`; None: one is generated from `seed`."""
    seed: Seed = 0


class ToolCallPart(BaseModel):
    id: str
    name: str
    arguments: str
    """JSON text."""


class SeenMessage(Answer):
    """Shows a message as a participant sees it."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    reasoning: str | None = None
    tool_calls: list[ToolCallPart] = []
    tool_call_id: str | None = None


class View(Answer):
    """Shows the messages of a session that one participant sees, and the tools that it may call."""

    messages: list[SeenMessage]
    tools: list[JsonObject]
    """Tools in the form of OpenAI's chat completions."""


class StopInfo(Answer):
    reason: str
    text: str


class RewardPart(Answer):
    participant: str
    name: str
    value: float


class ScoreInfo(Answer):
    status: Literal["completed", "failed", "cancelled", "dropped"]
    reward: float | None
    rewards: list[RewardPart]
    failure: JsonObject | None
    """Reason of the failure, with the fields `kind`, `where` and `message`; None unless the episode failed."""


class SessionInfo(Answer):
    id: str
    environment: str
    task_id: str
    participants: dict[str, View]
    stop: StopInfo | None
    """Reason why the episode is over: then it can only be scored. None as long as it goes on."""
    score: ScoreInfo | None
    """Score, once the session was scored or has failed; None before."""


class SessionEntry(Answer):
    """An entry in the list of a caller's sessions."""

    id: str
    environment: str
    task_id: str
    state: Literal["open", "committed"]
    """`open` until the session's episode is in the table, then `committed`."""
    created_at: float


class SessionList(Answer):
    """Gives a page of the caller's sessions, the newest first.

    Listed are all that are open, and those that have ended since the service was started.
    """

    sessions: list[SessionEntry]
    next: str | None = None
    """The cursor of the next page; None if this is the last one."""


class SessionOpened(SessionInfo):
    openai_path: str
    """Path of the OpenAI-compatible endpoint for a black-box agent.

    Its base URL is the service's address with this path.
    """
    api_key: str
    """Key that opens that endpoint and this session's other paths, and nothing else."""


class ToolCallRequest(Request):
    participant: Name = "policy"
    name: Annotated[str, Field(max_length=1000)]
    arguments: JsonObject | Text
    """Arguments of the tool as an object, or as the JSON text that the model wrote."""
    id: Annotated[str, Field(min_length=1, max_length=200)] | None = None


class ToolCallAnswer(Answer):
    content: str
    error: str | None
    stop: StopInfo | None


class MessageRequest(Request):
    """Says something for a participant. The others hear it, and those that the service simulates answer."""

    participant: Name = "policy"
    content: Text


class MessageAnswer(Answer):
    """Gives the messages that the participant hears in reply, and the reason of the stop if the episode is over now."""

    messages: list[SeenMessage]
    stop: StopInfo | None


class Health(Answer):
    status: Literal["ok"]


class Readiness(Answer):
    status: Literal["ready", "starting", "stopping"]
    models: list[str]
