"""Makes the rows of episodes that were scored again. What was played stays as it is: events, tokens, masks, logprobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ray_gym.config.interpolations import Interpolation, failure_unfilled
from ray_gym.errors import Failure
from ray_gym.record.columns import column, lists
from ray_gym.record.rows import events_column, reward_of, rewards_of, samples_column
from ray_gym.record.schema import SAMPLES, SCHEMA
from ray_gym.rescoring.group import Rescored
from ray_gym.rescoring.recorded import RecordedEpisode

TOKENS = ("token_ids", "loss_mask", "logprobs")
"""Columns of samples that are arrays of numbers."""
_SAMPLE = SAMPLES.value_type


def read_episodes(table: pa.Table) -> list[RecordedEpisode]:
    """Reads the episodes of a table of rows. The arrays of their samples stay in the table, but for those of judges."""
    rows = table.drop_columns(["samples"]).to_pylist()
    nested = table.column("samples").combine_chunks()
    flat = nested.flatten()
    slim = _without(flat, TOKENS).to_pylist()
    for place, sample in enumerate(slim):
        if "/" in (sample["thread"] or ""):
            slim[place] = flat[place].as_py()
    ends = np.cumsum([0, *(pc.list_value_length(nested).fill_null(0).to_pylist())])
    return [RecordedEpisode(row, slim[ends[place] : ends[place + 1]]) for place, row in enumerate(rows)]


def rewritten(
    table: pa.Table,
    results: Sequence[Rescored],
    run_id: str,
    env_id: str,
    filled_in: tuple[Interpolation, ...] = (),
) -> pa.Table:
    """Returns new rows under `SCHEMA`. table: the recorded rows. results: a result for each row, in order. run_id: name of
    the new run. env_id: id of the environment that scored. filled_in: values that failures show with ${...}.

    Columns that neither the scoring nor the group's end decides are those of the record.
    """
    columns = {name: table.column(name).combine_chunks() for name in SCHEMA.names}
    facts = [_facts(one, run_id, env_id, filled_in) for one in results]
    for name in facts[0]:
        columns[name] = column(SCHEMA.field(name).type, [fact[name] for fact in facts])
    columns["events"] = _events(columns["events"], results)
    columns["samples"] = _samples(columns["samples"], results)
    return pa.Table.from_arrays([columns[name] for name in SCHEMA.names], schema=SCHEMA)


def _facts(one: Rescored, run_id: str, env_id: str, filled_in: tuple[Interpolation, ...]) -> dict[str, Any]:
    """Returns the columns of a row that the scoring or the group's end decides, without events and samples."""
    row, played = one.recorded.row, one.played
    kept = played.failure == one.recorded.failure
    failure = played.failure and failure_unfilled(played.failure, filled_in)
    told = {"kind": failure.kind, "where": failure.where, "message": failure.message} if failure else None
    return {
        "run_id": run_id,
        "env_id": env_id if one.is_scored else row["env_id"],
        "status": played.status,
        "failure": row["failure"] if kept else told,
        "traceback": row["traceback"] if kept else _traceback(failure),
        "reward": row["reward"] if not one.is_scored else played.score and played.score.reward,
        "rewards": row["rewards"] if not one.is_scored else rewards_of(played.score),
        "group_size": played.group_size,
        "group_completed": played.group_completed,
    }


def _traceback(failure: Failure | None) -> str | None:
    return failure.traceback if failure is not None else None


def _events(recorded: pa.ListArray, results: Sequence[Rescored]) -> pa.Array:
    """Returns the column of events: of an episode that was scored again, the recorded ones of its play, and those of the
    new scoring.
    """
    scored = [one for one in results if one.is_scored]
    news = []
    for one in scored:
        start = one.episode.played_events
        news.append([*one.recorded.events[:start], *one.episode.events[start:]])
    if not news:
        return recorded
    places = iter(range(len(recorded), len(recorded) + len(news)))
    picked = [next(places) if one.is_scored else n for n, one in enumerate(results)]
    return pa.concat_arrays([recorded, events_column(news)]).take(pa.array(picked))


def _samples(recorded: pa.ListArray, results: Sequence[Rescored]) -> pa.Array:
    """Returns the column of samples. Those of the play keep everything but their reward and `trainable`; after them come
    those of the judges that were asked in the new scoring.
    """
    made = samples_column([one.played for one in results if one.is_scored])
    old, new = _fields(recorded.flatten()), _fields(made.flatten())
    threads, counts_made = old["thread"].to_pylist(), iter(pc.list_value_length(made).to_pylist())
    start, added = 0, len(threads)
    picked: list[list[int]] = []
    for one, count in zip(results, pc.list_value_length(recorded).fill_null(0).to_pylist(), strict=True):
        own = list(range(start, start + count))
        if one.is_scored:
            count_made = next(counts_made)
            own = [n for n in own if threads[n] in one.episode.played_threads]
            own += range(added, added + count_made)
            added += count_made
        picked.append(own)
        start += count
    places = pa.array([n for own in picked for n in own], pa.int64())
    fields = {name: pa.concat_arrays([old[name], new[name]]).take(places) for name in old}
    owners = [one for one, own in zip(results, picked, strict=True) for _ in own]
    fields |= _decided(fields, owners)
    return lists(SAMPLES, map(len, picked), pa.StructArray.from_arrays(list(fields.values()), fields=list(_SAMPLE)))


def _decided(fields: Mapping[str, pa.Array], owners: Sequence[Rescored]) -> dict[str, pa.Array]:
    """Returns the fields of samples that the scoring and the group's end decide. `owners`: result of each sample's
    episode.
    """
    names, rewards = fields["participant"].to_pylist(), fields["reward"].to_pylist()
    given = [
        reward_of(name, one.played.score) if one.is_scored else reward
        for name, reward, one in zip(names, rewards, owners, strict=True)
    ]
    before = fields["trainable"].to_pylist()
    trainable = [
        before[n]
        if one.is_as_recorded
        else one.trains(name) and reward is not None and _has_sound_tokens(fields["spans"][n], fields["logprobs"][n])
        for n, (name, reward, one) in enumerate(zip(names, given, owners, strict=True))
    ]
    return {"trainable": column(pa.bool_(), trainable), "reward": column(pa.float64(), given)}


def _has_sound_tokens(spans: pa.ListScalar, logprobs: pa.ListScalar) -> bool:
    """Says whether a sample has a generated token, and only finite logprobs."""
    drawn = any(span["generated"] and span["end"] > span["start"] for span in spans.as_py() or ())
    return drawn and bool(np.isfinite(logprobs.values.to_numpy(zero_copy_only=False)).all())


def _fields(samples: pa.StructArray) -> dict[str, pa.Array]:
    """Returns the fields of samples by name, in the order of the schema."""
    found = dict(zip((field.name for field in samples.type), samples.flatten(), strict=True))
    return {field.name: found[field.name] for field in _SAMPLE}


def _without(samples: pa.StructArray, names: Sequence[str]) -> pa.StructArray:
    """Returns samples without some of their fields."""
    kept = {name: values for name, values in _fields(samples).items() if name not in names}
    return pa.StructArray.from_arrays(list(kept.values()), names=list(kept))
