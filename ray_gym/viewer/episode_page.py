"""Reads one episode for its page: all that happened, with long texts cut, and what its samples are without their tokens."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np

from ray_gym.errors import UserError
from ray_gym.run.directory.storage import Storage
from ray_gym.viewer.run_index import RunIndex

LONGEST_TEXT = 20_000
"""Most characters of a text on the page; the rest is read when it is asked for (`text_of`)."""
LINE_PX, ROW_PX, MARGIN_PX, HIGHEST_PX = 20, 34, 24, 420
_ROWS = re.compile(r"<tr\b", re.IGNORECASE)
_LINES = re.compile(r"<(?:p|br|hr|li|h[1-6]|div|dt|dd|summary)\b|\n", re.IGNORECASE)
OF_SAMPLES = ("thread", "participant", "model", "trainable", "reward", "fork_reason", "versions", "spans")


class NoSuchEpisode(UserError):
    """Says that a run has no episode of an id."""


def episode_of(index: RunIndex, episode_id: str) -> dict[str, Any]:
    """Returns an episode's row as JSON values. Texts of more than LONGEST_TEXT characters are cut, and `cut` beside one
    has the number of all of its characters. `task` and `tools_shown` are read; samples have `tokens` and `generated`,
    the numbers of their tokens, in the place of the tokens, and `renderings` their heights in the place of their texts.

    Errors: NoSuchEpisode; UserError for a damaged file.
    """
    row = row_of(index, episode_id)
    row["task"] = _json(row["task"])
    row["tools_shown"] = _json(row["tools_shown"])
    for event in row["events"] or ():
        for part in event["content"] or ():
            _cut(part, "text")
        _cut(event, "reasoning")
        for call in event["tool_calls"] or ():
            _cut(call, "arguments")
    row["renderings"] = _outlines(row["renderings"])
    row["samples"] = [_without_tokens(sample) for sample in row["samples"] or ()]
    return row


def text_of(index: RunIndex, episode_id: str, seq: int) -> dict[str, Any]:
    """Returns an event whole, with texts of any length. Errors: NoSuchEpisode, also for one without this event."""
    for event in row_of(index, episode_id)["events"] or ():
        if event["seq"] == seq:
            found: dict[str, Any] = event
            return found
    raise NoSuchEpisode(f"episode {episode_id} has no event {seq}")


def row_of(index: RunIndex, episode_id: str) -> dict[str, Any]:
    """Returns an episode's row of the record. Errors: NoSuchEpisode; UserError for a damaged file."""
    place = index.place_of(episode_id)
    if place is None:
        raise NoSuchEpisode(f"there is no episode {episode_id}")
    try:
        return read_row(index.storage, *place)
    except FileNotFoundError:
        raise NoSuchEpisode(f"the file with episode {episode_id} is gone") from None


def read_row(storage: Storage, name: str, number: int) -> dict[str, Any]:
    """Returns a row of the record. `name`: that of a committed file; `number`: that of the row in it. Errors: OSError;
    UserError for a damaged file.
    """
    with storage.open_committed(name) as file:
        starts = file.starts()
        group = int(np.searchsorted(starts, number, side="right")) - 1
        rows = file.row_group(group).slice(number - starts[group], 1).to_pylist()
    found: dict[str, Any] = rows[0]
    return found


def _outlines(renderings: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """Returns, for each picture of an episode, the number of its event, and its height as far as it can be guessed, in
    pixels: a frame without any right can't be asked for it.
    """
    return [{"event_seq": one["event_seq"], "height": _height(one["text"])} for one in renderings or ()]


def _height(text: str) -> int:
    rows = len(_ROWS.findall(text))
    return min(HIGHEST_PX, MARGIN_PX + max(1, rows) * ROW_PX + len(_LINES.findall(text)) * LINE_PX)


def _without_tokens(sample: dict[str, Any]) -> dict[str, Any]:
    mask = sample["loss_mask"] or ()
    return {
        **{name: sample[name] for name in OF_SAMPLES},
        "tokens": len(sample["token_ids"] or ()),
        "generated": int(np.count_nonzero(np.asarray(mask, dtype=np.int8))),
    }


def _cut(holder: dict[str, Any], name: str) -> None:
    text = holder[name]
    if text is not None and len(text) > LONGEST_TEXT:
        holder[name] = text[:LONGEST_TEXT]
        holder["cut"] = len(text)


def _json(text: str | None) -> Any:
    """Returns what a column of JSON holds; the text itself if it is none."""
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return text
