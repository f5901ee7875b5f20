"""Reads the contents of messages, which may be texts or lists of parts: one rule for requests, rows and answers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

TEXT_FIELDS: Mapping[str, str] = {
    **dict.fromkeys(("text", "input_text", "output_text", "summary_text"), "text"),
    "refusal": "refusal",
}
"""Types of parts that hold words, with the field that has them. Those whose type has `thinking` or `reasoning` in it
hold reasoning.
"""
_REASONING_FIELDS = ("thinking", "reasoning", "text", "summary", "content")
"""Fields of parts of reasoning that may have the text. A part has only one of them."""
_SEALED_FIELDS = frozenset({"data", "encrypted_content"})
"""Fields of parts of reasoning that hold it in a form that only its provider can read."""
_REFERENCE, _REFERENCE_IDS = "reference", "reference_ids"
"""Type and field of a part that cites something within a text, which it cuts in two (Mistral's)."""
_TOOL_PARTS = frozenset({"tool_use", "tool_result", "tool_call", "function_call", "function_call_output"})
"""Types of parts by which other formats have calls and their results within a content."""
PART_HARMLESS = frozenset(
    {
        "type",
        "id",
        "index",
        "annotations",
        "citations",
        "logprobs",
        "cache_control",
        "prompt_cache_breakpoint",
        "metadata",
        "obfuscation",
        "parsed",
    }
    | {"signature", "thought_signature", "format", "closed", "extra_content", "provider_specific_fields"}
)
"""Fields that tell of a part, and change neither the prompt nor the answer, whatever their values."""

REASONING_BESIDE = (
    *("reasoning_content", "reasoning", "reasoning_text", "thinking"),
    *("reasoning_details", "thinking_blocks", "tool_plan"),
)
"""Fields of an assistant's message that may hold its reasoning: the first that holds any counts, as others repeat it."""
ANSWER_FIELDS = frozenset({"content", "refusal", *REASONING_BESIDE, "audio"})
"""Fields of an assistant's message that `read_answer` reads."""


def text_of(content: Any, between: str = "\n") -> str:
    """Returns the words of a content: a string, None ("") or a list of parts, which are joined by `between`, by default
    as vLLM joins them. Errors: ValueError for other content, a part that is no text, a part that has fields which are
    not read, and a part of reasoning, which is none of anybody's words.
    """
    if isinstance(content, str):
        return content
    texts = list(_texts(content))
    if any(is_reasoning for is_reasoning, _ in texts):
        raise ValueError("content has a part of reasoning, which only an assistant's may have")
    return between.join(text for _, text in texts)


def reasoning_of(content: Any, between: str = "\n") -> str:
    """Returns the text of a content that is reasoning, whatever the types of its parts. Errors: as `text_of`."""
    return between.join(text for _, text in _texts(content) if text)


def read_answer(fields: Mapping[str, Any]) -> tuple[str, str]:
    """Returns the reasoning and the words of an assistant's message by its fields `content`, `refusal`, and one of
    reasoning, which may be a text or parts (OpenRouter's, MiniMax's, LiteLLM's). The words of a spoken one are those of
    `audio`. Parts of `content` that are reasoning are not among its words. Errors: ValueError for content that is no
    text, and for sound without a transcript.
    """
    content = fields.get("content")
    if isinstance(content, str) and not any(map(fields.get, ANSWER_FIELDS - {"content"})):
        return "", content
    parts = list(_texts(content))
    apart = _reasoning_beside(fields)
    thoughts = "\n".join(text for is_reasoning, text in parts if is_reasoning and text)
    said = "\n".join(text for is_reasoning, text in parts if not is_reasoning)
    spoken = fields.get("audio")
    if not said and spoken:
        said = text_of(spoken.get("transcript") if isinstance(spoken, Mapping) else None)
        if not said:
            raise ValueError("audio: there is no transcript, and only text can be read")
    refused = text_of(fields.get("refusal"))
    return "\n\n".join(filter(None, (thoughts, apart))), "\n\n".join(filter(None, (said, refused)))


def is_text_part(kind: Any) -> bool:
    """Returns True if parts of the type `kind` hold text, be it words or reasoning."""
    return isinstance(kind, str) and (kind in TEXT_FIELDS or _is_reasoning(kind))


_TEXT_OR_HOLDER = (str, list, tuple, dict)


def asks_something(value: Any) -> bool:
    """Returns True for the value of a field that is not read, unless it is null, false, or an empty text, list or
    object: dropped without a word, it would be lost.
    """
    return not (value is None or value is False or (isinstance(value, _TEXT_OR_HOLDER) and not value))


def _is_reasoning(kind: str) -> bool:
    return "thinking" in kind or "reasoning" in kind


def _reasoning_beside(fields: Mapping[str, Any]) -> str:
    """Returns the reasoning of a message that is not in its content. Errors: ValueError for one that is no text."""
    name = next((name for name in REASONING_BESIDE if fields.get(name)), None)
    if name is None:
        return ""
    told = fields[name]
    if isinstance(told, Mapping):
        told = [{"type": "reasoning", **told}]
    if not isinstance(told, str | Sequence):
        raise ValueError(f"{name}: expected text, got {type(told).__name__}")
    return reasoning_of(told)


def _texts(content: Any) -> list[tuple[bool, str]]:
    """Returns the texts of a content, each after True if it is reasoning. Those around a reference are one text."""
    if content is None or isinstance(content, str):
        return [(False, content or "")]
    if not isinstance(content, Sequence) or isinstance(content, bytes):
        raise ValueError(f"content: expected text, got {type(content).__name__}")
    texts: list[tuple[bool, str]] = []
    goes_on = False
    for part in content:
        if isinstance(part, Mapping) and part.get("type") == _REFERENCE:
            _require_no_other(part, _REFERENCE, {_REFERENCE_IDS})
            goes_on = True
            continue
        is_reasoning, text = (False, part) if isinstance(part, str) else _text_of_part(part)
        if text is None:
            continue
        before = texts.pop()[1] if goes_on and texts and texts[-1][0] == is_reasoning else ""
        texts.append((is_reasoning, before + text))
        goes_on = False
    return texts


def _text_of_part(part: Any) -> tuple[bool, str | None]:
    """Returns the text of a part, None if that is null, after True if it is reasoning. Errors: ValueError for a part
    without its text, and with fields that are not read.
    """
    kind = (part.get("type") or "text") if isinstance(part, Mapping) else type(part).__name__
    if not isinstance(part, Mapping) or not is_text_part(kind):
        hint = "; calls go into tool_calls, and results into messages of role tool" if kind in _TOOL_PARTS else ""
        raise ValueError(f"content of type {kind!r}: only text can be read{hint}")
    if kind in TEXT_FIELDS:
        field = TEXT_FIELDS[kind]
        _require_no_other(part, kind, {field})
        if field not in part:
            raise ValueError(f"content of type {kind!r}: {field} is missing")
        text = part[field]
        if text is not None and not isinstance(text, str):
            raise ValueError(f"content of type {kind!r}: expected text, got {type(text).__name__}")
        return False, text
    named = [name for name in (kind, *_REASONING_FIELDS) if name in part]
    held = [name for name in named if asks_something(part[name])]
    _require_no_other(part, kind, {*held[:1], *_SEALED_FIELDS})
    if not named and not _SEALED_FIELDS & part.keys():
        raise ValueError(f"content of type {kind!r}: its text is missing")
    return True, reasoning_of(part[held[0]]) if held else ""  # Mistral's holds parts itself


def _require_no_other(part: Mapping[str, Any], kind: str, read: Collection[str]) -> None:
    """Checks that a part has no field but those in `read` and `PART_HARMLESS`, and those that ask for nothing. Errors:
    ValueError that names the first.
    """
    for name, value in part.items():
        if name not in read and name not in PART_HARMLESS and asks_something(value):
            raise ValueError(f"{str(name)[:40]} of content of type {kind!r} is not followed here; leave it out")
