"""What goes over the wire, in both directions: the gateway, its OpenAPI description and the client are typed by these."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from ray_gym.messages import ToolChoice
from ray_gym.openai_api.sampling import Request, SamplingChange, Whole

Sent = TypeVar("Sent", bound=Request)


def written(request: Request) -> bytes:
    """Some milliseconds a megabyte."""
    return request.model_dump_json(exclude_unset=True).encode()


def read(kind: type[Sent], text: bytes) -> Sent:
    """For threads: others have their turn after every object."""
    return kind.model_validate(json.loads(text, object_pairs_hook=_object))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """In Python, where the interpreter lets go."""
    return dict(pairs)


JsonObject = dict[str, Any]
Name = Annotated[str, Field(min_length=1, max_length=128)]
LONGEST_TEXT = 1_000_000
Text = Annotated[str, Field(max_length=LONGEST_TEXT)]
Seed = Annotated[Whole, Field(ge=0, lt=2**63)]

RolloutState = Literal["queued", "running", "done", "failed", "cancelled"]


class Answer(BaseModel):
    """Fields may be added to answers: clients ignore those that they don't know."""

    model_config = ConfigDict(frozen=True)


# ---- errors ----


class Problem(Answer):
    """In the shape of OpenAI's API, so that its clients understand it."""

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
    """Whether tasks can be generated."""


class EnvironmentList(Answer):
    environments: list[EnvironmentInfo]


# ---- rollouts ----


class ParticipantChange(Request):
    """What differs from the service's config."""

    model: Name | None = None
    system_prompt: Text | None = None
    sampling: SamplingChange = SamplingChange()
    tool_choice: ToolChoice | None = None
    stop_text: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    max_turns: Annotated[Whole, Field(ge=1, le=10_000)] | None = None
    max_steps_per_turn: Annotated[Whole, Field(ge=1, le=10_000)] | None = None


class RolloutRequest(Request):
    """Tasks as they are, generated ones, or a source of the service's config; without any of these, its source `default`."""

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
    """Submitted."""
    statuses: dict[str, int]
    """Of those that are over: completed, failed, cancelled, dropped."""
    stop_reasons: dict[str, int]
    reward_mean: float | None
    failure: str | None
    created_at: float
    started_at: float | None
    ended_at: float | None


class RolloutList(Answer):
    """The newest first."""

    rollouts: list[RolloutStatus]
    next: str | None = None
    """The cursor of the next page; None if this is the last one."""


class EpisodePage(Answer):
    """Episodes in the order in which they were committed, each as its row of the table; docs/record.md has the columns."""

    episodes: list[JsonObject]
    next: str | None
    """The cursor of the next page; None when there is nothing more and there never will be."""


class GroupDone(Answer):
    """An event of the stream; its id is the cursor to go on from."""

    group_id: str
    task_id: str
    episodes: list[JsonObject]


# ---- sessions ----


class SessionRequest(Request):
    environment: Name | None = None
    task: JsonObject | None = None
    """A row of the environment's; None: one is generated from `seed`."""
    seed: Seed = 0


class ToolCallPart(BaseModel):
    id: str
    name: str
    arguments: str
    """JSON text."""


class SeenMessage(Answer):
    """A message as a participant sees it."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    reasoning: str | None = None
    tool_calls: list[ToolCallPart] = []
    tool_call_id: str | None = None


class View(Answer):
    """What one participant sees of a session."""

    messages: list[SeenMessage]
    tools: list[JsonObject]
    """As OpenAI's chat completions take them."""


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
    """kind, where, message."""


class SessionInfo(Answer):
    id: str
    environment: str
    task_id: str
    participants: dict[str, View]
    stop: StopInfo | None
    """Set when the episode is over: then it can only be scored."""
    score: ScoreInfo | None
    """Set once it was scored, or has failed."""


class SessionEntry(Answer):
    """Of a list."""

    id: str
    environment: str
    task_id: str
    state: Literal["open", "committed"]
    """open: until its episode is in the table."""
    created_at: float


class SessionList(Answer):
    """The newest first: all that are open, and those that have ended since the service was started."""

    sessions: list[SessionEntry]
    next: str | None = None
    """The cursor of the next page; None if this is the last one."""


class SessionOpened(SessionInfo):
    openai_path: str
    """Where a black-box agent finds an OpenAI-compatible endpoint (its base URL is the service's address with this path)."""
    api_key: str
    """Opens that endpoint, and this session's other doors, and nothing else."""


class ToolCallRequest(Request):
    participant: Name = "policy"
    name: Annotated[str, Field(max_length=1000)]
    arguments: JsonObject | Text
    """An object, or its JSON text as the model wrote it."""
    id: Annotated[str, Field(min_length=1, max_length=200)] | None = None


class ToolCallAnswer(Answer):
    content: str
    error: str | None
    stop: StopInfo | None


class MessageRequest(Request):
    """What a participant says; the others hear it, and those that the service simulates answer."""

    participant: Name = "policy"
    content: Text


class MessageAnswer(Answer):
    """What the participant hears then, and whether the episode is over."""

    messages: list[SeenMessage]
    stop: StopInfo | None


class Health(Answer):
    status: Literal["ok"]


class Readiness(Answer):
    status: Literal["ready", "starting", "stopping"]
    models: list[str]
