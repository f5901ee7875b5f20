"""Replaces text in what is exported, as a user asks for it by patterns, and the values of secrets always."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ray_gym.errors import UserError
from ray_gym.export.finished import Row
from ray_gym.export.form import Form
from ray_gym.export.secrets import Secrets
from ray_gym.export.selection import Counts
from ray_gym.printable import secret_pattern
from ray_gym.record.schema import SCHEMA

REDACTED = "[redacted]"
"""Text in the place of what was redacted."""
TEXT_COLUMNS = ("task", "events", "tools_shown")
"""Columns whose text prompts have, so that token ids spell it."""
OWN_WORDS = frozenset(
    {"run_id", "episode_id", "group_id", "env_id", "status", "stop_reason", "kind", "role", "from", "type", "thread"}
    | {"participant", "visible_to", "finish_reason", "fork_reason"}
    | {"schema_version", "session_id", "trajectory_id", "node_id", "source", "timestamp", "object", "tool_choice"}
)
"""Fields whose values are the engine's own words and ids. A user's pattern does not change them."""

SPELLED = "episodes with redacted text, which their token ids would spell"
"""Reason for which an episode is left out."""
CHANGED = "episodes in which text was redacted"
"""Note on episodes."""
_COLUMN = re.compile(r"([a-z_]+)=(.+)", re.DOTALL)

Patterns = Sequence[re.Pattern[str]]


@dataclass(frozen=True, slots=True)
class Redaction:
    """Replaces what matches its patterns by `REDACTED`, in all strings, also in JSON within a string."""

    everywhere: Patterns = ()
    """Patterns for all text."""
    of_columns: Mapping[str, Patterns] | None = None
    """Further patterns for the text of one column of the record, by its name."""
    secrets: Patterns = ()
    """Patterns of secrets, which are replaced in every string."""

    @classmethod
    def of(cls, given: Iterable[str], secrets: Secrets) -> Redaction:
        """Makes a redaction of `REGEX` and `COLUMN=REGEX` texts, and of secrets. Errors: UserError for a text that is no
        regular expression or matches the empty text, and for an unknown column.
        """
        everywhere: list[re.Pattern[str]] = []
        of_columns: dict[str, list[re.Pattern[str]]] = {}
        for text in given:
            column, pattern = _read(text)
            (everywhere if column is None else of_columns.setdefault(column, [])).append(pattern)
        return cls(everywhere, of_columns, [secret_pattern(secret) for secret in secrets.values])

    def __bool__(self) -> bool:
        """Says whether there is anything to replace."""
        return bool(self.everywhere or self.of_columns or self.secrets)

    def columns(self, form: Form) -> list[str]:
        """Returns the columns that are read for a form: its own, and where its lines have token ids, those whose text
        the tokens spell.
        """
        more = TEXT_COLUMNS if form.has_tokens and self else ()
        return [*form.columns, *(name for name in more if name not in form.columns)]

    def redacted(self, groups: Iterable[list[Row]], form: Form, counts: Counts) -> Iterator[list[Row]]:
        """Yields the groups with the text of their rows redacted. Where the form's lines have token ids, which would
        spell the text, a row whose text was changed goes without them, or is left out and counted.
        """
        if not self:
            yield from groups
            return
        for group in groups:
            rows = []
            for row in group:
                made = self.row(row)
                is_changed = made != row
                counts.notes[CHANGED] += is_changed
                kept = form.without_tokens(made) if is_changed and form.has_tokens else made
                if kept is None:
                    counts.left_out[SPELLED] += 1
                else:
                    rows.append(kept)
            if rows:
                yield rows

    def row(self, row: Row) -> Row:
        """Returns a row of the record with its text redacted."""
        return {column: self._of_column(column, value) for column, value in row.items()} if self else row

    def text(self, text: str) -> str:
        """Returns a text that is of no column redacted."""
        return _text(text, [*self.everywhere, *self.secrets])

    def without_secrets(self, text: str) -> str:
        """Returns a text of any kind without secrets, also where HTML or JSON spells them."""
        return _sub(text, self.secrets)

    def line(self, line: dict[str, Any]) -> dict[str, Any]:
        """Returns a line with its strings redacted once more: a form may have put text together, or have it from
        elsewhere than the row.
        """
        if not (self.everywhere or self.secrets):
            return line
        made: dict[str, Any] = _deep(line, self.everywhere, self.secrets)
        return made

    def _of_column(self, column: str, value: Any) -> Any:
        patterns = [*self.everywhere, *(self.of_columns or {}).get(column, ())]
        return _deep({column: value}, patterns, self.secrets)[column] if patterns or self.secrets else value


def _deep(value: Any, patterns: Patterns, secrets: Patterns) -> Any:
    """Returns a value of JSON or Arrow data with its strings redacted. `patterns` spare the fields in `OWN_WORDS`;
    `secrets` spare none, and no key.
    """
    if isinstance(value, str):
        return _text(value, [*patterns, *secrets])
    if isinstance(value, Mapping):
        return {
            _sub(key, secrets): _deep(item, () if key in OWN_WORDS else patterns, secrets)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple) and value and not isinstance(value[0], int | float):
        return [_deep(item, patterns, secrets) for item in value]
    return value


def _text(text: str, patterns: Patterns) -> str:
    """Returns a text with its matches replaced. Where it is JSON, each of its strings, keys and numbers is redacted, so
    that no escape hides a match, and then what matches over several of them; it stays JSON.
    """
    if text.lstrip()[:1] not in ("{", "[", '"') or (read := _read_json(text)) is None:
        return _sub(text, patterns)
    made = _json(read, patterns)
    text = text if made == read else json.dumps(made, ensure_ascii=False)
    swept = _sub(text, patterns)
    return text if _read_json(swept) is None else swept


def _read_json(text: str) -> Any:
    """Returns what a text of JSON says; None for a text that is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _json(value: Any, patterns: Patterns) -> Any:
    if isinstance(value, str):
        return _text(value, patterns)
    if isinstance(value, dict):
        return {_sub(key, patterns): _json(item, patterns) for key, item in value.items()}
    if isinstance(value, int | float) and not isinstance(value, bool):
        return REDACTED if any(pattern.search(json.dumps(value)) for pattern in patterns) else value
    return [_json(item, patterns) for item in value] if isinstance(value, list) else value


def _sub(text: str, patterns: Patterns) -> str:
    """Returns a text with its matches replaced. What was replaced before is not searched: "redacted" is a word."""
    for pattern in patterns:
        text = REDACTED.join(pattern.sub(lambda _: REDACTED, piece) for piece in text.split(REDACTED))
    return text


def _read(text: str) -> tuple[str | None, re.Pattern[str]]:
    """Reads `REGEX` or `COLUMN=REGEX`. A word before the first "=" is a column, and an error if there is none of that
    name: a misspelled one would leave its text as it is.
    """
    found = _COLUMN.fullmatch(text)
    if found and found[1] not in SCHEMA.names:
        raise UserError(
            f"--redact: {text!r}: there is no column {found[1]!r}; columns: {', '.join(SCHEMA.names)}. Where that is a "
            f"part of the pattern, write it in brackets: '({text})'"
        )
    column, source = (found[1], found[2]) if found else (None, text)
    try:
        pattern = re.compile(source)
    except re.error as error:
        raise UserError(f"--redact: {source!r} is no regular expression: {error}") from None
    if pattern.search("") is not None:
        raise UserError(f"--redact: {source!r} matches the empty text, which is everywhere; make it match a character")
    return column, pattern
