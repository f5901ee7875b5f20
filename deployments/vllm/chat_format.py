"""Append-only chat rendering: which ids a step adds to the exact history of its thread.

Messages are rendered whole, with the model's template; only the text after the part that the history already covers is
tokenised, cut at whole messages. What the model generated is never rendered into ids again. If the template rewrites what
came before (so that the old rendering is no prefix of the new) there is no such text: the prompt is made anew and
`fork_reason` says why.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import TemplateError

from deployments.vllm.text_tokens import Placeholders, TextTokenizer
from ray_gym.errors import UserError
from ray_gym.messages import Message, ToolSchema
from ray_gym.models.base import TokenIds

OUR_TEMPLATE = Path(__file__).parent / "templates" / "chatml_tools.jinja"


@dataclass(frozen=True, slots=True)
class Prompt:
    """`new_ids` go after the history (or are the whole prompt, if there is a `fork_reason`).

    `lengths` says how many of them belong to each new message; the rest opens the generation.
    """

    new_ids: TokenIds
    lengths: tuple[int, ...]
    fork_reason: str | None = None


class ChatFormat:
    """One tokenizer and its templates. Pure: no engine, no Ray; safe in threads."""

    def __init__(self, tokenizer: Any, stop_ids: Sequence[int], template: str | None = None) -> None:
        """`stop_ids` end a generation; `template` replaces the tokenizer's own (Jinja text)."""
        self._tokenizer = tokenizer
        self._text = TextTokenizer(tokenizer)
        self._stop_ids = frozenset(stop_ids)
        self._stop_strings = [tokenizer.convert_ids_to_tokens(stop_id) for stop_id in stop_ids]
        self._template = template or tokenizer.chat_template
        if self._template is None:
            raise UserError("the model has no chat template; set chat_template to a file with one")
        self.shows_tools = self._shows_tools(self._template)
        self._tool_template = self._template if self.shows_tools else self._our_template()

    @property
    def uses_our_template(self) -> bool:
        """Whether tools are shown by our template, because the model's own has no place for them."""
        return not self.shows_tools and self._tool_template is not None

    def prompt(self, messages: Sequence[Message], tools: Sequence[ToolSchema], known: int, history: TokenIds) -> Prompt:
        """The ids that the next generation needs. `history` covers the first `known` messages, the last of them generated.

        Errors: UserError if the template cannot show tools or refuses the messages.
        """
        rendering = _Rendering(self, messages, tools)
        if known == 0 or len(history) == 0:
            return self._whole(rendering)
        before_generation = rendering.text(known - 1, generation_prompt=True)
        covered = rendering.text(known)
        if not covered.startswith(before_generation) or not rendering.full.startswith(covered):
            return self._whole(rendering, "template_rewrote_history")
        closing = self._closing(covered[len(before_generation) :], ended=int(history[-1]) in self._stop_ids)
        return self._tokenised(rendering, known, len(covered), closing)

    def _whole(self, rendering: _Rendering, fork_reason: str | None = None) -> Prompt:
        return self._tokenised(rendering, 0, 0, "", fork_reason)

    def _tokenised(
        self, rendering: _Rendering, known: int, start: int, lead: str, fork_reason: str | None = None
    ) -> Prompt:
        """Tokenise what comes after `start`, message by message; `lead` belongs to the first piece."""
        ids: list[int] = []
        lengths: list[int] = []
        for count in range(known + 1, rendering.count + 1):
            end = rendering.end_of(count)
            before = len(ids)
            if end is not None and end > start:
                ids += self._text.encode(lead + rendering.full[start:end], rendering.placeholders)
                start, lead = end, ""
            lengths.append(len(ids) - before)
        ids += self._text.encode(lead + rendering.full[start:], rendering.placeholders)
        return Prompt(np.array(ids, dtype=np.int32), tuple(lengths), fork_reason)

    def _closing(self, answer: str, *, ended: bool) -> str:
        """What the template writes after the text of an answer, less the end-of-turn token if the model generated it."""
        found = [(answer.rfind(stop), stop) for stop in self._stop_strings]
        position, stop = max(found, default=(-1, ""))
        if position < 0:
            return ""
        return answer[position + len(stop) :] if ended else answer[position:]

    def render(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]], generation_prompt: bool) -> str:
        """Errors: UserError if tools can't be shown or the template refuses the messages."""
        template = self._tool_template if tools else self._template
        if template is None:
            raise UserError("the model's chat template does not show tools and is not ChatML; set chat_template")
        try:
            rendered: str = self._tokenizer.apply_chat_template(
                messages,
                tools=tools or None,
                chat_template=template,
                add_generation_prompt=generation_prompt,
                tokenize=False,
            )
        except TemplateError as error:
            raise UserError(f"the chat template refuses the messages: {error}") from error
        return rendered

    def _shows_tools(self, template: str) -> bool:
        probe = ToolSchema("a_probe_of_the_template", "", {"type": "object", "properties": {}})
        messages = [{"role": "user", "content": "x"}]
        try:
            rendered = self._tokenizer.apply_chat_template(
                messages, tools=[probe.as_openai()], chat_template=template, tokenize=False
            )
        except Exception:
            return False
        return probe.name in rendered

    def _our_template(self) -> str | None:
        return OUR_TEMPLATE.read_text() if "<|im_start|>" in self._template else None


class _Rendering:
    """One conversation rendered as text, and where in it each message ends."""

    def __init__(self, chat_format: ChatFormat, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> None:
        self._format = chat_format
        self.placeholders = Placeholders()
        protect = chat_format._text.protect
        self._messages = [protect(_as_template_data(message), self.placeholders) for message in messages]
        self._tools = [protect(tool.as_openai(), self.placeholders) for tool in tools]
        self.count = len(messages)
        self.full = self.text(self.count, generation_prompt=True)

    def text(self, count: int, *, generation_prompt: bool = False) -> str:
        """The first `count` messages as text."""
        return self._format.render(self._messages[:count], self._tools, generation_prompt)

    def end_of(self, count: int) -> int | None:
        """Where the first `count` messages end in the full text; None where the template can't cut there."""
        try:
            part = self.text(count)
        except Exception:  # templates raise whatever they like on conversations that they find incomplete
            return None
        return len(part) if self.full.startswith(part) else None


def _as_template_data(message: Message) -> dict[str, Any]:
    """A message as chat templates expect it (the OpenAI shape, arguments parsed)."""
    data: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.reasoning is not None:
        data["reasoning_content"] = message.reasoning
    if message.tool_calls:
        data["tool_calls"] = [
            {"type": "function", "id": call.id, "function": {"name": call.name, "arguments": _parsed(call.arguments)}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        data["tool_call_id"] = message.tool_call_id
    return data


def _parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments
