"""Reads pages: of a list of rollouts or sessions, and of the committed episodes of a run.

The episodes of a run come in the order in which they were committed, from a cursor on. The cursor `17.40` is the place
after row 40 of commit 17. No row before it is read again, and committed rows never change. The functions that take the
`location` of a run read files and block: call them in threads.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa

from ray_gym.errors import UserError
from ray_gym.openai_api.refused import Refused, unprocessable_content
from ray_gym.record.schema import SCHEMA
from ray_gym.run.directory.commit_order import number_of
from ray_gym.run.directory.location import storage_at
from ray_gym.run.directory.storage import EPISODES, Storage

logger = logging.getLogger(__name__)

Row = dict[str, Any]
"""Row of an episode (`ray_gym.record.schema.SCHEMA`), by column, with values that JSON has."""

LIST_CURSOR = r"^[0-9]{1,17}-[0-9a-f]{32}$"
"""Regular expression of the cursors of lists: microseconds since 1970, and the id of a rollout or session."""
FILES_KEPT = 4
"""Number of tables that stay in memory after they were read, so that paging through a file reads it once."""
PAGE_BYTES = 32 * 2**20
"""Bytes of rows in memory after which a page takes no further file."""
GROUPS_BYTES = 2**20
"""Most bytes of several groups that are returned at once. One group alone may be larger."""
LOOKS = 3
"""Number of times that a folder is listed if a file seems to be missing."""
_EPISODE_CURSOR = re.compile(r"([0-9]{1,12})\.([0-9]{1,12})", re.ASCII)


# ---- lists ----


class Listed(Protocol):
    """An item of a list is a rollout or a session."""

    @property
    def id(self) -> str:
        """Returns the id: 32 hexadecimal digits."""
        ...

    @property
    def created_at(self) -> float:
        """Returns the seconds of `time.time()` at which the item was made."""
        ...


Item = TypeVar("Item", bound=Listed)


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """A page is a part of a list that has the newest items first."""

    items: list[Item]
    next: str | None
    """Cursor of the next page; None if this is the last one."""


def list_newest(items: Iterable[Item], cursor: str | None, limit: int) -> Page[Item]:
    """Returns a page with at most `limit` items, the newest first.

    `cursor` is the `next` of the page before (it fits `LIST_CURSOR`), or None for the first page.
    """
    found = sorted(items, key=_place_of, reverse=True)
    if cursor is not None:
        microseconds, _, id = cursor.partition("-")
        found = [item for item in found if _place_of(item) < (int(microseconds), id)]
    shown = found[:limit]
    return Page(shown, _cursor_after(shown[-1]) if len(found) > limit else None)


def _place_of(item: Listed) -> tuple[int, str]:
    """Returns the microseconds at which an item was made, and its id: lists are sorted by them."""
    return int(item.created_at * 1e6), item.id


def _cursor_after(item: Listed) -> str:
    microseconds, id = _place_of(item)
    return f"{microseconds}-{id}"


# ---- episodes ----


@dataclass(frozen=True, slots=True, order=True)
class EpisodeCursor:
    """A cursor is a place in a run: after the first `row` rows of a commit. Its text is `COMMIT.ROW`."""

    commit: int = 0
    """Number of the commit, from 1; 0 at the start of the run."""
    row: int = 0
    """Number of the commit's rows before the place."""

    @classmethod
    def parse(cls, text: str | None) -> EpisodeCursor:
        """Reads a cursor from its text; None gives the start of the run. Errors: Refused (422) for any other text."""
        if text is None:
            return cls()
        found = _EPISODE_CURSOR.fullmatch(text)
        if found is None:
            raise _refuse_cursor(text)
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.commit}.{self.row}"


@dataclass(frozen=True, slots=True)
class EpisodeAt:
    """Holds an episode's row, with the cursor at which reading continues."""

    cursor: str
    """Place after the episode."""
    row: Row


@dataclass(frozen=True, slots=True)
class GroupAt:
    """Holds a group's rows, with the cursor at which reading continues."""

    cursor: str
    """Place after the group."""
    group_id: str
    task_id: str
    """Id of the task that all episodes of the group play."""
    episodes: list[Row]
    """Rows of the group's episodes."""


def read_episodes(
    location: str, cursor: str | None, limit: int, samples: bool = True, commits: int = 0
) -> list[EpisodeAt]:
    """Reads the next episodes after a cursor (None: the start): at most `limit`, and at least one if there are any.

    They are fewer than `limit` if there are no more yet, or if they are large. `samples`: True if rows have their
    column `samples`, which holds the tokens. `commits` is the number of committed files that the caller knows of.
    Errors: Refused for a cursor that is no place in this run, and for files that are missing or can't be read.
    """
    found: list[EpisodeAt] = []
    weight = 0
    for commit, part, start in _parts_after(location, cursor, commits):
        table = part.rows(samples).slice(start, limit - len(found))
        found += [
            EpisodeAt(str(EpisodeCursor(commit, start + n)), row) for n, row in enumerate(_rows_of(table), start=1)
        ]
        weight += table.nbytes
        if len(found) >= limit or weight >= PAGE_BYTES:
            break
    return found


def read_groups(location: str, cursor: str | None, limit: int, samples: bool = True, commits: int = 0) -> list[GroupAt]:
    """Reads the next groups after a cursor (None: the start): at most `limit` whole groups, all of one file.

    They are fewer than `limit` if they are large, or if the file has no more, and none if there are no more yet. A
    group that the cursor splits is given whole. `samples`: True if rows have their column `samples`, which holds the
    tokens. `commits` is the number of committed files that the caller knows of. Errors: Refused for a cursor that is no
    place in this run, and for a file that is missing or can't be read.
    """
    for commit, part, start in _parts_after(location, cursor, commits):
        table = part.rows(samples)
        ends = [end for end in _group_ends(table) if end > start][:limit]
        if not ends:
            continue
        first = max((end for end in _group_ends(table) if end <= start), default=0)
        while len(ends) > 1 and table.slice(first, ends[-1] - first).nbytes > GROUPS_BYTES:
            ends.pop()
        rows = _rows_of(table.slice(first, ends[-1] - first))
        return [
            GroupAt(str(EpisodeCursor(commit, end)), group[0]["group_id"], group[0]["task_id"], group)
            for start, end in zip([first, *ends], ends, strict=False)
            if (group := rows[start - first : end - first])
        ]
    return []


def has_more(location: str, cursor: str | None, commits: int = 0) -> bool:
    """Says whether any episode is after the cursor (None: the start) by now.

    `commits` is the number of committed files that the caller knows of. Errors: Refused for a cursor that is no place
    in this run, and for a file that is missing or can't be read.
    """
    return next(_parts_after(location, cursor, commits), None) is not None


def find_episode(location: str, episode_id: str, file: str | None = None) -> Row | None:
    """Finds an episode's row, tokens included, by its id in the committed file `file`; None if it is not there.

    If the file is not known, all files are searched, the newest first. Errors: Refused for a file that can't be read.
    """
    storage = storage_at(location)
    for name in [file] if file is not None else sorted(_committed_files(storage, 0).values(), reverse=True):
        part = _Part(storage, name, number_of(name) or 0)
        ids = part.ids()
        if episode_id in ids:
            return _rows_of(part.rows(samples=True).slice(ids.index(episode_id), 1))[0]
    return None


def find_last_commit(location: str) -> int:
    """Finds the number of the newest commit; 0 if there is none."""
    return max(_committed_files(storage_at(location), 0), default=0)


@dataclass(frozen=True)
class _Part:
    """A part is one committed file. Its methods raise Refused if the file can't be read."""

    storage: Storage
    name: str
    commit: int

    def count(self) -> int:
        """Returns the number of the file's rows."""
        with self._readable(), self.storage.open_committed(self.name) as file:
            return len(file)

    def rows(self, samples: bool) -> pa.Table:
        """Returns the rows, without the column `samples` if `samples` is False."""
        with self._readable():
            return _read_table(self.storage.location, self.name, samples)

    def ids(self) -> list[str]:
        """Returns the ids of the episodes, in the order of the rows."""
        with self._readable(), self.storage.open_committed(self.name) as file:
            found: list[str] = file.table(["episode_id"]).column("episode_id").to_pylist()
        return found

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except (OSError, pa.ArrowException, UserError) as error:
            raise _refuse_damaged(self.storage, self.commit, f"can't be read: {error}") from None


def _parts_after(location: str, cursor: str | None, commits: int) -> Iterator[tuple[int, _Part, int]]:
    """Yields the commits from a cursor (None: the start) on: the number, the file, and the number of its rows to skip.

    `commits`: number of commits that exist at least. Errors: Refused for a cursor that is no place in this run, and for
    a file that is missing or can't be read.
    """
    place = EpisodeCursor.parse(cursor)
    storage = storage_at(location)
    committed = _committed_files(storage, commits)
    last = max(commits, max(committed, default=0))
    if place not in (EpisodeCursor(), EpisodeCursor(last + 1)):
        if not 1 <= place.commit <= last:
            raise _refuse_cursor(str(place))
        if place.row > (count := _part(storage, committed, place.commit).count()):
            raise _refuse_cursor(str(place))
        if place.row == count:
            place = EpisodeCursor(place.commit + 1)
    for number in range(max(place.commit, 1), last + 1):
        yield number, _part(storage, committed, number), place.row if number == place.commit else 0


def _part(storage: Storage, committed: Mapping[int, str], number: int) -> _Part:
    """Returns the file of a commit. Errors: Refused if it is missing."""
    if number not in committed:
        raise _refuse_damaged(storage, number, "is not there")
    return _Part(storage, committed[number], number)


def _committed_files(storage: Storage, commits: int) -> dict[int, str]:
    """Returns the names of the committed files by the numbers of their commits.

    A folder that changes while it is listed may show a file without an earlier one. If files seem to be missing, or
    there are fewer than `commits`, it is listed again, LOOKS times in all; the last list is returned.
    """
    for _ in range(LOOKS):
        names = {n: name for name in storage.names(EPISODES) if (n := number_of(name)) is not None}
        if len(names) == max(names, default=0) >= commits:
            break
    return names


@lru_cache(maxsize=FILES_KEPT)
def _read_table(location: str, name: str, samples: bool) -> pa.Table:
    with storage_at(location).open_committed(name) as file:
        return file.table([column for column in SCHEMA.names if samples or column != "samples"])


def _group_ends(table: pa.Table) -> list[int]:
    """Returns, for each group of a table, the number of rows up to its end. The rows of a group are consecutive."""
    ends, end = [], 0
    for _, members in groupby(table.column("group_id").to_pylist()):
        end += sum(1 for _ in members)
        ends.append(end)
    return ends


def _rows_of(table: pa.Table) -> list[Row]:
    """Returns the rows of a table as dictionaries with values that JSON has: NaN and infinities become None."""
    return [_replace_infinities(row) for row in table.to_pylist()]


def _replace_infinities(value: Any) -> Any:
    """Returns a value with None in place of NaN and infinities, which JSON does not have.

    Dictionaries and lists are gone through. The items of a list are of one type, so only the first one's is looked at.
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _replace_infinities(item) for key, item in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], float | dict | list | None):
        return [_replace_infinities(item) for item in value]
    return value


def _refuse_cursor(cursor: str) -> Refused:
    return unprocessable_content(
        f"cursor: {cursor[:40]!r} is no place in this run; give one that an answer gave, or none", "cursor"
    )


def _refuse_damaged(storage: Storage, commit: int, what: str) -> Refused:
    """Logs that a file is missing or damaged, and returns the refusal (500). The path is in the log only.

    `what` says in the log what is wrong with the file. Such a file is never skipped silently: the caller would miss
    episodes without knowing it.
    """
    logger.error("%s: the file of commit %d %s", storage.location, commit, what)
    message = f"the episodes of commit {commit} are lost or damaged, as the service's log says"
    return Refused(500, "damaged_episodes", f"{message}; the cursor {commit + 1}.0 leaves them out")
