"""Makes HTML of elements. Text is text wherever it comes from: only `element` makes markup, and its names are literals.

No element has a style, a handler of events, or an address elsewhere, so the page's policy need allow none.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias, Union

from ray_gym.printable import printable

EMPTY = frozenset({"meta", "br"})
"""Elements without an end tag."""
NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")


@dataclass(frozen=True, slots=True)
class Markup:
    """Holds HTML that this room has made."""

    html: str


Content: TypeAlias = Union[Markup, str, "Iterable[Content]", None]
"""Content of an element: markup, text, which is escaped, nothing, or several of them."""
Value: TypeAlias = str | int | float | bool | None


def element(tag: str, *content: Content, **attributes: Value) -> Markup:
    """Returns an element. `attributes`: by name, with `_` for `-`, and one at the end left out (`class_`); one that is
    None or False is left out, and one that is True has no value.

    Errors: ValueError for a name that is none, a style, a handler of events, or a link to anything but a part of the page.
    """
    if not NAME.fullmatch(tag) or tag in ("script", "iframe", "object", "embed", "link", "base", "form"):
        raise ValueError(f"{tag!r} is no element of a report")
    given = "".join(_attribute(name.rstrip("_").replace("_", "-"), value) for name, value in attributes.items())
    inside = text_of(content)
    return Markup(f"<{tag}{given}>" if tag in EMPTY else f"<{tag}{given}>{inside}</{tag}>")


def text_of(content: Content) -> str:
    """Returns content as HTML. Control characters, marks of direction and lone surrogates become visible escapes."""
    if content is None:
        return ""
    if isinstance(content, Markup):
        return content.html
    if isinstance(content, str):
        return html.escape(printable(content), quote=False)
    return "".join(map(text_of, content))


def _attribute(name: str, value: Value) -> str:
    if value is None or value is False:
        return ""
    if not NAME.fullmatch(name) or name == "style" or name.lower().startswith("on") or name == "src":
        raise ValueError(f"{name!r} is no attribute of a report")
    if name == "href" and not str(value).startswith("#"):
        raise ValueError("a report links to its own parts only")
    if value is True:
        return f" {name}"
    said = f"{value:g}" if isinstance(value, float) else str(value)
    return f' {name}="{html.escape(printable(said))}"'
