"""A model's chat template, and what has to be known of it before messages can be put through it.

Templates differ in what they take: tools or none, arguments of calls as objects or as text, one speaker after another only. That is
found out by rendering small probes once, so that nothing depends on the names of models.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ray_gym.errors import UserError, describe
from ray_gym.messages import Message, ToolSchema

Data = dict[str, Any]
"""A message as templates expect it: the OpenAI shape, with the arguments of calls parsed."""

_TOOL = ToolSchema("a_probe_of_the_template", "", {"type": "object", "properties": {}})
_USER: Data = {"role": "user", "content": "x"}


class Template:
    """Safe in threads."""

    def __init__(self, tokenizer: Any, source: str, variables: Mapping[str, Any] | None = None) -> None:
        """`source` is Jinja; `variables` are its own switches, such as enable_thinking."""
        self.source = source
        self._tokenizer = tokenizer
        self._variables = dict(variables or {})
        self.shows_tools = _TOOL.name in (self._probe([_USER], [_TOOL.as_openai()]) or "")
        self._takes_objects = self._takes_arguments({"key": "value"}) or not self._takes_arguments("{}")
        self._takes_broken = self._takes_arguments("{")
        self._alternates = (
            self._probe([_USER, _USER]) is None
            and self._probe([_USER, {"role": "assistant", "content": "x"}, _USER]) is not None
        )
        self._names_thinking = "thinking" in source

    def render(self, messages: Sequence[Data], tools: Sequence[Data], *, generation_prompt: bool) -> str:
        """Errors: UserError if the template refuses the messages; templates raise whatever they like."""
        try:
            rendered: str = self._tokenizer.apply_chat_template(
                self._alternating(messages) if self._alternates else list(messages),
                tools=list(tools) or None,
                chat_template=self.source,
                add_generation_prompt=generation_prompt,
                tokenize=False,
                **self._variables,
            )
        except Exception as error:
            raise UserError(f"the chat template refuses the messages: {describe(error)}") from error
        return rendered

    def data(self, message: Message) -> Data:
        """The message in the form that this template takes."""
        data: Data = {"role": message.role, "content": message.content}
        if message.reasoning is not None:
            data["reasoning_content"] = data["reasoning"] = message.reasoning
            if self._names_thinking:
                data["thinking"] = message.reasoning
        if message.tool_calls:
            data["tool_calls"] = [
                {
                    "type": "function",
                    "id": call.id,
                    "function": {"name": call.name, "arguments": self._arguments(call.arguments)},
                }
                for call in message.tool_calls
            ]
        if message.tool_call_id is not None:
            data["tool_call_id"] = message.tool_call_id
        return data

    def stand_in(self, message: Message) -> Data:
        """A message in place of one that the template refuses: its first call alone, or its text alone.

        Only for messages whose exact ids are known, where all that counts is what the template writes after them.
        """
        if message.role != "assistant":
            return self.data(message)
        if message.tool_calls:
            return self.data(Message("assistant", tool_calls=message.tool_calls[:1]))
        return self.data(Message("assistant", message.content or " "))  # some refuse an empty answer

    def _arguments(self, text: str) -> Any:
        if not self._takes_objects:
            return text
        try:
            parsed = json.loads(text)
        except ValueError:
            parsed = text
        return parsed if isinstance(parsed, dict) or self._takes_broken else {"arguments": text}

    def _alternating(self, messages: Sequence[Data]) -> list[Data]:
        """Messages of the user in a row made into one, for templates that refuse them."""
        merged: list[Data] = []
        for message in messages:
            last = merged[-1] if merged else None
            if last is not None and last["role"] == message["role"] == "user":
                merged[-1] = {**last, "content": f"{last['content']}\n\n{message['content']}"}
            else:
                merged.append(message)
        return merged

    def _takes_arguments(self, arguments: Any) -> bool:
        function = {"name": "x", "arguments": arguments}
        call = {"type": "function", "id": "abcdefghi", "function": function}
        asked = {"role": "assistant", "content": "", "tool_calls": [call]}
        answered = {"role": "tool", "content": "x", "tool_call_id": "abcdefghi"}
        rendered = self._probe([_USER, asked, answered], [_TOOL.as_openai()])
        return rendered is not None and "'key'" not in rendered  # which is Python's way to write a dict, and not JSON

    def _probe(self, messages: list[Data], tools: Sequence[Data] = ()) -> str | None:
        try:
            rendered: str = self._tokenizer.apply_chat_template(
                messages, tools=list(tools) or None, chat_template=self.source, tokenize=False, **self._variables
            )
        except Exception:  # a probe that is refused is an answer
            return None
        return rendered
