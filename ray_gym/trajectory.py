"""The episode record: one row of a Parquet table an episode. The Arrow schema, and how a played episode becomes a row."""

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa
from msgspec.structs import asdict

from ray_gym.environment import Score
from ray_gym.errors import Failure, FailureKind
from ray_gym.events import Event
from ray_gym.ledger import Sample, Span
from ray_gym.models.base import Sampling
from ray_gym.play import Played
from ray_gym.spec import EpisodeSpec
from ray_gym.thread import Thread


def _rows(**fields: pa.DataType) -> pa.DataType:
    return pa.list_(pa.struct(list(fields.items())))


TEXT, INT, REAL, LONG = pa.string(), pa.int32(), pa.float64(), pa.int64()

FAILURE = pa.struct([("kind", TEXT), ("where", TEXT), ("message", TEXT)])
REWARDS = _rows(participant=TEXT, name=TEXT, value=REAL)
EVENTS = _rows(
    seq=INT,
    turn=INT,
    step=INT,
    thread=TEXT,
    participant=TEXT,
    kind=TEXT,
    role=TEXT,
    content=_rows(type=TEXT, text=TEXT),
    reasoning=TEXT,
    tool_calls=_rows(id=TEXT, name=TEXT, arguments=TEXT),
    tool_call_id=TEXT,
    visible_to=pa.list_(TEXT),
    finish_reason=TEXT,
    error=TEXT,
    reward=REAL,
    model=TEXT,
    started_at=REAL,
    duration_s=REAL,
)
SAMPLING = pa.struct(
    [
        ("temperature", REAL),
        ("top_p", REAL),
        ("top_k", INT),
        ("min_p", REAL),
        ("presence_penalty", REAL),
        ("frequency_penalty", REAL),
        ("repetition_penalty", REAL),
        ("grammar", TEXT),
    ]
)
SPANS = _rows(event_seq=INT, start=INT, end=INT, generated=pa.bool_(), sampling=SAMPLING, kind=TEXT)
SAMPLES = _rows(
    thread=TEXT,
    participant=TEXT,
    model=TEXT,
    trainable=pa.bool_(),
    reward=REAL,
    token_ids=pa.list_(INT),
    loss_mask=pa.list_(pa.int8()),
    logprobs=pa.list_(pa.float32()),
    versions=_rows(version=INT, start=INT, end=INT),
    spans=SPANS,
    fork_reason=TEXT,
)
USAGE = pa.struct(
    [
        (name, LONG)
        for name in ("prompt_tokens", "generated_tokens", "cached_tokens", "model_calls", "tool_calls", "tool_errors")
    ]
)
TIMING = pa.struct([(name, REAL) for name in ("active_s", "model_s", "tool_s")])

SCHEMA = pa.schema(
    [
        ("run_id", TEXT),
        ("episode_id", TEXT),
        ("task_id", TEXT),
        ("group_id", TEXT),
        ("repeat", INT),
        ("try", INT),
        ("attempt", INT),
        ("env_id", TEXT),
        ("seed", LONG),
        ("status", TEXT),
        ("stop_reason", TEXT),
        ("stop_text", TEXT),
        ("failure", FAILURE),
        ("reward", REAL),
        ("rewards", REWARDS),
        ("turns", INT),
        ("group_size", INT),
        ("group_completed", INT),
        ("task", TEXT),
        ("events", EVENTS),
        ("samples", SAMPLES),
        ("usage", USAGE),
        ("timing", TIMING),
        ("started_at", REAL),
        ("ended_at", REAL),
    ]
)

VOLATILE_COLUMNS = (
    "run_id",
    "attempt",
    "timing",
    "started_at",
    "ended_at",
    "usage.cached_tokens",
    "events.started_at",
    "events.duration_s",
)
"""What may differ between two plays of the same run; a dot leads into a struct or a list of them."""


def without_volatile(row: dict[str, Any]) -> dict[str, Any]:
    """A row as two plays of the same run must agree on it."""
    kept = {key: value for key, value in row.items() if key not in VOLATILE_COLUMNS}
    for path in VOLATILE_COLUMNS:
        column, _, field = path.partition(".")
        if field and kept[column] is not None:
            inner = kept[column]
            drop = [_without(item, field) for item in inner] if isinstance(inner, list) else _without(inner, field)
            kept[column] = drop
    return kept


def _without(struct: dict[str, Any], field: str) -> dict[str, Any]:
    return {key: value for key, value in struct.items() if key != field}


def as_row(played: Played, run_id: str, env_id: str) -> dict[str, Any]:
    """A played episode under `SCHEMA`."""
    episode, spec, usage = played.episode, played.episode.spec, asdict(played.episode.usage)
    stop = episode.stop
    return {
        **_identity(spec, run_id, env_id),
        "status": played.status,
        "stop_reason": stop.reason.value if stop else None,
        "stop_text": stop.text if stop else None,
        "failure": _failure(played.failure) if played.failure else None,
        "reward": played.score.reward if played.score else None,
        "rewards": _rewards(played.score),
        "turns": episode.turns_of("policy"),
        "group_size": played.group_size,
        "group_completed": played.group_completed,
        "task": spec.task,
        "events": [_event(event) for event in episode.events],
        "samples": [
            _sample(thread, sample, played.score)
            for thread in episode.threads.values()
            for sample in thread.ledger.samples
        ],
        "usage": usage,
        "timing": {"active_s": played.active_s, "model_s": usage["model_s"], "tool_s": usage["tool_s"]},
        "started_at": episode.started_at,
        "ended_at": played.ended_at,
    }


def _identity(spec: EpisodeSpec, run_id: str, env_id: str) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "episode_id": spec.episode_id,
        "task_id": spec.task_id,
        "group_id": spec.group_id,
        "repeat": spec.repeat,
        "try": spec.try_,
        "attempt": spec.attempt,
        "env_id": env_id,
        "seed": spec.seed,
    }


def _failure(failure: Failure) -> dict[str, Any]:
    return {"kind": failure.kind, "where": failure.where, "message": failure.message}


def _rewards(score: Score | None) -> list[dict[str, Any]]:
    if score is None:
        return []
    parts = [{"participant": "policy", "name": name, "value": float(value)} for name, value in score.parts.items()]
    others = [{"participant": name, "name": "reward", "value": float(value)} for name, value in score.others.items()]
    return [{"participant": "policy", "name": "reward", "value": score.reward}, *parts, *others]


def _event(event: Event) -> dict[str, Any]:
    """Its fields are the columns; only its words and its tool calls have parts."""
    row = asdict(event)
    row["content"] = [{"type": "text", "text": event.content}] if event.content else []
    row["tool_calls"] = [asdict(call) for call in event.tool_calls]
    return row


def _sample(thread: Thread, sample: Sample, score: Score | None) -> dict[str, Any]:
    participant = thread.participant
    return {
        "thread": thread.name,
        "participant": participant.name,
        "model": participant.model,
        "trainable": participant.trainable,
        "reward": _reward_of(participant.name, score),
        "token_ids": sample.token_ids,
        "loss_mask": sample.loss_mask,
        "logprobs": sample.logprobs,
        "versions": [asdict(version) for version in sample.versions],
        "spans": [_span(span) for span in sample.spans],
        "fork_reason": sample.fork_reason,
    }


def _reward_of(participant: str, score: Score | None) -> float | None:
    if score is None:
        return None
    return score.reward if participant == "policy" else score.others.get(participant)


def _span(span: Span) -> dict[str, Any]:
    return {
        "event_seq": span.event_seq,
        "start": span.start,
        "end": span.end,
        "generated": span.generated,
        "sampling": _sampling(span.sampling, span.grammar) if span.sampling else None,
        "kind": span.kind,
    }


def _sampling(sampling: Sampling, grammar: str | None) -> dict[str, Any]:
    """Made anew for each span: to look a sampling up takes longer, as its hash is that of all its fields."""
    shape = sampling.shape()
    shape["grammar"] = grammar
    return shape


def as_table(rows: list[dict[str, Any]]) -> pa.Table:
    """Rows that were `checked`, under `SCHEMA`."""
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def checked(row: dict[str, Any]) -> dict[str, Any]:
    """The row as it can be written: lone surrogates (JSON can spell them, UTF-8 can't) are replaced.

    Errors: TypeError and the like, if something in it is not of its column's type.
    """
    for event in row["events"]:
        for part in event["content"]:
            part["text"] = _encodable(part["text"])
        for name in ("role", "error", "reasoning", "tool_call_id"):
            if (value := event[name]) is not None:
                event[name] = _encodable(value)
        if event["tool_calls"]:
            event["tool_calls"] = _encodable(event["tool_calls"])
    row["stop_text"] = _encodable(row["stop_text"])
    row["failure"] = _encodable(row["failure"])
    for reward in row["rewards"]:
        reward["participant"], reward["name"] = _encodable(reward["participant"]), _encodable(reward["name"])
    return row


def failed_row(spec: EpisodeSpec, run_id: str, env_id: str, message: str) -> dict[str, Any]:
    """The row of an episode whose record could not be made."""
    now = time.time()
    return {
        **_identity(spec, run_id, env_id),
        "status": "failed",
        "stop_reason": "failed",
        "stop_text": message,
        "failure": {"kind": FailureKind.ENVIRONMENT.value, "where": "record", "message": message},
        "reward": None,
        "rewards": [],
        "turns": 0,
        "group_size": None,
        "group_completed": None,
        "task": spec.task,
        "events": [],
        "samples": [],
        "usage": None,
        "timing": None,
        "started_at": now,
        "ended_at": now,
    }


def _encodable(node: Any) -> Any:
    """Text, or none, or a list or dict of it. Errors: TypeError."""
    if isinstance(node, str):
        return node if node.isascii() else node.encode("utf-8", "replace").decode()
    if isinstance(node, dict):
        return {key: _encodable(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_encodable(item) for item in node]
    if node is not None:
        raise TypeError(f"expected text, got {type(node).__name__}")
    return None
