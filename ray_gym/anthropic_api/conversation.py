"""Reads the conversations of the Messages API as messages, in the form of `openai_api.conversation.EarlierMessage`.

A body has the system prompt beside its messages, and each message is a text or a list of content blocks. Results of
tools are blocks of a user's message here, and messages of their own there. Texts of several blocks are joined as in the
other dialects, so that a conversation is the same in all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ray_gym.anthropic_api.blocks import LEFT_OUT, kind_of
from ray_gym.messages import is_blank
from ray_gym.openai_api.conversation import add_answer, require_answers
from ray_gym.openai_api.media import without_media
from ray_gym.openai_api.refused import bad_request

BILLING = "x-anthropic-billing-header:"
"""Beginning of a block of the system prompt that is for Anthropic's accounts, and not for the model. Claude Code sends
one, which differs from call to call.
"""
FAILED = "error"
"""Text of a tool's result that says nothing but that it failed."""

_Block = Mapping[str, Any]


def read_conversation(system: Any, messages: Sequence[Any], is_asked: bool = True) -> list[dict[str, Any]]:
    """Converts a body's system prompt and messages to a list of dicts with the fields of `EarlierMessage`.

    `is_asked`: True: checks that a model can answer the conversation: every call has a result, and the last message is
    not the assistant's; False: it is only looked at. Errors: ValueError that names the message; Refused (400) for a
    system prompt that can't be read.
    """
    try:
        found = _read_system(system)
    except ValueError as error:
        raise bad_request(str(error), "system") from None
    names = ["system"] * len(found)
    for number, item in enumerate(messages):
        try:
            _add(found, item)
        except ValueError as error:
            raise ValueError(f"messages[{number}]: {error}") from None
        names += [f"messages[{number}]"] * (len(found) - len(names))
    if is_asked:
        require_answers(found, names)
        if found and found[-1]["role"] == "assistant" and not is_blank(found[-1]["content"]):
            raise ValueError("the last message is the assistant's, and none can be continued here; leave it out")
    return found


def is_for_accounts(system: Any) -> bool:
    """Says whether a system prompt, a text or blocks, has a line that is left out, as it begins with `BILLING`."""
    blocks = system if isinstance(system, list) else ()
    texts = [block.get("text") if isinstance(block, Mapping) else None for block in blocks]
    return any(isinstance(text, str) and text.startswith(BILLING) for text in (system, *texts))


def _without_accounts(blocks: Sequence[_Block]) -> Iterator[_Block]:
    """Yields the blocks of a system prompt without the first line of those that begin with `BILLING`."""
    for block in blocks:
        if not is_for_accounts([block]):
            yield block
        elif kept := block["text"].partition("\n")[2]:
            yield {**block, "text": kept}


def _read_system(system: Any) -> list[dict[str, Any]]:
    """Returns the system prompt as a list of one message, or of none. Errors: ValueError."""
    try:
        prompt = _text(list(_without_accounts(_blocks(system))))
    except ValueError as error:
        raise ValueError(f"system: {error}") from None
    return [{"role": "system", "content": prompt}] if prompt else []


def _add(found: list[dict[str, Any]], item: Any) -> None:
    """Adds a message to those in `found`: results of tools first, then its text. Errors: ValueError."""
    if not isinstance(item, Mapping):
        raise ValueError(f"expected a message, got {type(item).__name__}")
    role, content = item.get("role"), item.get("content")
    if content is None:
        raise ValueError("content is missing")
    if role == "system":
        found += _read_system(content)
        return
    blocks = _blocks(content)
    if content and not blocks:
        return
    if role == "assistant":
        add_answer(found, *_read_answer(blocks))
    elif role == "user":
        results = [block for block in blocks if kind_of(block) == "tool_result"]
        said = [block for block in blocks if kind_of(block) != "tool_result"]
        found += [_read_result(block) for block in results]
        if said or not results:
            found.append({"role": "user", "content": _text(said)})
    else:
        raise ValueError(f"role {str(role)[:40]!r} is none of user, assistant, system")


def _read_answer(blocks: Sequence[_Block]) -> tuple[str, str, list[dict[str, str]]]:
    """Returns the thoughts, the words and the calls of an assistant's message."""
    thoughts = [_field(block, "thinking") for block in blocks if kind_of(block) == "thinking"]
    calls = [_read_call(block) for block in blocks if kind_of(block) == "tool_use"]
    words = _text([block for block in blocks if kind_of(block) not in ("thinking", "tool_use")])
    return "\n".join(filter(None, thoughts)), words, calls


def _read_call(block: _Block) -> dict[str, str]:
    given = block.get("input")
    if not isinstance(given, Mapping | None):
        raise ValueError(f"input of a tool_use: expected an object, got {type(given).__name__}")
    return {
        "id": _field(block, "id"),
        "name": _field(block, "name"),
        "arguments": json.dumps(given or {}, ensure_ascii=False),
    }


def _read_result(block: _Block) -> dict[str, Any]:
    """Returns a tool's result as a message. As in the other dialects, its text alone says that a call has failed: only a
    failure without a text gets one.
    """
    text = _text(_blocks(without_media(block.get("content"), "messages", [])))
    if block.get("is_error") and is_blank(text):
        text = FAILED
    return {"role": "tool", "content": text, "tool_call_id": _field(block, "tool_use_id")}


def _blocks(content: Any) -> list[_Block]:
    """Returns the blocks of a content, which may be a text, but for those in `LEFT_OUT`. Errors: ValueError for other
    content.
    """
    if content is None or isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    if not isinstance(content, list):
        raise ValueError(f"content: expected text or a list of blocks, got {type(content).__name__}")
    for block in content:
        if not isinstance(block, Mapping):
            raise ValueError(f"content: expected a block, got {type(block).__name__}")
    return [block for block in content if kind_of(block) not in LEFT_OUT]


def _text(blocks: Sequence[_Block]) -> str:
    """Returns the text of blocks, a line each. Errors: ValueError for a block that holds none."""
    return "\n".join(text for block in blocks for text in _texts(block))


def _texts(block: _Block) -> Iterator[str]:
    kind = kind_of(block)
    if kind == "text":
        yield _field(block, "text")
    elif kind == "search_result":  # found by the agent itself
        yield from (_field(block, "title"), _field(block, "source"))
        yield _text(_blocks(block.get("content")))
    elif kind == "tool_reference":  # a tool that the agent has found, all of which are shown already
        yield _field(block, "tool_name")
    elif kind == "document":
        yield from _texts_of_document(block)
    elif kind == "compaction":  # the summary of what its service no longer shows
        yield from [_field(block, "content")] if block.get("content") is not None else ()
    else:
        raise ValueError(f"content of type {kind[:40]!r}: only text can be read")


def _texts_of_document(block: _Block) -> Iterator[str]:
    """Yields the title of a document, what is said of it, and its text. Errors: ValueError for one that is no text."""
    source = block.get("source")
    of = source.get("type") if isinstance(source, Mapping) else None
    if not isinstance(source, Mapping) or of not in ("text", "content"):
        raise ValueError(f"content of type 'document': only text can be read, no source of type {str(of)[:40]!r}")
    yield from (_field(block, name) for name in ("title", "context") if block.get(name) is not None)
    yield _field(source, "data") if of == "text" else _text(_blocks(source.get("content")))


def _field(block: _Block, name: str) -> str:
    value = block.get(name)
    if not isinstance(value, str):
        raise ValueError(f"content of type {kind_of(block)[:40]!r}: {name} has to be text")
    return value
