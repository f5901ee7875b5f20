"""Defines what an environment's `render` may return: a picture of its state for people, as Markdown or HTML.

A picture is recorded, and shown by `ray-gym view`. No model ever sees it, and no score depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

LONGEST = 100_000
"""Most characters of a picture. A longer one is not recorded, and a line in its place says so."""


FAILED = "`render` failed: "
"""Beginning of what is recorded in the place of a picture that could not be made."""


@dataclass(frozen=True, slots=True)
class Markdown:
    """Shows a state as Markdown (CommonMark with tables)."""

    text: str


@dataclass(frozen=True, slots=True)
class Html:
    """Shows a state as a piece of HTML. A viewer leaves out all but text, tables, lists and a few other elements."""

    text: str


Rendered = Markdown | Html
"""The types that `render` may return."""


class Rendering(msgspec.Struct, gc=False):
    """Holds a picture of the state as it was after an event."""

    event_seq: int
    """Number of the event; -1 for the state before all events."""
    kind: Literal["markdown", "html"]
    text: str


def rendering_of(event_seq: int, rendered: Rendered) -> Rendering:
    """Returns a picture as it is recorded. One that is too long is replaced by a line that says so."""
    if len(rendered.text) > LONGEST:
        told = f"render() returned {len(rendered.text):,} characters; at most {LONGEST:,} are recorded"
        return Rendering(event_seq, "markdown", told)
    return Rendering(event_seq, "html" if isinstance(rendered, Html) else "markdown", rendered.text)
