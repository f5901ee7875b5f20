"""Defines the episode record, a Parquet table with one row for each episode: its Arrow schema, and its volatile
columns.
"""

from __future__ import annotations

import time
from typing import Any

import pyarrow as pa

from ray_gym.episode.spec import EpisodeSpec
from ray_gym.errors import FailureKind
from ray_gym.messages import utf8

VERSION = 5
"""Version of this schema. Any change of a column raises it; `ray_gym.record.versions` reads files of all versions."""
READ_SINCE = "0.2.0"
"""First release of ray_gym that reads this version."""
VERSION_KEY, READ_SINCE_KEY = "ray_gym.record.version", "ray_gym.record.read_since"
"""Keys of a Parquet file's metadata for the two. They are part of the Arrow schema, so that no writer can leave them
out."""


def _rows(**fields: pa.DataType) -> pa.DataType:
    return pa.list_(pa.struct(list(fields.items())))


TEXT, INT, REAL, LONG = pa.string(), pa.int32(), pa.float64(), pa.int64()

FAILURE = pa.struct([("kind", TEXT), ("where", TEXT), ("message", TEXT)])
REWARDS = _rows(participant=TEXT, name=TEXT, value=REAL)
CONTENT = _rows(type=TEXT, text=TEXT)
TOOL_CALLS = _rows(id=TEXT, name=TEXT, arguments=TEXT)
VISIBLE_TO = pa.list_(TEXT)
EVENTS = _rows(
    seq=INT,
    turn=INT,
    step=INT,
    thread=TEXT,
    participant=TEXT,
    kind=TEXT,
    role=TEXT,
    content=CONTENT,
    reasoning=TEXT,
    tool_calls=TOOL_CALLS,
    tool_call_id=TEXT,
    visible_to=VISIBLE_TO,
    finish_reason=TEXT,
    error=TEXT,
    reward=REAL,
    model=TEXT,
    started_at=REAL,
    duration_s=REAL,
)
RENDERINGS = _rows(event_seq=INT, kind=TEXT, text=TEXT)
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
TOKEN_IDS, LOSS_MASK, LOGPROBS = pa.list_(INT), pa.list_(pa.int8()), pa.list_(pa.float32())
VERSIONS = _rows(version=INT, start=INT, end=INT)
SAMPLES = _rows(
    thread=TEXT,
    participant=TEXT,
    model=TEXT,
    trainable=pa.bool_(),
    reward=REAL,
    token_ids=TOKEN_IDS,
    loss_mask=LOSS_MASK,
    logprobs=LOGPROBS,
    versions=VERSIONS,
    spans=SPANS,
    fork_reason=TEXT,
)
REPEATED = pa.dictionary(INT, TEXT)
"""Type of a text that many rows share: each distinct text is stored once."""
USAGE = pa.struct(
    [
        (name, LONG)
        for name in ("prompt_tokens", "generated_tokens", "cached_tokens", "model_calls", "tool_calls", "tool_errors")
    ]
)
COSTS = _rows(participant=TEXT, model=TEXT, cost=REAL)
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
        ("traceback", TEXT),
        ("reward", REAL),
        ("rewards", REWARDS),
        ("turns", INT),
        ("group_size", INT),
        ("group_completed", INT),
        ("task", TEXT),
        ("events", EVENTS),
        ("samples", SAMPLES),
        ("tools_shown", REPEATED),
        ("renderings", RENDERINGS),
        ("usage", USAGE),
        ("cost", REAL),
        ("costs", COSTS),
        ("timing", TIMING),
        ("started_at", REAL),
        ("ended_at", REAL),
    ],
    metadata={VERSION_KEY: str(VERSION), READ_SINCE_KEY: READ_SINCE},
)
"""Arrow schema of the record; `docs/record.md` says what each column means."""

VOLATILE_COLUMNS = (
    "run_id",
    "attempt",
    "timing",
    "started_at",
    "ended_at",
    "usage.cached_tokens",
    "cost",
    "costs.cost",
    "events.started_at",
    "events.duration_s",
)
"""Columns in which two plays of the same run may differ. A dot leads into a struct, or a list of structs."""


def without_volatile(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a copy of a row without the columns in which two plays of the same run may differ
    (`VOLATILE_COLUMNS`).
    """
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


def identity(spec: EpisodeSpec, run_id: str, env_id: str) -> dict[str, Any]:
    """Returns the columns of a row that are known before the episode is played: ids of the run, the environment, the
    episode, its task and its group, and the numbers of its repeat, try, attempt and seed.
    """
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


def as_table(rows: list[dict[str, Any]]) -> pa.Table:
    """Makes a table under `SCHEMA` from rows as dictionaries. Rows of played episodes are made by `ray_gym.record.rows`
    instead. Errors: TypeError and pa.ArrowException for a value that is not of its column's type.
    """
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def failed_row(spec: EpisodeSpec, run_id: str, env_id: str, message: str) -> dict[str, Any]:
    """Makes a row without events for an episode whose own row could not be made; `message` says why. The episode counts
    as failed, by its environment.
    """
    now, message = time.time(), utf8(message)
    return {
        **identity(spec, run_id, env_id),
        "status": "failed",
        "stop_reason": "failed",
        "stop_text": message,
        "failure": {"kind": FailureKind.ENVIRONMENT.value, "where": "record", "message": message},
        "traceback": "",
        "reward": None,
        "rewards": [],
        "turns": 0,
        "group_size": None,
        "group_completed": None,
        "task": spec.task,
        "events": [],
        "samples": [],
        "tools_shown": "{}",
        "renderings": None,
        "usage": None,
        "cost": None,
        "costs": None,
        "timing": None,
        "started_at": now,
        "ended_at": now,
    }
