"""Reads the tokens of one sample for the view of what the model saw: ids, texts, masks, logprobs, versions, and what a
trainer has noted of them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ray_gym.errors import UserError
from ray_gym.run.directory.storage import Storage
from ray_gym.viewer.episode_page import NoSuchEpisode, row_of
from ray_gym.viewer.run_index import RunIndex

ANNOTATIONS = "annotations"
"""Folder of a run with what trainers noted of its tokens."""
NOTED = ("logprob", "entropy", "advantage")
Annotations: TypeAlias = dict[tuple[str, int], pa.Table]
"""Rows that trainers noted, by the episode and the number of the sample."""


class Texts(Protocol):
    """Gives the texts of tokens."""

    def texts(self, ids: Sequence[int]) -> Mapping[int, str]:
        """Returns the text of each id."""
        ...

    def control(self, ids: Sequence[int]) -> set[int]:
        """Returns the ids that are control tokens."""
        ...


@dataclass(frozen=True, slots=True)
class SampleTokens:
    """Holds the tokens of a sample. All lists have one entry a token, but for `vocabulary`."""

    token_ids: list[int]
    loss_mask: list[int]
    logprobs: list[float | None]
    """Logprobs of generated tokens; None elsewhere, and for one that is not finite."""
    versions: list[int | None]
    """Version of the weights that generated the token; None for one that was not generated."""
    kinds: list[int]
    """Place in `spans` of the token's span; -1 outside of all."""
    spans: list[dict[str, Any]]
    """Spans, as the record has them."""
    vocabulary: dict[int, str] | None
    """Text of each id that is there; None if there is no tokenizer."""
    control: list[int]
    """Ids that are control tokens."""
    annotations: dict[str, list[float | None]]
    """Values that a trainer noted, by column; empty without annotations."""


def tokens_of(index: RunIndex, episode_id: str, number: int, texts: Texts | None) -> SampleTokens:
    """Returns the tokens of an episode's sample. `number`: its place in the episode's `samples`. `texts`: texts of the
    model's tokens; None without a tokenizer. Errors: NoSuchEpisode, also for one without this sample; UserError for a
    damaged file.
    """
    noted = annotations_in(index.storage, {(episode_id, number)})
    return tokens_in(row_of(index, episode_id), number, texts, noted)


def tokens_in(row: Mapping[str, Any], number: int, texts: Texts | None, noted: Annotations) -> SampleTokens:
    """Returns the tokens of a sample of an episode whose row of the record was read. `noted`: annotations of the sample,
    and of others. Errors: NoSuchEpisode if the episode has no such sample.
    """
    samples = row["samples"] or []
    if not 0 <= number < len(samples):
        raise NoSuchEpisode(f"episode {row['episode_id']} has {len(samples)} samples, and no sample {number}")
    sample = samples[number]
    ids, mask = sample["token_ids"], sample["loss_mask"]
    logprobs = np.asarray(sample["logprobs"], dtype=np.float64)
    known = np.isfinite(logprobs) & (np.asarray(mask) == 1)
    used = sorted(set(ids))
    return SampleTokens(
        ids,
        mask,
        [round(float(value), 5) if is_known else None for value, is_known in zip(logprobs, known, strict=True)],
        _spread(sample["versions"], "version", len(ids), None),
        _spread([{**span, "place": place} for place, span in enumerate(sample["spans"])], "place", len(ids), -1),
        sample["spans"],
        None if texts is None else dict(texts.texts(used)),
        [] if texts is None else sorted(texts.control(used)),
        _placed(noted.get((row["episode_id"], number)), len(ids)),
    )


def _spread(spans: Sequence[Mapping[str, Any]], name: str, length: int, empty: Any) -> list[Any]:
    """Returns the value of the span that each of `length` tokens is in."""
    values = [empty] * length
    for span in spans:
        start, end = max(0, span["start"]), min(length, span["end"])
        values[start:end] = [span[name]] * max(0, end - start)
    return values


def annotations_in(storage: Storage, wanted: Collection[tuple[str, int]]) -> Annotations:
    """Returns what trainers noted of the tokens of samples: rows of an annotations' file by episode and sample, those of
    the highest step that has the sample. A file that can't be read is passed over.
    """
    found: Annotations = {}
    missing = set(wanted)
    for name in sorted(storage.names(ANNOTATIONS), reverse=True):
        if not missing:
            break
        if not name.endswith(".parquet"):
            continue
        with suppress(pa.ArrowException, OSError, KeyError, UserError):
            for key, rows in _of_file(storage, name, missing):
                found[key] = rows
                missing.discard(key)
    return found


def _of_file(
    storage: Storage, name: str, wanted: Collection[tuple[str, int]]
) -> list[tuple[tuple[str, int], pa.Table]]:
    columns = ["episode_id", "sample", "position", *NOTED]
    path = storage.at(f"{ANNOTATIONS}/{name}")
    episodes = pc.field("episode_id").isin(sorted({episode for episode, _ in wanted}))
    rows = pq.read_table(path, columns=columns, filesystem=storage.filesystem).filter(episodes)
    if not rows.num_rows:
        return []
    each = [
        ((episode, sample), rows.filter((pc.field("episode_id") == episode) & (pc.field("sample") == sample)))
        for episode, sample in wanted
    ]
    return [(key, kept) for key, kept in each if kept.num_rows]


def _placed(found: pa.Table | None, length: int) -> dict[str, list[float | None]]:
    """Returns the values that were noted, by column and position; nothing without annotations."""
    return {} if found is None else {column: _column(found, column, length) for column in NOTED}


def _column(found: pa.Table, column: str, length: int) -> list[float | None]:
    values: list[float | None] = [None] * length
    for position, value in zip(found.column("position").to_pylist(), found.column(column).to_pylist(), strict=True):
        if 0 <= position < length and value is not None and np.isfinite(value):
            values[position] = round(float(value), 5)
    return values
