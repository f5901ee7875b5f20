"""Renders one conversation as text, and finds where in it each message ends."""

from __future__ import annotations

from collections.abc import Sequence

from ray_gym.deployments.chat.template import Data, Template
from ray_gym.deployments.chat.text_tokens import Placeholders, TextTokenizer
from ray_gym.errors import UserError
from ray_gym.messages import Message, ToolSchema

_MARK = "\U000f8000"
"""Character that stands for the text of an answer; no text has a use for it, and placeholders never get as far."""


class Rendering:
    """A rendering's `full` is the whole text with the generation prompt; control strings in messages are exchanged for
    placeholders.
    """

    def __init__(
        self,
        template: Template,
        text: TextTokenizer,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
        known: int = 0,
    ) -> None:
        """Renders the messages. The exact ids of the first `known` are known, so a stand-in will do where the template
        refuses one of them.
        Errors: UserError if the template refuses the messages.
        """
        self._template = template
        self._text = text
        self.placeholders = Placeholders()
        self.count = len(messages)
        self._tools = [self._protected(tool.as_openai()) for tool in tools]
        self._messages = [self._protected(template.data(message)) for message in messages]
        self.stands_in = False
        """True if a known message that the template refuses is shown by another one."""
        try:
            self.full = self._render(self._messages, generation_prompt=True)
        except UserError:
            if known == 0:
                raise
            self._stand_in(messages[:known])

    @property
    def plain(self) -> str:
        """Returns the full text with its placeholders spelled out."""
        return "".join(self._text.spelled(piece, self.placeholders) for piece in self._text.pieces(self.full))

    def text(self, count: int, *, generation_prompt: bool = False) -> str | None:
        """Returns the first `count` messages as text; None if the template refuses them by themselves."""
        try:
            return self._render(self._messages[:count], generation_prompt=generation_prompt)
        except UserError:
            return None

    def end_of(self, count: int) -> int | None:
        """Returns where the first `count` messages end in the full text; None where the template can't cut there."""
        part = self.text(count)
        return len(part) if part is not None and self.full.startswith(part) else None

    def end_of_text(self, text: str) -> int | None:
        """Returns where `text`, with its control strings spelled out, ends in the full text; None if the full text
        doesn't begin with it.
        """
        position = 0
        for piece in self._text.pieces(self.full):
            spelled = self._text.spelled(piece, self.placeholders)
            if len(text) <= len(spelled):
                whole = spelled is piece or len(text) == len(spelled)  # a placeholder can't be cut
                end = len(text) if spelled is piece else len(piece)
                return position + end if whole and spelled.startswith(text) else None
            if not text.startswith(spelled):
                return None
            text = text[len(spelled) :]
            position += len(piece)
        return position if not text else None

    def closing_of_plain_text(self, known: int) -> str:
        """Returns the text that the template writes after an answer of plain text in the place of message number
        `known`.
        """
        answer: Data = {"role": "assistant", "content": _MARK}
        try:
            rendered = self._render([*self._messages[: known - 1], answer], generation_prompt=False)
        except UserError:
            return ""
        return rendered.rpartition(_MARK)[2]

    def _render(self, messages: Sequence[Data], *, generation_prompt: bool) -> str:
        return self._template.render(messages, self._tools, generation_prompt=generation_prompt)

    def _stand_in(self, known: Sequence[Message]) -> None:
        """Replaces the messages that the template refuses; all of the model's own, if it doesn't refuse any by
        itself.
        """
        self.stands_in = True
        refused = [index for index, message in enumerate(known) if not self._template.takes(message)]
        for index in refused or range(len(known)):
            self._messages[index] = self._protected(self._template.stand_in(known[index]))
        self.full = self._render(self._messages, generation_prompt=True)

    def _protected(self, data: Data) -> Data:
        protected: Data = self._text.protect(data, self.placeholders)
        return protected
