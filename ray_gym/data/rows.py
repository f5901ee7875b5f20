"""Reads the rows of a task file (JSON Lines or Parquet) one by one, each with its place in the file.

A row that can't be read has a description of the problem, and reading goes on after it.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import msgspec

from ray_gym.data.file_kind import other_kind
from ray_gym.data.nemo_gym import REQUEST, dropped_settings
from ray_gym.data.parquet import plain_rows, unreadable_in
from ray_gym.each_key_once import RepeatedKey, each_key_once
from ray_gym.errors import UserError, describe
from ray_gym.openai_api.conversation import has_unsaid_answer
from ray_gym.openai_api.message_fields import passed_over

LONGEST_LINE = 32 * 2**20
"""Largest length of a line in bytes. A longer one is skipped, and never held in memory."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""Bytes with which some editors begin a file."""
_MARK, _WINDOWS, _BLANK = "a byte order mark", "a line break as on Windows (CRLF)", "nothing on the line"
_MOST_NOTES = 10
_LONGEST_NOTE = 300
_decode, _encode = msgspec.json.Decoder().decode, msgspec.json.Encoder().encode
_ESCAPED_COLON = b"\\u003"
"""Beginning of a colon that is written as an escape."""


@dataclass(frozen=True, slots=True)
class FileRow:
    """Holds the fields of a row, or the problem for which it can't be read."""

    place: str
    """File and number, for messages."""
    number: int
    """Number of the line, from 1, or of the Parquet row, from 0."""
    fields: dict[str, Any] | None
    """Fields of the row, which are JSON data; None if it can't be read."""
    problem: str = ""
    """Reason for which it can't be read; empty if it can."""

    @classmethod
    def given(cls, place: str, number: int, fields: dict[str, Any]) -> FileRow:
        """Returns a row of values that no reader of JSON made: it can't be read if they are no JSON data."""
        problem = not_json(fields)
        return cls(place, number, None if problem else fields, problem)


@dataclass
class TaskFile:
    """Reads a .jsonl or .parquet file of task rows."""

    path: Path
    remarks: dict[str, list[int]] = field(default_factory=dict)
    """Harmless oddities that `rows` has accepted, with the numbers of their lines."""

    @property
    def suffix(self) -> str:
        """Returns the suffix of the file in lower case."""
        return self.path.suffix.lower()

    @property
    def unit(self) -> str:
        """Returns the word for one row of the file in messages: `row` for Parquet, else `line`."""
        return "row" if self.suffix == ".parquet" else "line"

    @property
    def notes(self) -> list[str]:
        """Returns what `rows` has left out of the rows, each with the first of its lines and the number of others."""
        left_out = {what: lines for what, lines in self.remarks.items() if what not in (_MARK, _WINDOWS, _BLANK)}
        return notes_on(
            str(self.path), {what: [f"{self.unit} {one}" for one in lines] for what, lines in left_out.items()}
        )

    def rows(self) -> Iterator[FileRow]:
        """Yields the rows, also those that can't be read; empty lines are left out. Clears `remarks` before.

        Errors: UserError if the file can't be read, has another suffix, or is of another kind than its suffix says.
        """
        self.remarks.clear()
        if self.suffix not in (".jsonl", ".parquet"):
            raise UserError(f"{self.path} is neither .jsonl nor .parquet")
        try:
            other = other_kind(self.path)
        except OSError as error:
            raise UserError(f"{self.path}: can't be read: {error.strerror or error}") from None
        if other:
            raise UserError(f"{self.path} is {other}")
        return self._lines() if self.suffix == ".jsonl" else self._parquet_rows()

    def _lines(self) -> Iterator[FileRow]:
        try:
            with self.path.open("rb") as file:
                for number, line in enumerate(_short_lines(file), start=1):
                    row = self._row_of(number, line)
                    if row is not None:
                        yield row
        except OSError as error:
            raise UserError(f"{self.path}: can't be read: {error.strerror or error}") from None

    def _row_of(self, number: int, line: bytes | None) -> FileRow | None:
        """Returns the row of a line, perhaps one that can't be read; None for an empty line. Notes oddities in
        `remarks`. `line`: None for a line that is too long.
        """
        place = f"{self.path}:{number}"
        if line is None:
            return FileRow(place, number, None, f"(top level): the line is longer than {LONGEST_LINE // 2**20} MiB")
        if number == 1 and line.startswith(BYTE_ORDER_MARK):
            self._remark(_MARK, number)
            line = line[len(BYTE_ORDER_MARK) :]
        if line.endswith(b"\r\n"):
            self._remark(_WINDOWS, number)
        if not line.strip():
            self._remark(_BLANK, number)
            return None
        try:
            fields = _decode(line)
            if not _has_all_members(line, fields):
                json.loads(line, object_pairs_hook=each_key_once)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return FileRow(place, number, None, _what_is_wrong(line))
        if not isinstance(fields, dict):
            return FileRow(
                place, number, None, f"(top level): Input should be an object (found {reprlib.repr(fields)})"
            )
        self._remark_dropped(fields, number)
        return FileRow(place, number, fields)

    def _remark_dropped(self, fields: dict[str, Any], number: int) -> None:
        for what in left_out_of(fields):
            self._remark(what, number)

    def _parquet_rows(self) -> Iterator[FileRow]:
        try:
            for number, fields in enumerate(plain_rows(self.path)):
                place = f"{self.path} row {number}"
                found = unreadable_in(fields)
                self._remark_dropped(fields, number)
                yield FileRow(place, number, None, found) if found else FileRow.given(place, number, fields)
        except UserError:
            raise
        except Exception as error:
            raise UserError(f"{self.path}: not a readable Parquet file: {describe(error)}") from None

    def _remark(self, what: str, number: int) -> None:
        self.remarks.setdefault(what, []).append(number)


def _has_all_members(line: bytes, fields: Any) -> bool:
    """Says whether the fields that were read of a line have all members of its objects, as each has a colon, and no key is
    there twice. False may also mean that this can't be told so.
    """
    return line.count(b":") == _encode(fields).count(b":") and _ESCAPED_COLON not in line


def left_out_of(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yields what a row has that no episode gets: its own settings of requests, which the config has for all episodes
    alike, and what is passed over in its messages.
    """
    for name in dropped_settings(fields):
        yield f"{name} of its own, which are not used (the config has such settings for all rows)"
    request = fields.get(REQUEST)
    messages = request.get("input") if isinstance(request, dict) else fields.get("messages")
    for name in passed_over(messages):
        yield f"{name} of messages, which is not used"
    if isinstance(messages, list) and has_unsaid_answer(messages):
        yield "a message of the assistant without words and calls, which is left out"


def notes_on(source: str, left_out: Mapping[str, Sequence[str]]) -> list[str]:
    """Returns a note for each of the first things that were left out of rows of a source. `left_out`: places of the rows
    by what was left out.
    """
    told = [
        f"{source}: {what[:_LONGEST_NOTE]}: {places[0]}{f' and {len(places) - 1:,} more' if len(places) > 1 else ''}"
        for what, places in list(left_out.items())[:_MOST_NOTES]
    ]
    more = len(left_out) - len(told)
    return told + (
        [f"{source}: {more:,} other things of rows are not used; ray-gym data validate has all"] if more else []
    )


def notes_on_tasks(given: Sequence[Mapping[str, Any]]) -> list[str]:
    """Returns the notes on rows that come without a file, whose places are `tasks[0]` and so on."""
    left_out: dict[str, list[str]] = {}
    for index, fields in enumerate(given):
        for what in left_out_of(fields):
            left_out.setdefault(what, []).append(f"tasks[{index}]")
    return notes_on("tasks", left_out)


def not_finite(value: Any, field: str = "") -> str:
    """Describes the first number in some JSON data that is infinite or NaN, which JSON can't spell; "" if there is
    none. `field` is the path to the data.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return f"{field or '(top level)'}: {value} is no number that JSON has; leave it out, or write null"
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return next((found for key, item in items if (found := not_finite(item, f"{field}.{key}".lstrip(".")))), "")
    return ""


def not_json(fields: dict[str, Any]) -> str:
    """Describes why a row's fields are no JSON data; "" if they are."""
    try:
        return "" if _is_plain(fields) else not_finite(fields) or _foreign(fields)
    except RecursionError:
        return "(top level): nested too deeply"


def _is_plain(value: Any) -> bool:
    """Says, several times faster than what finds the place, whether some data is JSON data of Python's own types."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return True
    if kind is dict:
        return all(type(key) is str for key in value) and all(map(_is_plain, value.values()))
    return all(map(_is_plain, value)) if kind is list else kind is float and math.isfinite(value)


def _foreign(value: Any, field: str = "") -> str:
    """Describes the first value or key in some data whose type JSON does not have (bytes, a date); "" if there is
    none.
    """
    if isinstance(value, dict) and (odd := [key for key in value if not isinstance(key, str | int)]):
        kind = type(odd[0]).__name__
        return f"{field or '(top level)'}: JSON has no keys of type {kind} (found {reprlib.repr(odd[0])})"
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return next((found for key, item in items if (found := _foreign(item, f"{field}.{key}".lstrip(".")))), "")
    if value is None or isinstance(value, str | int | float):
        return ""
    return f"{field}: JSON has no {type(value).__name__}; write it as a text or a number (found {reprlib.repr(value)})"


def _short_lines(file: IO[bytes]) -> Iterator[bytes | None]:
    """Yields the lines of a file, and None for a line that is too long."""
    while line := file.readline(LONGEST_LINE):
        if len(line) < LONGEST_LINE or line.endswith(b"\n"):
            yield line
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(LONGEST_LINE)
        yield None


def _what_is_wrong(line: bytes) -> str:
    """Returns the problem of a line that can't be read, with its position if known. It uses slower readers."""
    if line.startswith(BYTE_ORDER_MARK):
        return "(top level): Invalid JSON: a byte order mark, which only a file's first line may begin with"
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"(top level): not UTF-8: {error.reason} at byte {error.start + 1}"
    try:
        found = not_finite(json.loads(text, object_pairs_hook=each_key_once))
    except json.JSONDecodeError as error:
        cut = "" if text.endswith("\n") else "; the file ends on this line, perhaps in the middle of it"
        return f"(top level): Invalid JSON: {error.msg} at character {error.pos + 1}{cut}"
    except RecursionError:
        return "(top level): Invalid JSON: nested too deeply"
    except RepeatedKey as error:
        return f"(top level): {error}"
    except ValueError:
        return "(top level): Invalid JSON: a whole number with more digits than can be read"
    return found or "(top level): Invalid JSON: half a surrogate pair (\\ud800 to \\udfff) stands alone"
