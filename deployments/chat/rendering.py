"""Renders one conversation as text, and finds where in it each message ends."""

from __future__ import annotations

from collections.abc import Sequence

from ray_gym.deployments.chat.template import Data, Template
from ray_gym.deployments.chat.text_tokens import Placeholders, TextTokenizer
from ray_gym.errors import UserError
from ray_gym.messages import Message, ToolSchema

_MARK = "\U000f8000"
"""Private-use character that stands for the text of an answer. Text has no use for it, and it is not a placeholder."""


class Rendering:
    """Holds a conversation as text: `full` is all of it, with the generation prompt. Control strings within messages
    are replaced by placeholders.
    """

    def __init__(
        self,
        template: Template,
        text: TextTokenizer,
        messages: Sequence[Message],
        tools: Sequence[ToolSchema],
        known: int = 0,
    ) -> None:
        """Renders the messages.

        `known`: number of the first messages whose exact ids are known. If the template refuses one of these, it is
        replaced by a stand-in, since its own text is not needed. Errors: UserError if the template refuses the
        messages.
        """
        self._template = template
        self._text = text
        self.placeholders = Placeholders()
        self.count = len(messages)
        self._tools = [self._protect(tool.as_openai()) for tool in tools]
        self._messages = [self._protect(template.data(message)) for message in messages]
        self.has_stand_in = False
        """True if a known message that the template refuses was replaced."""
        try:
            self.full = self._render(self._messages, generation_prompt=True)
        except UserError:
            if known == 0:
                raise
            self._replace_refused(messages[:known])

    @property
    def plain(self) -> str:
        """Returns the full text, with literals in place of the placeholders."""
        return "".join(self._text.spell_out(piece, self.placeholders) for piece in self._text.pieces(self.full))

    def text(self, count: int, *, generation_prompt: bool = False) -> str | None:
        """Returns the first `count` messages as text; None if the template refuses them without the others."""
        try:
            return self._render(self._messages[:count], generation_prompt=generation_prompt)
        except UserError:
            return None

    def find_end(self, count: int) -> int | None:
        """Returns the index in the full text where the first `count` messages end; None if their own text is not the
        beginning of the full text, or the template refuses them without the others.
        """
        part = self.text(count)
        return len(part) if part is not None and self.full.startswith(part) else None

    def find_end_of_text(self, text: str) -> int | None:
        """Returns the index in the full text where `text`, which has no placeholders, ends; None if the full text
        doesn't begin with it, or if it ends within a control string that a placeholder replaces.
        """
        position = 0
        for piece in self._text.pieces(self.full):
            spelled = self._text.spell_out(piece, self.placeholders)
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
        """Returns the text that the template would write after message number `known` (from 1), if that were an answer
        of plain text; "" if the template refuses it.
        """
        answer: Data = {"role": "assistant", "content": _MARK}
        try:
            rendered = self._render([*self._messages[: known - 1], answer], generation_prompt=False)
        except UserError:
            return ""
        return rendered.rpartition(_MARK)[2]

    def _render(self, messages: Sequence[Data], *, generation_prompt: bool) -> str:
        return self._template.render(messages, self._tools, generation_prompt=generation_prompt)

    def _replace_refused(self, known: Sequence[Message]) -> None:
        """Replaces the known messages that the template refuses, and renders again. If it refuses none of them by
        itself, all of the assistant's are replaced. Errors: UserError if it still refuses them.
        """
        self.has_stand_in = True
        refused = [index for index, message in enumerate(known) if not self._template.accepts(message)]
        for index in refused or range(len(known)):
            self._messages[index] = self._protect(self._template.stand_in(known[index]))
        self.full = self._render(self._messages, generation_prompt=True)

    def _protect(self, data: Data) -> Data:
        protected: Data = self._text.protect(data, self.placeholders)
        return protected
