"""Renders chats so that prompts only grow: finds the token ids that a step adds to the exact history of its thread.

All messages are rendered with the model's template, but only the text after the part that the history covers is
tokenised, message by message. Generated tokens are never tokenised again. If the template renders the covered part
otherwise than before, the whole prompt is tokenised anew, and `fork_reason` says why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ray_gym.deployments.chat.rendering import Rendering
from ray_gym.deployments.chat.template import Template
from ray_gym.deployments.chat.text_tokens import TextTokenizer
from ray_gym.errors import UserError
from ray_gym.messages import Message, ToolSchema
from ray_gym.models.base import TokenIds
from ray_gym.models.thoughts import count_marks

FALLBACK_TEMPLATE = Path(__file__).parent / "templates" / "chatml_tools.jinja"

REASONING_STRIPPED = "reasoning_stripped"
TEMPLATE_REWROTE_HISTORY = "template_rewrote_history"
TEMPLATE_REFUSED_MESSAGE = "template_refused_message"


CUT_MESSAGES, CUT_CHARACTERS = 32, 500_000
"""Limits for finding the ends of messages in a prompt, each of which is found by rendering all messages up to it.

Only the last `CUT_MESSAGES` messages are tokenised one by one, and fewer if that would render more than
`CUT_CHARACTERS` characters. The tokens of all earlier messages are counted for the first of those.
"""


@dataclass(frozen=True, slots=True)
class Prompt:
    """Holds the token ids that a prompt adds to the history of its thread, or all its ids if it does not begin with the
    history.
    """

    new_ids: TokenIds
    """int32 [n]: ids after the history, or the whole prompt if there is a `fork_reason`."""
    lengths: tuple[int, ...]
    """Number of `new_ids` of each message after the history (of all messages if there is a `fork_reason`). It is 0 for
    a message whose end was not found: its tokens count for what follows it. The rest of `new_ids` is the generation
    prompt.
    """
    fork_reason: str | None = None
    """Reason why the prompt does not begin with the history; None if it does."""


@dataclass(frozen=True, slots=True)
class _Continuation:
    """Says which text is tokenised after the history: `closing`, then the full text from the character `start` on."""

    start: int
    closing: str
    """Text that ends the last generated message, and that the history lacks."""


class ChatFormat:
    """A chat format renders and tokenises the conversations of one model. It holds the tokenizer and the chat template,
    uses neither an engine nor Ray, and is safe in threads.
    """

    def __init__(
        self,
        tokenizer: Any,
        stop_ids: Sequence[int],
        template: str | None = None,
        variables: Mapping[str, Any] | None = None,
    ) -> None:
        """Creates a chat format, and renders small probes to find out which messages its template accepts.

        `tokenizer`: a Hugging Face tokenizer. `stop_ids`: ids of the tokens that end a generation. `template`: Jinja
        text in place of the tokenizer's own template; None for its own. `variables`: passed to the template, such as
        enable_thinking. Errors: UserError if there is no template.
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
            self.tool_template = Template(tokenizer, FALLBACK_TEMPLATE.read_text("utf-8"))
        self._text = TextTokenizer(tokenizer, {source, (self.tool_template or self.template).source})

    @property
    def shows_tools(self) -> bool:
        """Returns True if the model's own template shows tools."""
        return self.template.shows_tools

    @property
    def uses_fallback_template(self) -> bool:
        """Returns True if tools are shown by the fallback template (ChatML), since the model's own shows none."""
        return not self.shows_tools and self.tool_template is not None

    def prompt(self, messages: Sequence[Message], tools: Sequence[ToolSchema], known: int, history: TokenIds) -> Prompt:
        """Returns the prompt of the next generation: the ids that follow the history, or all ids if there is no
        history, or if the template now renders the messages that it covers in another way.

        `messages`: the whole conversation. `tools`: tools that the prompt shows. `known`: number of the first messages
        that the history covers, the last of which was generated; 0 without a history. `history`: int32 [n], their exact
        ids. Errors: UserError if the template can't show tools or calls, or refuses the messages.
        """
        template = self._template_for(messages, tools)
        if known == 0 or len(history) == 0:
            return self._tokenise(Rendering(template, self._text, messages, tools), 0, _Continuation(0, ""))
        rendering = Rendering(template, self._text, messages, tools, known)
        continuation = self._continue_after_answer(rendering, known, history) or self._continue_after_text(
            rendering, history
        )
        if continuation is not None:
            return self._tokenise(rendering, known, continuation)
        reason = self._fork_reason(rendering, messages[:known], history)
        return self._tokenise(rendering, 0, _Continuation(0, ""), reason)

    def encode_conversation(self, messages: Sequence[Message]) -> list[int]:
        """Returns the ids of a conversation without a generation prompt, for models that judge it.

        Errors: UserError if the template can't show calls, or refuses the messages.
        """
        rendering = Rendering(self._template_for(messages, ()), self._text, messages, ())
        text = rendering.text(rendering.count)
        assert text is not None  # it was rendered with a generation prompt
        return self._text.encode(text, rendering.placeholders, continued=False)

    def _template_for(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Template:
        """Returns the template for these messages: the model's own, or the fallback for tools and earlier calls that
        the model's own does not show. Errors: UserError if neither can show them.
        """
        has_calls = any(message.tool_calls or message.role == "tool" for message in messages)
        if not tools and (not has_calls or self.template.shows_calls):
            return self.template
        if self.tool_template is None:
            what = "tools" if tools else "tool calls, which the conversation has,"
            raise UserError(f"the model's chat template does not show {what} and is not ChatML; set chat_template")
        return self.tool_template

    def _continue_after_answer(self, rendering: Rendering, known: int, history: TokenIds) -> _Continuation | None:
        """Returns the continuation after the text of the first `known` messages, the last of which was generated. None
        if the text of all messages does not begin with that text, or that text does not begin with the messages before
        the last known one and a generation prompt.
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
            # In some families (GLM) the token that ends an answer also begins the next message.
            return _Continuation(len(covered) + len(generated_stop), "")
        return _Continuation(len(covered), rendering.closing_of_plain_text(known))

    def _closing(self, answer: str, generated_stop: str) -> str | None:
        """Returns the text that the template writes after an answer, from its end-of-turn token on. That token itself
        is left out if it is the one that the model generated. None if `answer` has no token that ends a generation.

        `answer`: the template's text of the last known message. `generated_stop`: end-of-turn token that the model
        generated, "" if it generated none.
        """
        found = [(answer.rfind(stop), stop) for stop in self._stop_strings]
        position, stop = max(found, default=(-1, ""))
        if position < 0:
            return None
        return answer[position + len(stop) :] if stop == generated_stop else answer[position:]

    def _continue_after_text(self, rendering: Rendering, history: TokenIds) -> _Continuation | None:
        """Returns the continuation if the full text begins with the decoded text of the history; else None. This finds
        the place with templates that render the last answer in another way than earlier ones.
        """
        start = rendering.find_end_of_text(self._decode(history))
        return None if start is None else _Continuation(start, "")

    def _fork_reason(self, rendering: Rendering, known: Sequence[Message], history: TokenIds) -> str:
        if rendering.has_stand_in:
            return TEMPLATE_REFUSED_MESSAGE
        text = rendering.plain
        lost = any(message.reasoning and message.reasoning.strip() not in text for message in known)
        marks_before = count_marks(self._decode(history))
        if lost or marks_before > count_marks(text):
            return REASONING_STRIPPED
        return TEMPLATE_REWROTE_HISTORY

    def _decode(self, ids: TokenIds) -> str:
        text: str = self._tokenizer.decode(ids.tolist(), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return text

    def _tokenise(
        self, rendering: Rendering, known: int, after: _Continuation, fork_reason: str | None = None
    ) -> Prompt:
        """Returns the prompt with the ids of the text after the history, tokenised message by message.

        `known`: number of messages that the history covers. `after`: text to tokenise; its closing counts for the first
        new message.
        """
        start, lead = after.start, after.closing
        ids: list[int] = []
        lengths: list[int] = []
        cut_count = min(CUT_MESSAGES, max(1, CUT_CHARACTERS // max(len(rendering.full), 1)))
        for count in range(known + 1, rendering.count + 1):
            end = rendering.find_end(count) if count > rendering.count - cut_count else None
            before = len(ids)
            if end is not None and end > start:
                text = lead + rendering.full[start:end]
                ids += self._text.encode(text, rendering.placeholders, continued=start > 0)
                start, lead = end, ""
            lengths.append(len(ids) - before)
        ids += self._text.encode(lead + rendering.full[start:], rendering.placeholders, continued=start > 0)
        return Prompt(np.array(ids, dtype=np.int32), tuple(lengths), fork_reason)
