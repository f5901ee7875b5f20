"""Keeps calls as the model wrote them, where a parser has decoded and encoded them anew or can't read them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from typing import Any

MOST_OBJECTS = 100
"""Objects of JSON in an answer among which the arguments of a call are looked for."""

_BESIDE = ("id", "type", "index")
"""Keys of a call that hold neither its name nor its arguments."""

Call = tuple[str, str, str]
"""Call as (id that the parser gave it or "", name, arguments as the model wrote them)."""


def is_name(text: str, names: Collection[str]) -> bool:
    """Returns True if a text is one of the tools' `names`, or could be the name of a tool. Parsers take other parts of a
    malformed call for its name.
    """
    return text in names or re.fullmatch(r"\w[\w./:-]*", text) is not None


def are_named(calls: Sequence[Call], names: Collection[str]) -> bool:
    """Returns True if each call has a name (see `is_name`) with which no sentence ends: else a mention was read as a call."""
    return all(name in names or (is_name(name, names) and not name.endswith((".", ":"))) for _, name, _ in calls)


def spell_as_written(calls: Sequence[Call], text: str, start: int = 0) -> list[Call]:
    """Returns calls with their arguments as they stand in the model's text, where a parser has decoded and encoded them
    anew. Arguments that are not found there stay as they are. `start`: index in the text where the calls begin; each is
    looked for after the one before it.
    """
    made: list[Call] = []
    for id, name, arguments in calls:
        if (place := _find_json(arguments, text, start)) is not None:
            arguments, start = text[place], place.stop
        made.append((id, name, arguments))
    return made


def with_own_ids(calls: list[Call], ids: Sequence[str]) -> list[Call]:
    """Returns calls with the ids that the model wrote for them, which the parser did not read. Of calls with the same id,
    the first has it. `ids`: "" where there is none.
    """
    if len(calls) != len(ids):
        return calls
    firsts = [id if id not in ids[:index] else "" for index, id in enumerate(ids)]
    return [(id or read, name, arguments) for id, (read, name, arguments) in zip(firsts, calls, strict=True)]


def _find_json(wanted: str, text: str, start: int) -> slice | None:
    """Returns the place of the first object of JSON in `text`, from the index `start`, that decodes to the same as
    `wanted`, with values of the same types (1, 1.0 and true differ); None if there is none among `MOST_OBJECTS`.
    """
    try:
        value = json.dumps(json.loads(wanted))
    except (ValueError, RecursionError):
        return None
    decoder = json.JSONDecoder()
    for _ in range(MOST_OBJECTS):
        if (start := text.find("{", start)) < 0:
            break
        try:
            found, end = decoder.raw_decode(text, start)
            if json.dumps(found) == value:
                return slice(start, end)
        except (ValueError, RecursionError):
            pass
        start += 1
    return None


def end_of_parts(text: str, *parts: str | None) -> int:
    """Returns the index in `text` after those of the parts, in order, that stand in it: 0 if none does."""
    end = 0
    for part in parts:
        if part and (found := text.find(part, end)) >= 0:
            end = found + len(part)
    return end


def unwrap_function(call: str) -> str | None:
    """Returns the function of a call {"type": "function", "function": {"name": NAME, "arguments": {...}}}, and any other
    call as it stands. Returns None if the function is no call, such as a definition.
    """
    try:
        given = json.loads(call)
    except (ValueError, RecursionError):
        return call
    function = given.get("function") if isinstance(given, dict) else None
    if not isinstance(function, dict):
        return call
    if not function.keys() <= {"name", "arguments", "parameters"}:
        return None
    return json.dumps(function, ensure_ascii=False)


def unquote_arguments(arguments: str) -> str:
    """Returns arguments that are a text of JSON without the quotes around it, if an object is in it, as endpoints have
    arguments; any other as they are.
    """
    try:
        text = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return text if isinstance(text, str) and isinstance(_as_object(text), dict) else arguments


def _as_object(value: Any) -> Any:
    """Returns the object that a text is the JSON of; any other value as it is."""
    try:
        decoded = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        return value
    return decoded if isinstance(decoded, dict) else value


def read_json_call(attempt: str) -> Call | None:
    """Returns the call of an attempt {"name": NAME, "arguments": {...}}, or in OpenAI's form, where this is the `function`
    of a call; None for any other. vLLM's parsers look for marks in the strings of the arguments, too, and then can't read
    it; most do not know OpenAI's form.
    """
    try:
        given = json.loads(attempt)
    except (ValueError, RecursionError):
        return None
    fields = {key: given[key] for key in given if key not in _BESIDE} if isinstance(given, dict) else {}
    call = fields["function"] if list(fields) == ["function"] and isinstance(fields["function"], dict) else fields
    if call.keys() != {"name", "arguments"} or not isinstance(call["name"], str):
        return None
    if not isinstance(_as_object(call["arguments"]), dict):
        return None
    own_id = given["id"] if isinstance(given.get("id"), str) else ""
    read = (own_id, call["name"], json.dumps(call["arguments"], ensure_ascii=False))
    return spell_as_written([read], attempt)[0]


def read_bare_name(attempt: str) -> tuple[str, str]:
    """Returns (name, "") for an attempt at a call that is JSON with a name and nothing else, and ("", the attempt) for
    any other.
    """
    try:
        given, end = json.JSONDecoder().raw_decode(attempt.lstrip())
    except (ValueError, RecursionError):
        return "", attempt
    has_more = "{" in attempt.lstrip()[end:]
    is_bare = isinstance(given, dict) and list(given) == ["name"] and isinstance(given["name"], str) and not has_more
    return (given["name"], "") if is_bare else ("", attempt)
