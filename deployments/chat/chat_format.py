"""Renders chats so that prompts only grow: finds the ids that a step adds to the exact history of its thread.

Messages are rendered whole, with the model's template; only the text after the part that the history already covers is
tokenised, cut at whole messages. Generated tokens are never rendered into ids again. If the template rewrites what came
before, there is no such text: the prompt is made anew and `fork_reason` says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ray_gym.deployments.chat.parsers import REASONING_MARK
from ray_gym.deployments.chat.rendering import Rendering
from ray_gym.deployments.chat.template import Template
from ray_gym.deployments.chat.text_tokens import TextTokenizer
from ray_gym.errors import UserError
from ray_gym.messages import Message, ToolSchema
from ray_gym.models.base import TokenIds

OUR_TEMPLATE = Path(__file__).parent / "templates" / "chatml_tools.jinja"

REASONING_STRIPPED = "reasoning_stripped"
TEMPLATE_REWROTE_HISTORY = "template_rewrote_history"
TEMPLATE_REFUSED_MESSAGE = "template_refused_message"


TOLD_APART, RENDERED_CHARACTERS = 32, 500_000
"""Limits for finding the ends of messages in a long prompt that is all new: each end is found by rendering all that
goes before. Only so many of the last messages are told apart, and with at most so many characters rendered; the tokens
of earlier ones go with the first of those.
"""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt's `new_ids` (int32 [n]) go after the history, or are the whole prompt if there is a `fork_reason`.
    `lengths` says how many of them belong to each new message; the rest opens the generation.
    """

    new_ids: TokenIds
    lengths: tuple[int, ...]
    fork_reason: str | None = None


@dataclass(frozen=True, slots=True)
class _Continuation:
    """A continuation says where in the full text the history ends, and which closing text is tokenised before
    the rest.
    """

    start: int
    closing: str


class ChatFormat:
    """A chat format is one tokenizer and its templates. It is pure: no engine, no Ray; safe in threads."""

    def __init__(
        self,
        tokenizer: Any,
        stop_ids: Sequence[int],
        template: str | None = None,
        variables: Mapping[str, Any] | None = None,
    ) -> None:
        """Probes the templates. `stop_ids` end a generation; `template` replaces the tokenizer's own (Jinja text),
        `variables` are passed to it.
        Errors: UserError if there is no template.
        """
        source = template or tokenizer.chat_template
        if not isinstance(source, str):
            raise UserError("the model has no chat template; set chat_template to a file with one")
        self._tokenizer = tokenizer
        self._stops: dict[int, str] = {stop_id: tokenizer.convert_ids_to_tokens(stop_id) for stop_id in stop_ids}
        self._stop_strings = list(self._stops.values())
        self.template = Template(tokenizer, source, variables)
        self.tool_template: Template | None = self.template if self.template.shows_tools else None
        if self.tool_template is None and "<|im_start|>" in source and "<|im_end|>" in self._stop_strings:
            self.tool_template = Template(tokenizer, OUR_TEMPLATE.read_text())
        self._text = TextTokenizer(tokenizer, {source, (self.tool_template or self.template).source})

    @property
    def shows_tools(self) -> bool:
        """Says whether the model's own template has a place for tools."""
        return self.template.shows_tools

    @property
    def uses_our_template(self) -> bool:
        """Says whether tools are shown by our template, because the model's own has no place for them."""
        return not self.shows_tools and self.tool_template is not None

    def prompt(self, messages: Sequence[Message], tools: Sequence[ToolSchema], known: int, history: TokenIds) -> Prompt:
        """Returns the ids that the next generation needs. `history` (int32 [n]) covers the first `known` messages, the
        last of them generated.
        Errors: UserError if the template cannot show tools or calls, or refuses the messages.
        """
        template = self._template_for(messages, tools)
        if known == 0 or len(history) == 0:
            return self._tokenised(Rendering(template, self._text, messages, tools), 0, _Continuation(0, ""))
        rendering = Rendering(template, self._text, messages, tools, known)
        continuation = self._appended(rendering, known, history) or self._spelled_out(rendering, history)
        if continuation is not None:
            return self._tokenised(rendering, known, continuation)
        reason = self._fork_reason(rendering, messages[:known], history)
        return self._tokenised(rendering, 0, _Continuation(0, ""), reason)

    def whole(self, messages: Sequence[Message]) -> list[int]:
        """Returns the ids of a conversation that is not continued.
        Errors: UserError if the template cannot show calls or refuses the messages.
        """
        rendering = Rendering(self._template_for(messages, ()), self._text, messages, ())
        text = rendering.text(rendering.count)
        assert text is not None  # it was rendered with a generation prompt
        return self._text.encode(text, rendering.placeholders, continued=False)

    def _template_for(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Template:
        """Chooses the template. Earlier calls need one that shows them, also where no tools are offered any more.
        Errors: UserError.
        """
        has_calls = any(message.tool_calls or message.role == "tool" for message in messages)
        if not tools and (not has_calls or self.template.shows_calls):
            return self.template
        if self.tool_template is None:
            what = "tools" if tools else "tool calls, which the conversation has,"
            raise UserError(f"the model's chat template does not show {what} and is not ChatML; set chat_template")
        return self.tool_template

    def _appended(self, rendering: Rendering, known: int, history: TokenIds) -> _Continuation | None:
        """Returns the continuation if the template only appends, so that its text of all messages begins with its text
        of the known ones; else None.
        """
        before_answer = rendering.text(known - 1, generation_prompt=True)
        covered = rendering.text(known)
        if before_answer is None or covered is None:
            return None
        if not covered.startswith(before_answer) or not rendering.full.startswith(covered):
            return None
        generated_stop = self._stops.get(int(history[-1]), "")
        closing = self._closing(covered[len(before_answer) :], generated_stop)
        if closing is not None:
            return _Continuation(len(covered), closing)
        if generated_stop and rendering.full.startswith(generated_stop, len(covered)):
            # In some families (GLM) an answer ends with the mark that begins the next message.
            return _Continuation(len(covered) + len(generated_stop), "")
        return _Continuation(len(covered), rendering.closing_of_plain_text(known))

    def _closing(self, answer: str, generated_stop: str) -> str | None:
        """Returns the text that the template writes after an answer, without its end-of-turn token if the model
        generated that one.
        If the model ended with another token, it stands before the template's. None if the template writes no token
        that ends a generation.
        """
        found = [(answer.rfind(stop), stop) for stop in self._stop_strings]
        position, stop = max(found, default=(-1, ""))
        if position < 0:
            return None
        return answer[position + len(stop) :] if stop == generated_stop else answer[position:]

    def _spelled_out(self, rendering: Rendering, history: TokenIds) -> _Continuation | None:
        """Returns the continuation if the full text begins with the very text of the history, as when a template adds
        to a last answer only; else None.
        """
        start = rendering.end_of_text(self._decoded(history))
        return None if start is None else _Continuation(start, "")

    def _fork_reason(self, rendering: Rendering, known: Sequence[Message], history: TokenIds) -> str:
        if rendering.stands_in:
            return TEMPLATE_REFUSED_MESSAGE
        text = rendering.plain
        lost = any(message.reasoning and message.reasoning.strip() not in text for message in known)
        marks_before = len(REASONING_MARK.findall(self._decoded(history)))
        if lost or marks_before > len(REASONING_MARK.findall(text)):
            return REASONING_STRIPPED
        return TEMPLATE_REWROTE_HISTORY

    def _decoded(self, ids: TokenIds) -> str:
        text: str = self._tokenizer.decode(ids.tolist(), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return text

    def _tokenised(
        self, rendering: Rendering, known: int, after: _Continuation, fork_reason: str | None = None
    ) -> Prompt:
        """Tokenises the text after the history, message by message; the history's closing belongs to the first
        piece.
        """
        start, lead = after.start, after.closing
        ids: list[int] = []
        lengths: list[int] = []
        told_apart = min(TOLD_APART, max(1, RENDERED_CHARACTERS // max(len(rendering.full), 1)))
        for count in range(known + 1, rendering.count + 1):
            end = rendering.end_of(count) if count > rendering.count - told_apart else None
            before = len(ids)
            if end is not None and end > start:
                text = lead + rendering.full[start:end]
                ids += self._text.encode(text, rendering.placeholders, continued=start > 0)
                start, lead = end, ""
            lengths.append(len(ids) - before)
        ids += self._text.encode(lead + rendering.full[start:], rendering.placeholders, continued=start > 0)
        return Prompt(np.array(ids, dtype=np.int32), tuple(lengths), fork_reason)
