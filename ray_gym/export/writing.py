"""Writes a run as a file of JSON lines, in any form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from ray_gym.data.writing import write_chunks
from ray_gym.errors import UserError, refused_writes
from ray_gym.export.finished import groups, refuse_unfinished
from ray_gym.export.form import Form
from ray_gym.export.selection import Counts
from ray_gym.run.directory.reading import Run


def export(run: Run, form: Form, out: Path, *, partial: bool = False, overwrite: bool = False) -> Counts:
    """Writes the lines of a run to a file, whole or not at all, and returns the counts. Missing folders of the file are
    made.

    `partial`: True to accept a run that is not finished. `overwrite`: True to replace a file that exists. Errors:
    UserError if `out` is a folder or exists, if the run is not finished or can't be read, or if there is no line to
    write; OSError; those that the form raises.
    """
    if out.is_dir():
        raise UserError(f"--out: {out} is a folder; give a file, e.g. {out / 'train.jsonl'}")
    if out.exists() and not overwrite:
        raise UserError(f"--out: there is a file {out} already (--overwrite replaces it)")
    if not partial:
        refuse_unfinished(run)
    counts = Counts()
    with refused_writes("--out", out):
        write_chunks(out, _encode_lines(run, form, counts))
    return counts


def report_lines(counts: Counts, out: Path) -> list[str]:
    """Returns lines of text for the user: the numbers of lines written to `out`, of things left out by reason, and of
    notes.
    """
    told = [f"{out}: {counts.written:,} lines, of {counts.episodes:,} episodes"]
    told += [f"left out: {what}: {count:,}" for what, count in counts.left_out.most_common() if count]
    return told + [f"note: {what}: {count:,}" for what, count in counts.notes.most_common() if count]


def _encode_lines(run: Run, form: Form, counts: Counts) -> Iterator[bytes]:
    for line in form.lines(groups(run, form.columns), counts):
        yield json.dumps(line, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode() + b"\n"
        counts.written += 1
    if not counts.written:
        why = "; ".join(f"{what}: {count:,}" for what, count in counts.left_out.most_common() if count)
        raise UserError(f"nothing was written: {why or f'there are no episodes in {run.location}'}")
