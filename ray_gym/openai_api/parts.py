"""Reads the contents of messages, which may be texts or lists of parts: one rule for requests, rows and answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

TEXT_PARTS = frozenset({"text", "input_text", "output_text", "refusal", "summary_text"})
"""Types of parts that hold text. Those whose type has `thinking` or `reasoning` in it hold reasoning."""

ANSWER_FIELDS = frozenset({"content", "refusal", "reasoning", "reasoning_content", "reasoning_details", "audio"})
"""Fields of an assistant's message that `read_answer` reads."""


def text_of(content: Any, between: str = "\n") -> str:
    """Returns the text of a content: a string, None ("") or a list of parts, which are joined by `between`, by default
    as vLLM joins them. Errors: ValueError for other content, or a part that is no text.
    """
    return between.join(text for _, text in _texts(content))


def read_answer(fields: Mapping[str, Any]) -> tuple[str, str]:
    """Returns the reasoning and the words of an assistant's message by its fields `content`, `refusal`, and `reasoning`,
    `reasoning_content` or `reasoning_details` (OpenRouter's and MiniMax's parts). The words of a spoken one are those of
    `audio`. Parts of `content` that are reasoning are not among its words. Errors: ValueError for content that is no
    text.
    """
    parts = list(_texts(fields.get("content")))
    told = (fields.get(name) for name in ("reasoning_content", "reasoning", "reasoning_details"))
    apart = text_of(next(filter(None, told), None))
    thoughts = "\n".join(text for is_reasoning, text in parts if is_reasoning)
    said = "\n".join(text for is_reasoning, text in parts if not is_reasoning)
    spoken = fields.get("audio")
    if not said and isinstance(spoken, Mapping):
        said = text_of(spoken.get("transcript"))
    refused = text_of(fields.get("refusal"))
    return "\n\n".join(filter(None, (thoughts, apart))), "\n\n".join(filter(None, (said, refused)))


def is_text_part(kind: Any) -> bool:
    """Returns True if parts of the type `kind` hold text, be it words or reasoning."""
    return kind in TEXT_PARTS or _is_reasoning(kind)


def _is_reasoning(kind: Any) -> bool:
    return isinstance(kind, str) and ("thinking" in kind or "reasoning" in kind)


def _texts(content: Any) -> Iterator[tuple[bool, str]]:
    """Yields the texts of a content, each after True if it is reasoning."""
    if content is None or isinstance(content, str):
        yield False, content or ""
        return
    if not isinstance(content, Sequence) or isinstance(content, bytes):
        raise ValueError(f"content: expected text, got {type(content).__name__}")
    for part in content:
        if isinstance(part, str):
            yield False, part
            continue
        kind = (part.get("type") or "text") if isinstance(part, Mapping) else type(part).__name__
        if not isinstance(part, Mapping) or not is_text_part(kind):
            raise ValueError(f"content of type {kind!r}: only text can be read")
        held = [part[key] for key in (kind, "text", "thinking", "reasoning", "summary") if part.get(key) is not None]
        if held and _is_reasoning(kind):
            yield True, text_of(held[0])  # Mistral's holds parts itself
        elif held and not isinstance(held[0], str):
            raise ValueError(f"content of type {kind!r}: expected text, got {type(held[0]).__name__}")
        elif held:
            yield False, held[0]
