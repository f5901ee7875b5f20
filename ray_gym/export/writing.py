"""Writes a run as a file of JSON lines or Parquet, in any form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from ray_gym.data.writing import replaced
from ray_gym.errors import UserError, refused_writes
from ray_gym.export.filters import EVERYTHING, Filters
from ray_gym.export.finished import Row, groups, refuse_unfinished
from ray_gym.export.form import Form
from ray_gym.export.parquet import Line, write_parquet
from ray_gym.export.redaction import Redaction
from ray_gym.export.selection import Counts
from ray_gym.run.directory.directory import RunDirectory
from ray_gym.run.directory.reading import Run


def export(
    run: Run,
    form: Form,
    out: Path,
    *,
    filters: Filters = EVERYTHING,
    redaction: Redaction | None = None,
    partial: bool = False,
    overwrite: bool = False,
) -> Counts:
    """Writes the lines of a run to a file, whole or not at all, and returns the counts. Missing folders of the file are
    made.

    `filters`: episodes that the form sees. `redaction`: text that no line has. `partial`: True to accept a run that is
    not finished, or a part of which can't be read. `overwrite`: True to replace a file that exists. Errors: UserError if
    `out` is a folder, exists, or ends as a file of the other format does, if the run is not finished or can't be read, or
    if there is no line to write; OSError; those that the form raises.
    """
    if out.is_dir():
        raise UserError(f"--out: {out} is a folder; give a file, e.g. {out / _example(form)}")
    wrong = (".parquet",) if form.schema is None else (".json", ".jsonl")
    if out.suffix.lower() in wrong:
        kind = "JSON lines" if form.schema is None else "Parquet"
        raise UserError(f"--out: {kind} would be written to {out}; give a file of that, e.g. {_example(form)}")
    if out.exists() and not overwrite:
        raise UserError(f"--out: there is a file {out} already (--overwrite replaces it)")
    if not partial:
        refuse_unfinished(run)
    counts, redaction = Counts(), redaction or Redaction()
    read = groups(run, filters.columns(redaction.columns(form)), counts.damages if partial else None)
    lines = _lines(run, read, form, filters, redaction, counts)
    with refused_writes("--out", out), replaced(out) as file:
        if form.schema is None:
            file.writelines(map(encode, lines))
        else:
            write_parquet(file, form.schema, lines)
    return counts


def report_lines(counts: Counts, out: Path) -> list[str]:
    """Returns lines of text for the user: the numbers of lines written to `out`, of things left out by reason, and of
    notes.
    """
    told = [f"{out}: {counts.written:,} lines, of {counts.episodes:,} episodes"]
    told += [f"left out: {what}: {count:,}" for what, count in counts.left_out.most_common() if count]
    told += [f"left out: {damage}" for damage in counts.damages]
    return told + [f"note: {what}: {count:,}" for what, count in counts.notes.most_common() if count]


def encode(line: Line) -> bytes:
    """Returns a line of JSON in UTF-8. Only a line with lone surrogates, which UTF-8 can't spell, has them as escapes.
    Errors: ValueError for a number that is not finite.
    """
    try:
        return _json(line, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:
        return _json(line, ensure_ascii=True).encode() + b"\n"


def _json(line: Line, *, ensure_ascii: bool) -> str:
    return json.dumps(line, ensure_ascii=ensure_ascii, separators=(",", ":"), allow_nan=False)


def _lines(
    run: Run, read: Iterator[list[Row]], form: Form, filters: Filters, redaction: Redaction, counts: Counts
) -> Iterator[Line]:
    """Yields the lines of a run's groups, and counts them. Errors: UserError at the end if there was none."""
    speakers: set[str] = set()
    kept = _noted(filters.kept(read, counts), speakers)
    for line in form.lines(redaction.redacted(kept, form, counts), counts):
        yield redaction.line(line)
        counts.written += 1
    if not counts.written:
        left_out = [f"{what}: {count:,}" for what, count in counts.left_out.most_common() if count]
        why = "; ".join([*left_out, *counts.damages])
        asked = getattr(form, "participant", None)
        if asked is not None and speakers and asked not in speakers | _participants(run):
            known = ", ".join(sorted(speakers))
            raise UserError(f"--participant: {asked!r} has no conversation in {run.location}; there are: {known}")
        raise UserError(f"nothing was written: {why or f'there are no episodes in {run.location}'}")


def _noted(groups: Iterator[list[Row]], speakers: set[str]) -> Iterator[list[Row]]:
    """Passes groups on, and adds to `speakers` whose conversations are in them, as far as the form reads these. Questions, as
    those to a judge (`judge/1`), are no conversations.
    """
    for group in groups:
        for row in group:
            seen = (one.get("thread") or "" for key in ("events", "samples") for one in row.get(key) or ())
            speakers.update(thread for thread in seen if thread and "/" not in thread)
        yield group


def _participants(run: Run) -> set[str]:
    """Returns the names of the participants of a run's config; none if it can't be read."""
    try:
        return set(RunDirectory(run.storage).read_config().participants)
    except (OSError, UserError):
        return set()


def _example(form: Form) -> str:
    return "train.jsonl" if form.schema is None else "train.parquet"
