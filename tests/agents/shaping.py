"""Makes the shape of a program's traffic: all that is of the protocol, and none of the program's own words.

Kept are paths, names of headers and fields, types, nesting, numbers, the protocol's own values, the order of events, and
the words that the test itself has said. A text of the program becomes its number and its length, `{"$text": [3, 120]}`:
equal texts have one number. Names of its tools and of their arguments are replaced. A request says only in what it
differs from the one before it. `agent_shapes` reads what is written here.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_shapes import events_of, told_by
from recording import Exchange

from ray_gym.anthropic_api.conversation import BILLING
from ray_gym.messages import Message
from ray_gym.openai_api.free_form import INPUT

WIDEST = 118
OF_MCP = frozenset({"jsonrpc", "method", "protocolVersion"})
PROTOCOL = frozenset({"effort", "include", "keep", "role", "status", "summary", "tool_choice", "type"}) | OF_MCP
"""Fields of a body whose texts are the protocol's own."""
OF_A_SCHEMA = frozenset({"$schema", "format", "type"})
"""Fields of a JSON schema whose texts are JSON Schema's own."""
OF_HTTP = frozenset({"accept", "content-type", "mcp-protocol-version"})
KEYS = frozenset({"authorization", "x-api-key"})
SCHEMAS = frozenset({"parameters", "input_schema"})
CONVERSATIONS = ("input", "messages")
"""Fields with the conversation, which grows from call to call."""


@dataclass(slots=True)
class Shaper:
    """Replaces a program's words, the same ones alike."""

    ours: Collection[str]
    """Texts that are not the program's."""
    _texts: dict[str, int] = field(default_factory=dict)
    _names: dict[str, str] = field(default_factory=dict)

    def exchange(self, one: Exchange) -> dict[str, Any]:
        """Returns the shape of one exchange, without what was said."""
        headers = {name: self._header(name, value) for name, value in one.headers.items()}
        asked = {"method": one.method, "path": one.path, "headers": headers, "body": self.value("", one.body)}
        return {**asked, "status": one.status, "events": events_of(one.answer)}

    def said(self, message: Message) -> dict[str, Any]:
        """Returns what the model said, with the names of the tools as the program's requests have them."""
        calls = [
            [call.id, self.name("tool", call.name), self._arguments(call.arguments)] for call in message.tool_calls
        ]
        return {"content": message.content, "reasoning": message.reasoning, "tool_calls": calls}

    def value(self, key: str, value: Any) -> Any:
        """Returns the shape of a value. `key`: name of the field that has it."""
        if isinstance(value, list):
            return [self.value(key, one) for one in value]
        if isinstance(value, dict):
            return {name: self._field(value, name, one) for name, one in value.items()}
        return self._text(value) if isinstance(value, str) and key not in PROTOCOL else value

    def name(self, kind: str, name: str) -> str:
        """Returns the name in place of a tool's or an argument's. That of a free-form tool's argument is ours."""
        if name == INPUT:
            return name
        return self._names.setdefault(
            f"{kind} {name}", f"{kind}_{1 + sum(one.startswith(kind) for one in self._names)}"
        )

    def _field(self, holder: Mapping[str, Any], name: str, value: Any) -> Any:
        if name in SCHEMAS:
            return self._schema(value)
        if name == "name":
            return value if value in self.ours else self.name("tool", value)
        if name.rpartition("/")[2] == "clientInfo":
            return {key: self._text(one) for key, one in value.items()}
        if name == "arguments" and isinstance(value, str):
            return self._arguments(value)
        if name == "input" and isinstance(value, dict):  # arguments, too
            return {self.name("field", key): one for key, one in value.items()}
        return self.value(name, value)

    def _schema(self, schema: Any) -> Any:
        if isinstance(schema, list):
            return [self._schema(one) for one in schema]
        if not isinstance(schema, dict):
            return self._text(schema) if isinstance(schema, str) else schema
        read: dict[str, Any] = {}
        for name, value in schema.items():
            if name == "properties":
                read[name] = {self.name("field", key): self._schema(one) for key, one in value.items()}
            elif name == "required":
                read[name] = [self.name("field", key) for key in value]
            else:
                read[name] = value if name in OF_A_SCHEMA else self._schema(value)
        return read

    def _arguments(self, text: str) -> str:
        """Returns the JSON text of a call's arguments with other names, and written as it was."""
        for name in json.loads(text):
            text = text.replace(json.dumps(name), json.dumps(self.name("field", name)), 1)
        return text

    def _header(self, name: str, value: str) -> Any:
        if name.lower() in KEYS:
            return "Bearer KEY" if value.startswith("Bearer ") else "KEY"
        return value if name.lower() in OF_HTTP or value.isdecimal() else self._text(value)

    def _text(self, text: str) -> Any:
        if text in self.ours or not text:
            return text
        shape = {"$text": [self._texts.setdefault(text, len(self._texts) + 1), len(text)]}
        return {**shape, "$begins": BILLING} if text.startswith(BILLING) else shape


def shape_of(exchanges: Iterable[Exchange], said: Sequence[Message], ours: Collection[str]) -> list[dict[str, Any]]:
    """Returns the shapes of exchanges. `said`: answers of the model, in order. `ours`: texts that are not the program's."""
    shaper, answers = Shaper(ours), iter(said)
    found: list[dict[str, Any]] = []
    bodies: dict[str, Any] = {}
    headers: dict[str, Any] = {}
    for one in exchanges:
        shape = shaper.exchange(one)
        if isinstance(body := shape["body"], dict):
            shape["said"] = shaper.said(next(answers))
            found.append({**shape, "headers": _changes(headers, shape["headers"]), "body": _changes(bodies, body)})
            bodies, headers = body, shape["headers"]
        else:
            found.append(shape)
    return found


def shape_of_messages(exchanges: Iterable[Exchange], ours: Collection[str]) -> list[dict[str, Any]]:
    """Returns the shapes of exchanges with an MCP server, each of which is whole. `ours`: texts that are not the program's."""
    shaper = Shaper(ours)
    return [{**shaper.exchange(one), "events": told_by(one.answer)} for one in exchanges]


def _changes(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields that the one before has not, or has otherwise. Of a conversation, the messages after those that
    are the same.
    """
    changed: dict[str, Any] = {}
    for name, value in later.items():
        if name in CONVERSATIONS and name in earlier:
            kept = next((n for n, (old, new) in enumerate(zip(earlier[name], value, strict=False)) if old != new), None)
            kept = min(len(earlier[name]), len(value)) if kept is None else kept
            changed[name] = {"$kept": kept, "$more": value[kept:]}
        elif name not in earlier or earlier[name] != value:
            changed[name] = value
    gone = sorted(earlier.keys() - later.keys())
    return {**changed, "$gone": gone} if gone else changed


def written(value: Any, indent: str = "") -> str:
    """Returns JSON in which what fits on a line is on one."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(line) <= WIDEST or not isinstance(value, dict | list) or not value:
        return line
    inner = indent + " "
    if isinstance(value, list):
        return "[\n" + ",\n".join(inner + written(one, inner) for one in value) + f"\n{indent}]"
    fields = (f"{inner}{json.dumps(name)}: {written(one, inner)}" for name, one in value.items())
    return "{\n" + ",\n".join(fields) + f"\n{indent}}}"
