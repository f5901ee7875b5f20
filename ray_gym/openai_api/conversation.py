"""Reads earlier conversations, from a task's row or from a request, as messages.

They may be chat messages (`{"role", "content", "tool_calls", ...}`) or items of OpenAI's Responses API (`message`,
`function_call`, `function_call_output`, `reasoning`). Both are read into one form, that of `EarlierMessage`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationInfo

from ray_gym.messages import Message, Role, ToolCall, is_blank
from ray_gym.models.thoughts import tell_apart
from ray_gym.openai_api.message_fields import require_call_read, require_read
from ray_gym.openai_api.parts import read_answer, reasoning_of, text_of
from ray_gym.openai_api.unnamed_calls import with_ids

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool"}

_Fields = Mapping[str, Any]
_LEGACY_ID = "call_of_"
_MARKS_BEGIN, _MARKS_END = frozenset("<[\u25c1"), frozenset(">]\u25b7")
"""Characters with which the marks of thoughts begin and end."""


class EarlierCall(BaseModel):
    """Holds a tool call of an earlier conversation; `arguments` is JSON text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    name: str
    arguments: str


class EarlierMessage(BaseModel):
    """Holds a message of an earlier conversation."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: Role
    content: str = ""
    reasoning: str | None = None
    tool_calls: tuple[EarlierCall, ...] = ()
    tool_call_id: str | None = None

    def as_message(self) -> Message:
        """Converts it to the `Message` of episodes."""
        calls = tuple(ToolCall(call.id, call.name, call.arguments) for call in self.tool_calls)
        return Message(self.role, self.content, self.reasoning, calls, self.tool_call_id)


def read_conversation(items: Any) -> Any:
    """Converts chat messages or Responses items to a list of dicts with the fields of `EarlierMessage`; a string
    becomes one user message. Thoughts in the assistant's texts become its reasoning; its messages with neither words nor
    calls are left out. Calls without ids that results follow get some (`with_ids`). Checks that a model can continue the
    conversation: system messages come first, and every call has a result.

    Errors: ValueError that names the item, or for a text that is a conversation's own JSON, as tables hold it.
    """
    if isinstance(items, str) and _is_json_of_messages(items):
        raise ValueError("messages is a text that is itself JSON; write the list")
    found = _read_items(with_ids(items) if isinstance(items, list | tuple) else items)
    for _, message in found:
        _tell_thoughts_apart(message)
    kept = [(number, message) for number, message in found if not _is_empty(message)]
    _require_order(kept)
    require_answers([message for _, message in kept], [f"messages[{number}]" for number, _ in kept])
    return [message for _, message in kept]


def _is_json_of_messages(text: str) -> bool:
    try:
        items = json.loads(text) if text.lstrip().startswith("[") else None
    except (ValueError, RecursionError):
        return False
    return isinstance(items, list) and any(isinstance(item, dict) and "role" in item for item in items)


def has_unsaid_answer(items: Sequence[Any]) -> bool:
    """Returns True if `read_conversation` leaves out a message of the assistant, which has neither words nor calls: it
    is blank, or only a thought between marks. False for items that can't be read.
    """
    if not any(map(_may_be_unsaid, items)):
        return False
    try:
        found = [message for _, message in _read_items(with_ids(items))]
    except ValueError:
        return False
    for message in found:
        _tell_thoughts_apart(message)
    return any(map(_is_empty, found))


def _may_be_unsaid(item: Any) -> bool:
    """Returns False for an item that is no answer, calls tools, or has a text with words: it need not be read."""
    if not isinstance(item, Mapping) or item.get("role") != "assistant" or item.get("tool_calls"):
        return False
    content = item.get("content")
    text = content.strip() if isinstance(content, str) else ""
    is_marked = is_blank(text) or text[0] in _MARKS_BEGIN or text[-1] in _MARKS_END
    return is_marked and is_blank(tell_apart(text)[1])


def read_request_messages(
    items: Any, is_whole: bool, param: str = "messages", names: Sequence[str] | None = None
) -> Any:
    """Converts the messages of an agent's request to a list of dicts with the fields of `EarlierMessage`, like
    `read_conversation`, but system messages may be anywhere, and texts and empty messages stay as they are.

    `is_whole`: True: checks that every call has a result; False: the messages continue earlier ones, so calls and
    results may be missing. `param`: field of the request. `names`: names of the items in it; None: by their indices.

    Errors: ValueError that names the item.
    """
    kept = _read_items(items, param, names)
    if is_whole:
        told = [names[number] if names is not None else f"{param}[{number}]" for number, _ in kept]
        require_answers([message for _, message in kept], told)
    return [message for _, message in kept]


def _read_items(
    items: Any, param: str = "messages", names: Sequence[str] | None = None
) -> list[tuple[int, dict[str, Any]]]:
    """Returns the messages, each after the number of the item that it began with. A string is one user message. `param`
    and `names`: as those of `read_request_messages`. Errors: ValueError that names the item.
    """
    if isinstance(items, str):
        return [(0, {"role": "user", "content": items})]
    if not isinstance(items, Sequence) or isinstance(items, bytes):
        raise ValueError(f"expected a list of messages, got {type(items).__name__}")
    found: list[dict[str, Any]] = []
    numbers: list[int] = []
    for number, item in enumerate(items):
        name = names[number] if names is not None else f"{param}[{number}]"
        try:
            _add(found, item)
        except KeyError as error:
            raise ValueError(f"{name}: {error.args[0]} is missing") from None
        except (ValueError, TypeError) as error:
            raise ValueError(f"{name}: {error}") from None
        numbers += [number] * (len(found) - len(numbers))
    return list(zip(numbers, found, strict=True))


WAS_READ = "conversations were read"
"""Context of a validation of what is valid already, which looks only at the types of other fields."""


def _read(items: Any, info: ValidationInfo) -> Any:
    return () if info.context == WAS_READ else tuple(map(_with_tuples, read_conversation(items)))


def _with_tuples(message: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields of a message of the types that `EarlierMessage` has, of which JSON has no tuples."""
    return {**message, "tool_calls": tuple(message["tool_calls"])} if "tool_calls" in message else message


Conversation = Annotated[tuple[EarlierMessage, ...], BeforeValidator(_read)]
"""Type of a pydantic field that takes chat messages or Responses items."""


def system_prompt(messages: Sequence[EarlierMessage]) -> str | None:
    """Returns the system messages, joined by empty lines; None if there are none."""
    prompts = [message.content for message in messages if message.role == "system"]
    return "\n\n".join(prompts) or None


def policy_view(messages: Sequence[EarlierMessage]) -> list[Message]:
    """Returns the messages as the policy sees them, in a new list without the system messages."""
    return [message.as_message() for message in messages if message.role != "system"]


def user_view(messages: Sequence[EarlierMessage]) -> list[Message]:
    """Returns the messages that a simulated user sees, with the roles user and assistant exchanged. Left out are system
    and tool messages, and those without words. The words of one turn, between which tools were called, are one message,
    a line each, as in an episode.
    """
    other: dict[Role, Role] = {"user": "assistant", "assistant": "user"}
    said: list[list[str]] = []
    heard: list[Role] = []
    for one in messages:
        if one.role not in other or is_blank(one.content):
            continue
        if heard and heard[-1] == other[one.role] == "user":
            said[-1].append(one.content)
        else:
            heard.append(other[one.role])
            said.append([one.content])
    return [Message(role, "\n".join(words)) for role, words in zip(heard, said, strict=True)]


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    """Holds a tool call of a conversation, and its answer. `number` is the index of the answer among the messages."""

    number: int
    call: EarlierCall
    answer: str


def answered_calls(messages: Sequence[EarlierMessage]) -> Iterator[AnsweredCall]:
    """Yields the tool calls that were carried out, in the order of their answers, for the `setup` of environments.

    Calls whose answer is a JSON object with an `error` are left out, since they changed nothing. An error that is null,
    false or empty is none.
    """
    calls: dict[str | None, EarlierCall] = {}
    for number, message in enumerate(messages):
        calls |= {call.id: call for call in message.tool_calls}
        call = calls.get(message.tool_call_id) if message.role == "tool" else None
        if call is not None and not json_object(message.content).get("error"):
            yield AnsweredCall(number, call, message.content)


def json_object(text: str) -> dict[str, Any]:
    """Decodes a JSON object. Returns {} for a text that is none."""
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _add(found: list[dict[str, Any]], item: Any) -> None:
    """Adds an item to the messages in `found`, or to the assistant's message at their end that it belongs to. Errors:
    KeyError for a field that is missing, ValueError or TypeError for an item that can't be read.
    """
    item = item.model_dump() if isinstance(item, EarlierMessage) else _fields(item, "a message")
    kind = item.get("type") or "message"
    if kind == "function_call":
        call = {"id": item["call_id"], "name": item["name"], "arguments": _arguments(item["arguments"])}
        _last_message(found)["tool_calls"].append(call)
    elif kind == "function_call_output":
        found.append({"role": "tool", "content": text_of(item["output"]), "tool_call_id": item["call_id"]})
    elif kind == "reasoning":
        told = (reasoning_of(item.get(name), "\n\n") for name in ("summary", "content"))
        if reasoning := "\n\n".join(filter(None, told)):
            _add_reasoning(_open_message(found), reasoning)
    elif kind == "message":
        _add_message(found, item)
    else:
        raise ValueError(f"items of type {kind!r} can't be read")
    require_read(item)


def _add_message(found: list[dict[str, Any]], item: _Fields) -> None:
    given = item["role"]
    if given == "function":
        found.append(_legacy_result(item))
        return
    role = _ROLES.get(given) if isinstance(given, str) else None
    if role is None:
        raise ValueError(f"role {given!r} is none of {', '.join(_ROLES)}")
    if role == "assistant":
        reasoning, words = read_answer(item)
        calls = [_call(call) for call in item.get("tool_calls") or ()]
        if not calls and item.get("function_call"):  # beside calls, it says one of them again
            calls = [_legacy_call(item["function_call"])]
        add_answer(found, reasoning, words, calls)
    else:
        message = {"role": role, "content": text_of(item["content"])}
        if role == "tool":
            message["tool_call_id"] = item["tool_call_id"]
        elif item.get("tool_calls"):
            raise ValueError(f"a {role} message calls no tools")
        found.append(message)


def add_answer(found: list[dict[str, Any]], reasoning: str, words: str, calls: Sequence[_Fields]) -> None:
    """Adds what the assistant said to the messages in `found`: to its message at their end if more may belong to that,
    else as a message of its own. `calls` have the fields of `EarlierCall`.
    """
    message = _open_message(found)
    message["content"] = "\n\n".join(filter(None, (message["content"], words)))
    _add_reasoning(message, reasoning)
    message["tool_calls"] += calls


def require_answers(messages: Sequence[_Fields | Message], names: Sequence[str] | None = None) -> None:
    """Checks that every tool call has a result before other messages follow, and every result has a call before it.

    `names`: names of the messages in errors; by default with their indices. Errors: ValueError that names the message,
    also for an id of a call that is not text, or that two open calls share.
    """
    open_calls: dict[Any, None] = {}
    for name, message in zip(
        names or [f"messages[{number}]" for number in range(len(messages))], messages, strict=True
    ):
        role, answered, made = _call_ids(message)
        if not all(isinstance(call_id, str) for call_id in (*made, *([answered] if role == "tool" else ()))):
            raise ValueError(f"{name}: the id of a call has to be text")
        if role == "tool":
            if answered not in open_calls:
                raise ValueError(f"{name}: it answers call {answered!r}, which is not open")
            del open_calls[answered]
        elif open_calls:
            raise ValueError(f"{name}: call {next(iter(open_calls))!r} before it has no result")
        for call_id in made:
            if call_id in open_calls:
                raise ValueError(f"{name}: two calls have the id {call_id!r}")
            open_calls[call_id] = None
    if open_calls:
        raise ValueError(f"{name}: the last call, {next(iter(open_calls))!r}, has no result")


def _call_ids(message: _Fields | Message) -> tuple[str, Any, list[Any]]:
    """Returns the role, the id of the call that a message answers, and the ids of the calls that it makes."""
    if isinstance(message, Message):
        return message.role, message.tool_call_id, [call.id for call in message.tool_calls]
    return message["role"], message.get("tool_call_id"), [call["id"] for call in message.get("tool_calls", ())]


def _require_order(messages: Sequence[tuple[int, _Fields]]) -> None:
    """Checks that system messages come before all others. Errors: ValueError that names the message."""
    has_begun = False
    for number, message in messages:
        if message["role"] == "system" and has_begun:
            raise ValueError(f"messages[{number}]: system messages come before all others")
        has_begun = message["role"] != "system"


def _start_message(found: list[dict[str, Any]]) -> dict[str, Any]:
    found.append({"role": "assistant", "content": "", "tool_calls": []})
    return found[-1]


def _last_message(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the assistant's message at the end of `found`; if there is none, adds one and returns it."""
    return found[-1] if found and found[-1]["role"] == "assistant" else _start_message(found)


def _open_message(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the assistant's message at the end of `found` if more may belong to it: its calls have no results yet, or
    it has only reasoning. Otherwise adds one and returns it.
    """
    last = found[-1] if found else {}
    is_open = last.get("role") == "assistant" and (
        last["tool_calls"] or (last.get("reasoning") and not last["content"])
    )
    return last if is_open else _start_message(found)


def _add_reasoning(message: dict[str, Any], reasoning: str) -> None:
    if reasoning:
        earlier = message.get("reasoning")
        message["reasoning"] = f"{earlier}\n\n{reasoning}" if earlier else reasoning


def _tell_thoughts_apart(message: dict[str, Any]) -> None:
    """Makes the thoughts in the text of an assistant's message its reasoning."""
    if message["role"] == "assistant":
        thoughts, message["content"] = tell_apart(message["content"])
        _add_reasoning(message, thoughts)


def _is_empty(message: _Fields) -> bool:
    return message["role"] == "assistant" and is_blank(message["content"]) and not message["tool_calls"]


def _fields(given: Any, what: str) -> _Fields:
    """Returns `given` itself, which has to be a mapping. Errors: ValueError for anything else: the message says that
    `what` was expected.
    """
    if not isinstance(given, Mapping):
        raise ValueError(f"expected {what}, got {type(given).__name__}")
    return given


def _call(given: Any) -> dict[str, str]:
    call = _fields(given, "a tool call")
    require_call_read(call)
    function = _fields(call.get("function") or call, "the function of a tool call")
    return {"id": call["id"], "name": function["name"], "arguments": _arguments(function["arguments"])}


def _legacy_call(given: Any) -> dict[str, str]:
    """Returns a call of the API's earlier form (`function_call`) as a tool call. It has no id there, so its id is made
    from the function's name, by which its result (`_legacy_result`) finds it.

    Errors: ValueError if it is no mapping; KeyError if it has no name.
    """
    call = _fields(given, "a function call")
    require_call_read(call)
    return {"id": f"{_LEGACY_ID}{call['name']}", "name": call["name"], "arguments": _arguments(call.get("arguments"))}


def _legacy_result(item: _Fields) -> dict[str, Any]:
    return {"role": "tool", "content": text_of(item["content"]), "tool_call_id": f"{_LEGACY_ID}{item['name']}"}


def _arguments(given: Any) -> str:
    if given is None:
        return "{}"
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
