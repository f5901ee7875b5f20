"""Reads messages of gpt-oss that vLLM's parser drops, or takes for reasoning.

gpt-oss was trained with the tools python and browser, whose calls it addresses without `functions.`: `to=python`,
`to=browser.search`. Nobody else carries these out. Now and then it leaves out the end of a message before the next one, or
the channel of its words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_CHANNELS = ("analysis", "commentary", "final")
_CHANNEL = "|".join([*_CHANNELS, *(rf"{name[:end]}\Z" for name in _CHANNELS for end in range(1, len(name)))])
"""Regular expression of a channel, of which the end of an answer may have cut the end."""
_HEADER = re.compile(
    rf"assistant(?:\s*to=[\w.:-]+)?(?:\s*<\|channel\|>\s*(?:{_CHANNEL})?)?(?:(?<!final)\s*to=[\w.:-]*)?"
    r"(?:\s*<\|constrain\|>\s*(?:json|[a-z]{0,10}\Z)?)?\s*"
)
"""Beginning of a message: its author, recipient, channel and form."""


def read_all_messages(parser: Any) -> Any:
    """Returns a subclass of vLLM's parser for gpt-oss that reads a message to any tool as a call of it, one without its end
    up to the next one, and one without a channel as words.
    """
    from vllm.entrypoints.openai.parser.harmony_utils import BUILTIN_TOOL_TO_MCP_SERVER_LABEL as TOOLS

    class Parser(parser):  # type: ignore[misc]
        """Takes the tools that the model was trained with for functions, if it has any tools."""

        def __init__(self, tokenizer: Any, tools: Any = None, **settings: Any) -> None:
            super().__init__(tokenizer, tools, **settings)
            self._has_tools = bool(tools)

        def process_chunk(self, token_ids: Sequence[int]) -> Any:
            return super().process_chunk(_with_texts(_end_messages(token_ids)))

        def _poll_completed_message(self) -> Any:
            message = super()._poll_completed_message()
            if message is not None and message.channel is None and message.recipient is None:
                message.channel = "final"
            return message

        def _normalize_recipient(self, recipient: str | None) -> str | None:
            normal: str | None = parser._normalize_recipient(recipient)
            is_tool = self._has_tools and normal is not None and normal.partition(".")[0] in TOOLS
            return f"functions.{normal}" if is_tool else normal

    return Parser


def _end_messages(token_ids: Sequence[int]) -> list[int]:
    """Returns the tokens of an answer with an end of each message before the next one begins, and with its author. Within
    a message, a control token is no text: what a model quotes has other tokens.
    """
    (start,), (channel,), (message,) = _ids("<|start|>"), _ids("<|channel|>"), _ids("<|message|>")
    ends = _ids("<|end|><|call|><|return|>")
    missing = {start: _ids("<|end|>"), channel: _ids("<|end|><|start|>assistant")}
    made: list[int] = []
    is_within = False
    for token_id in token_ids:
        if is_within:
            made += missing.get(token_id, ())
        elif token_id == channel and made and made[-1] in ends:
            made += _ids("<|start|>assistant")
        is_within = token_id == message or (is_within and token_id not in (*ends, *missing))
        made.append(token_id)
    return made


def _with_texts(token_ids: Sequence[int]) -> list[int]:
    """Returns the tokens of an answer without beginnings of messages that have no text, as the model was cut there or ended it,
    and with the mark of a text where it was forgotten. The beginning of the first message is in the prompt.
    """
    begin, (message,), (end,) = _ids("<|start|>assistant"), _ids("<|message|>"), _ids("<|end|>")
    ends = _ids("<|end|><|call|><|return|>")
    made: list[int] = []
    header: list[int] | None = None  # between the beginning of a message and its text
    for token_id in (*begin, *token_ids):
        if token_id == begin[0]:
            made += _with_text(header, end) if header else []
            header = []
        elif header is None:
            made.append(token_id)
        elif token_id == message:
            made += [begin[0], *header, message]
            header = None
        elif token_id in ends:
            made += _with_text(header, token_id)
            header = None
        else:
            header.append(token_id)
    made += _with_text(header) if header else []
    return made[len(begin) :] if made[: len(begin)] == begin else made


def _with_text(header: Sequence[int], *end: int) -> list[int]:
    """Returns the tokens of a message without the mark of its text, with this mark; [] if it has no text. `header`: its tokens
    between its beginning and its end.
    """
    from vllm.entrypoints.openai.parser.harmony_utils import get_encoding

    written = get_encoding().decode(header)
    found = _HEADER.match(written)
    text = written[found.end() :] if found else written
    if not text.strip():
        return []
    begin = written[: len(written) - len(text)].rstrip().removesuffix("<|channel|>")
    return [*_ids(f"<|start|>{begin}<|message|>"), *get_encoding().encode(text, disallowed_special=()), *end]


def _ids(text: str) -> list[int]:
    """Returns the tokens of a text of control tokens."""
    from vllm.entrypoints.openai.parser.harmony_utils import get_encoding

    return list(get_encoding().encode(text, allowed_special="all"))
