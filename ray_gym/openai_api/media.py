"""Puts a text in the place of each picture, sound or file in the result of an agent's own tool: the program goes on, and
its model learns that it can't see it. Those that a user sends are refused, as the task is about them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MEDIA = frozenset(
    {"image", "image_url", "input_image", "audio", "input_audio", "file", "input_file", "computer_screenshot"}
    | {"video", "video_url", "input_video"}
)
"""Types of parts, in all three dialects, that hold no text."""
_SOURCES_OF_TEXT = ("text", "content")


def media_kind(part: Any) -> str | None:
    """Returns the type of a part that holds no text, as of a `document` that is a PDF; None for all others."""
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind == "document":
        source = part.get("source")
        return None if isinstance(source, Mapping) and source.get("type") in _SOURCES_OF_TEXT else "document"
    return kind if isinstance(kind, str) and kind in MEDIA else None


def without_media(content: Any, where: str, left_out: list[str]) -> Any:
    """Returns the content of a tool's result with texts in the place of the parts that hold none. Adds the types of these
    to `left_out`, below `where`.
    """
    if not isinstance(content, list):
        return content
    left_out += [f"{where}.{kind}" for part in content if (kind := media_kind(part)) is not None]
    return [_as_text(part, where, left_out) for part in content]


def _as_text(part: Any, where: str, left_out: list[str]) -> Any:
    """Returns a part without media: a text in its place, or a document without those in it."""
    if (kind := media_kind(part)) is not None:
        return _in_place_of(kind)
    source = part.get("source") if isinstance(part, Mapping) and part.get("type") == "document" else None
    if not isinstance(source, Mapping) or "content" not in source:
        return part
    return {**part, "source": {**source, "content": without_media(source["content"], where, left_out)}}


def _in_place_of(kind: str) -> dict[str, str]:
    return {"type": "text", "text": f"[{kind}: it is left out, as only text can be read here]"}
