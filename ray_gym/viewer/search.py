"""Searches what was said in a run, file by file, so that the first hits are there long before the last file is read.

A text is found in the content of events, in thoughts, and in the names and arguments of calls; whatever the case, unless
it has a capital. Nothing is kept between two searches: the files are read anew.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ray_gym.errors import UserError
from ray_gym.run.directory.parquet import DamagedRows
from ray_gym.run.directory.storage import Storage
from ray_gym.viewer.queries import Selection, places_of
from ray_gym.viewer.run_index import RunIndex

AHEAD = 4
"""Number of files that are read while the hits of one are told."""
AROUND = 80
"""Most characters of a snippet on each side of what was found."""
ELEMENT = "events.list.element"
PARTS = {
    "content": f"{ELEMENT}.content.list.element.text",
    "reasoning": f"{ELEMENT}.reasoning",
    "call": f"{ELEMENT}.tool_calls.list.element.name",
    "arguments": f"{ELEMENT}.tool_calls.list.element.arguments",
}
"""Columns of a file that are searched, by the name of the part."""
READ = ["episode_id", f"{ELEMENT}.seq", f"{ELEMENT}.participant", f"{ELEMENT}.kind", *PARTS.values()]


@dataclass(frozen=True, slots=True)
class Hit:
    """Says where a text was found."""

    episode_id: str
    seq: int
    """Number of the event in its episode."""
    participant: str | None
    kind: str
    """Kind of the event."""
    part: str
    """Part of the event: a key of `PARTS`."""
    before: str
    found: str
    after: str


@dataclass(slots=True)
class Found:
    """Tells how far a search is."""

    hits: list[Hit] = field(default_factory=list)
    """Hits that are new since the last one was told; none beyond the most that are wanted."""
    count: int = 0
    """Number of the hits in all files that were read."""
    episodes: int = 0
    """Number of the episodes that have a hit."""
    files: int = 0
    """Number of the files that were read."""
    of: int = 0
    """Number of the files to read."""
    by: dict[str, int] = field(default_factory=dict)
    """Numbers of the hits by the participant whose event has them; "" for events of nobody."""


def search(index: RunIndex, text: str, selection: Selection, most: int, by: str | None = None) -> Iterator[Found]:
    """Yields how far the search is after each file, with at most `most` hits in all. Ends early when it is closed.

    `by`: participant whose events are searched; None for all. Errors: UserError for an empty text; those of `places_of`.
    """
    if not text:
        raise UserError("search: give a text to look for")
    is_narrowed = selection.filters or selection.where.strip() or selection.only is not None
    places = places_of(index, selection) if is_narrowed else None
    names = [(number, name) for number, name in enumerate(index.files) if name]
    wanted = [(name, None if places is None else places.get(number)) for number, name in names]
    jobs = [(name, places_in) for name, places_in in wanted if places is None or places_in is not None]
    found, left = Found(of=len(jobs)), most
    with ThreadPoolExecutor(AHEAD) as pool:
        coming = iter(jobs)
        running: deque[Future[Any]] = deque(
            pool.submit(_search_file, index, name, text, at, most, by) for name, at in islice(coming, AHEAD)
        )
        try:
            while running:
                hits, of_each, episodes = running.popleft().result()
                for name, at in islice(coming, 1):
                    running.append(pool.submit(_search_file, index, name, text, at, left, by))
                of_each.update(found.by)
                counts = found.count + of_each.total() - sum(found.by.values()), found.episodes + episodes
                found = Found(hits[:left], *counts, found.files + 1, found.of, dict(of_each))
                left -= len(found.hits)
                yield found
        finally:
            for one in running:
                one.cancel()


def _search_file(
    index: RunIndex, name: str, text: str, places: Sequence[int] | None, most: int, by: str | None
) -> tuple[list[Hit], Counter[str], int]:
    """Returns at most `most` hits of a file, the numbers of all by participant, and the number of the episodes that have
    one. What can't be read has none: the index names it.
    """
    try:
        table, numbers = _read(index.storage, name)
    except (UserError, OSError):
        return [], Counter(), 0
    rows, events = _events_of(table.column("events").combine_chunks())
    found = [_matches(part, events, text) for part in PARTS]
    who = pc.fill_null(pc.struct_field(events, "participant"), "")
    wanted = np.ones(len(rows), dtype=bool) if by is None else pc.equal(who, by).to_numpy(zero_copy_only=False)
    if places is not None:
        wanted = wanted & np.isin(numbers[rows], np.asarray(places))
    at = np.concatenate([event for event, _ in found])
    at = at[wanted[at]]
    hits = list(islice(_hits(table, rows, events, found, text, wanted), most)) if most > 0 else []
    return hits, Counter(who.take(pa.array(at)).to_pylist()), len(np.unique(rows[at]))


def _read(storage: Storage, name: str) -> tuple[pa.Table, Any]:
    """Returns the rows of a file that can be read, and the number of each in the file. Errors: UserError, OSError if
    none can.
    """
    try:
        with storage.open_committed(name) as file:
            return file.table(READ), np.arange(len(file))
    except DamagedRows as error:
        problem = error
    with storage.open_committed(name) as file:
        starts = file.starts()
    parts, numbers = list[pa.Table](), list[Any]()
    for group, start in enumerate(starts):
        with suppress(DamagedRows), storage.open_committed(name) as file:
            parts.append(file.row_group(group, READ))
            numbers.append(start + np.arange(len(parts[-1])))
    if not parts:
        raise problem
    return pa.concat_tables(parts), np.concatenate(numbers)


def _events_of(events: Any) -> tuple[Any, Any]:
    """Returns the number of each event's row, and the events as structs."""
    return pc.list_parent_indices(events).to_numpy(zero_copy_only=False), events.flatten()


def _texts(part: str, events: Any) -> tuple[Any, Any]:
    """Returns the texts of a part of all events, and the number of each one's event."""
    if part == "reasoning":
        return pc.struct_field(events, "reasoning"), np.arange(len(events))
    items = pc.struct_field(events, "content" if part == "content" else "tool_calls")
    name = {"content": "text", "call": "name", "arguments": "arguments"}[part]
    return pc.struct_field(items.flatten(), name), pc.list_parent_indices(items).to_numpy(zero_copy_only=False)


def _matches(part: str, events: Any, text: str) -> tuple[Any, Any]:
    """Returns the numbers of the events in which a part has the text, and the texts that have it."""
    texts, owners = _texts(part, events)
    is_found = pc.fill_null(pc.match_substring(texts, text, ignore_case=text == text.lower()), False)
    return owners[is_found.to_numpy(zero_copy_only=False)], texts.filter(is_found)


def _hits(table: pa.Table, rows: Any, events: Any, found: Sequence[Any], text: str, wanted: Any) -> Iterator[Hit]:
    """Yields the hits of a file by the order of the events. `found`: matches by part, in the order of `PARTS`. `wanted`:
    whether each event is searched, bool [events].
    """
    each = sorted(
        (int(event), number, place)
        for number, (owners, _) in enumerate(found)
        for place, event in enumerate(owners.tolist())
    )
    names, parts = table.column("episode_id"), list(PARTS)
    seqs, participants, kinds = (pc.struct_field(events, name) for name in ("seq", "participant", "kind"))
    for event, number, place in each:
        if not wanted[event]:
            continue
        row = int(rows[event])
        snippet = _snippet(found[number][1][place].as_py(), text)
        yield Hit(
            names[row].as_py(),
            seqs[event].as_py(),
            participants[event].as_py(),
            kinds[event].as_py(),
            parts[number],
            *snippet,
        )


def _snippet(whole: str, text: str) -> tuple[str, str, str]:
    """Returns what stands before, what was found, and what stands after it, the first time."""
    found = re.search(re.escape(text), whole, re.IGNORECASE if text == text.lower() else 0)
    at, end = found.span() if found else (0, 0)
    return whole[max(0, at - AROUND) : at], whole[at:end], whole[end : end + AROUND]
