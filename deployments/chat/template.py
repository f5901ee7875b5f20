"""Renders a model's chat template, and finds out by probes which messages it accepts.

Templates differ in what they accept: tools or none, arguments of calls as objects or as text, or only alternating
speakers. Small probes are rendered once to find that out, so that nothing depends on the names of models.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from ray_gym.errors import UserError, describe
from ray_gym.messages import Message, ToolSchema, arguments_object
from ray_gym.seeds import stable_id

Data = dict[str, Any]
"""Message as templates expect it: in OpenAI's form, with the arguments of calls as objects if the template takes them
so.
"""

_TOOL = ToolSchema("a_probe_of_the_template", "", {"type": "object", "properties": {}})
_USER: Data = {"role": "user", "content": "x"}
_ANSWER: Data = {"role": "assistant", "content": "x"}
_SYSTEM, _ANOTHER = "a system prompt of the probe", "another one"
_ARGUMENT, _RESULT = "an argument of the probe", "a result of the probe"
_SHORT_ID, _LONG_ID = "abcdefghi", "call_of_the_probe_1"
_ACCEPTED_BY_ALL = re.compile(r"[a-zA-Z0-9]{9}")

BEGIN = "Begin."
"""Text of a user's message that is put first if a template accepts no conversation without one."""


class Template:
    """Renders messages by a chat template, in the form that the template accepts. It is safe in threads."""

    def __init__(self, tokenizer: Any, source: str, variables: Mapping[str, Any] | None = None) -> None:
        """Creates the template, and renders small probes to find out what it shows and accepts. `tokenizer`: a Hugging
        Face tokenizer. `source`: Jinja text. `variables`: passed to the template, such as enable_thinking.
        """
        self.source = source
        self._tokenizer = tokenizer
        self._variables = dict(variables or {})
        self.shows_tools = _TOOL.name in (self._probe([_USER], [_TOOL.as_openai()]) or "")
        self._accepts_objects = self._accepts_arguments({"key": "value"}) or not self._accepts_arguments("{}")
        called = self._call_probe({"key": _ARGUMENT})
        shown = self._probe(called) or ""
        self.shows_calls = all(part in shown for part in (_TOOL.name, _ARGUMENT, _RESULT))
        self._shortens_ids = bool(shown) and self._refuses(self._call_probe({"key": _ARGUMENT}, _LONG_ID))
        system, another = ({"role": "system", "content": text} for text in (_SYSTEM, _ANOTHER))
        both = self._probe([system, another, _USER]) or ""  # some show the first alone, others the last
        joined = {
            ("system", "system"): _SYSTEM not in both or _ANOTHER not in both,
            ("user", "user"): self._refuses([_USER, _USER], [_USER, _ANSWER, _USER]),
            ("assistant", "assistant"): self._refuses([_USER, _ANSWER, _ANSWER, _USER], [_USER, _ANSWER, _USER]),
            ("tool", "user"): self._refuses([*called, _USER], called),
        }
        self._joined = {roles for roles, is_refused in joined.items() if is_refused}
        self._takes_late_system = all(self._shows_late(another, *between) for between in ((), (_ANSWER,)))
        opened = self._probe([{"role": "system", "content": _SYSTEM}]) or ""
        self._wants_user_first = _SYSTEM not in opened or self._refuses([_ANSWER, _USER])
        self._names_thinking = "thinking" in source

    def render(self, messages: Sequence[Data], tools: Sequence[Data], *, generation_prompt: bool) -> str:
        """Returns messages as text. `tools`: in OpenAI's form. `generation_prompt`: True to add the beginning of the
        next answer. Errors: UserError if the template refuses the messages by raising any exception.
        """
        try:
            rendered: str = self._tokenizer.apply_chat_template(
                self._arrange(messages),
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
        """Returns a message as a dict in OpenAI's form, with its reasoning, call ids and arguments as this template
        accepts them.
        """
        data: Data = {"role": message.role, "content": message.content}
        if message.reasoning is not None:
            data["reasoning_content"] = data["reasoning"] = message.reasoning
            if self._names_thinking:
                data["thinking"] = message.reasoning
        if message.tool_calls:
            data["tool_calls"] = [
                {
                    "type": "function",
                    "id": self._call_id(call.id),
                    "function": {"name": call.name, "arguments": self._arguments(call.arguments)},
                }
                for call in message.tool_calls
            ]
        if message.tool_call_id is not None:
            data["tool_call_id"] = self._call_id(message.tool_call_id)
        return data

    def stand_in(self, message: Message) -> Data:
        """Returns data in place of an assistant's message that the template refuses: its first call alone or, if it has
        no calls, its text alone. Messages of other roles are returned as `data` returns them.

        It is only for messages whose exact ids are known: of these, only the text that the template writes after them
        is needed.
        """
        if message.role != "assistant":
            return self.data(message)
        if message.tool_calls:
            return self.data(Message("assistant", tool_calls=message.tool_calls[:1]))
        return self.data(Message("assistant", message.content or " "))  # some refuse an empty answer

    def _call_id(self, given: str) -> str:
        """Returns the id of a call, or a digest of it if the template accepts only ids of nine letters and digits."""
        if not self._shortens_ids or _ACCEPTED_BY_ALL.fullmatch(given):
            return given
        return stable_id(given)[: len(_SHORT_ID)]

    def _arguments(self, text: str) -> Any:
        return arguments_object(text) if self._accepts_objects else text or "{}"

    def _arrange(self, messages: Sequence[Data]) -> list[Data]:
        """Returns messages in a form that this template accepts. If it needs a user's message first, and the first
        message after the system's is neither a user's nor a tool's, a user's message with the text `BEGIN` is put after
        the system's. If it shows no system message where it stands, after others, that becomes a user's. If it refuses
        two adjacent roles (two messages of one role, or a user's after a tool's), such messages are joined.
        """
        taken: list[Data] = []
        first = next((message["role"] for message in messages if message["role"] != "system"), None)
        if self._wants_user_first and first not in ("user", "tool"):
            systems = list(takewhile(lambda message: message["role"] == "system", messages))
            messages = [*systems, {"role": "user", "content": BEGIN}, *messages[len(systems) :]]
        for message in messages:
            if message["role"] == "system" and not self._takes_late_system and _has_begun(taken):
                message = {**message, "role": "user"}
            if taken and (taken[-1]["role"], message["role"]) in self._joined:
                taken[-1] = _join(taken[-1], message)
            else:
                taken.append(message)
        return taken

    def accepts(self, message: Message) -> bool:
        """Returns True if the template accepts a message of the assistant after a user's. Messages of other roles are
        not tried, and give True.
        """
        if message.role != "assistant":
            return True
        return not self._refuses([_USER, self.data(message)])

    def _accepts_arguments(self, arguments: Any) -> bool:
        rendered = self._probe(self._call_probe(arguments), [_TOOL.as_openai()])
        return rendered is not None and "'key'" not in rendered  # a dict in Python's notation is not JSON

    def _call_probe(self, arguments: Any, call_id: str = _SHORT_ID) -> list[Data]:
        """Returns the messages of a probe: a question, a tool call with `arguments`, and its result. An object as
        `arguments` becomes JSON text if the template accepts only text.
        """
        if isinstance(arguments, dict) and not getattr(self, "_accepts_objects", True):
            arguments = json.dumps(arguments, ensure_ascii=False)
        call = {"type": "function", "id": call_id, "function": {"name": _TOOL.name, "arguments": arguments}}
        asked = {"role": "assistant", "content": "", "tool_calls": [call]}
        return [_USER, asked, {"role": "tool", "content": _RESULT, "tool_call_id": call_id}]

    def _shows_late(self, system: Data, *between: Data) -> bool:
        """Returns True if the template shows a system's message where it stands, after a user's and those `between`."""
        shown = self._probe([{"role": "user", "content": _ARGUMENT}, *between, system]) or ""
        return system["content"] in shown.partition(_ARGUMENT)[2]

    def _refuses(self, messages: list[Data], but_takes: list[Data] | None = None) -> bool:
        """Returns True if the template refuses `messages`. If `but_takes` is given, it also has to accept those: then
        the refusal is not due to something that both have.
        """
        return self._probe(messages) is None and (but_takes is None or self._probe(but_takes) is not None)

    def _probe(self, messages: list[Data], tools: Sequence[Data] = ()) -> str | None:
        try:
            rendered: str = self._tokenizer.apply_chat_template(
                messages, tools=list(tools) or None, chat_template=self.source, tokenize=False, **self._variables
            )
        except Exception:  # the template refuses the probe
            return None
        return rendered


def _has_begun(messages: Sequence[Data]) -> bool:
    """Returns True if there are other messages than the system's."""
    return bool(messages) and messages[-1]["role"] != "system"


def _join(first: Data, second: Data) -> Data:
    """Returns two messages as one of the first one's role, with their texts (and reasonings) separated by an empty
    line, and all their calls.
    """
    made = {**second, **first}
    for key in ("content", "reasoning", "reasoning_content", "thinking"):
        if key in made:
            made[key] = "\n\n".join(one[key] for one in (first, second) if one.get(key))
    if "tool_calls" in made:
        made["tool_calls"] = [*first.get("tool_calls", ()), *second.get("tool_calls", ())]
    return made
