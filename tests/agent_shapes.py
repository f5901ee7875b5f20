"""Reads the shapes of agents' traffic, as `agents/shaping.py` writes them, with generated texts in place of the program's."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ray_gym.messages import Message, ToolCall
from ray_gym.play.dialects import CHAT, MESSAGES, RESPONSES, Dialect

FOLDER = Path(__file__).parent / "agents" / "shapes"
PROGRAMS = (
    "anthropic",
    "claude-code",
    "codex",
    "langgraph",
    "mini-swe-agent",
    "openai-agents",
    "openai-chat",
    "openai-responses",
    "pi",
    "pydantic-ai",
    "smolagents",
)
OF_MCP = ("claude-code", "codex", "openai-agents")
"""Programs that call tools by MCP."""
DIALECTS = {"completions": CHAT, "responses": RESPONSES, "messages": MESSAGES}
"""Dialects by the last part of the path."""
SYLLABLES = [f"{consonant}{vowel}" for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]


@dataclass(frozen=True, slots=True)
class Call:
    """Holds one request of a program, and what it was answered."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any] | None
    status: int
    events: list[str]
    """Events of a streamed answer (`events_of`); what an answer of MCP holds (`told_by`)."""
    said: Message | None
    """Answer of the model; None if it was not asked."""

    @property
    def dialect(self) -> Dialect:
        """Returns the dialect of a request that a model answers."""
        return DIALECTS[self.path.partition("?")[0].rpartition("/")[2]]


def file_of(program: str) -> Path:
    """Returns the file with the shape of a program's traffic."""
    return FOLDER / f"{program}.json"


def messages_of(program: str) -> Iterator[Call]:
    """Yields the requests of a program to an MCP server, in order."""
    return whole(json.loads(file_of(f"{program}_mcp").read_text())["calls"])


def whole(shapes: list[dict[str, Any]]) -> Iterator[Call]:
    """Yields the requests of shapes that are no changes of the ones before, in order."""
    for shape in shapes:
        place, body = (shape["method"], shape["path"]), filled(shape["body"])
        yield Call(*place, filled(shape["headers"]), body, shape["status"], shape["events"], None)


def calls_of(program: str) -> Iterator[Call]:
    """Yields the requests of a program, in order."""
    return unfold(json.loads(file_of(program).read_text())["calls"])


def unfold(shapes: list[dict[str, Any]]) -> Iterator[Call]:
    """Yields the requests of whole shapes, in order."""
    body: dict[str, Any] = {}
    headers: dict[str, Any] = {}
    for shape in shapes:
        place = (shape["method"], shape["path"])
        if shape["body"] is None:
            yield Call(*place, filled(shape["headers"]), None, shape["status"], shape["events"], None)
            continue
        body, headers = _apply(body, shape["body"]), _apply(headers, shape["headers"])
        said = shape["said"]
        calls = tuple(ToolCall(*call) for call in said["tool_calls"])
        answer = Message("assistant", said["content"], said["reasoning"], calls)
        yield Call(*place, filled(headers), filled(body), shape["status"], shape["events"], answer)


def _apply(earlier: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    later = {name: value for name, value in earlier.items() if name not in changes.get("$gone", ())}
    for name, value in changes.items():
        if isinstance(value, dict) and "$kept" in value:
            later[name] = [*earlier[name][: value["$kept"]], *value["$more"]]
        elif name != "$gone":
            later[name] = value
    return later


def filled(value: Any) -> Any:
    """Returns a value with generated texts."""
    if isinstance(value, list):
        return [filled(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "$text" in value:
        number, length = value["$text"]
        return (value.get("$begins", "") + text(number, length))[:length]
    return {name: filled(one) for name, one in value.items()}


@cache
def text(number: int, length: int) -> str:
    """Returns a text of so many characters, which is another one for each number."""
    drawn = random.Random(number)
    words = ("".join(drawn.choices(SYLLABLES, k=drawn.randint(1, 4))) for _ in range(length // 3 + 1))
    return " ".join(words)[:length].rstrip().ljust(length, "x")


def events_of(answer: str) -> list[str]:
    """Returns the events of a streamed answer: their names, or for those without, what they hold. [] for no stream."""
    found = []
    for block in answer.split("\n\n"):
        name, _, data = block.rpartition("data: ")
        if name.startswith("event: "):
            found.append(name.splitlines()[0].removeprefix("event: "))
        elif data == "[DONE]":
            found.append(data)
        elif block.startswith("data: "):
            chunk = json.loads(data)
            held = [f"{', '.join(one['delta'])} {one['finish_reason'] or ''}".strip() for one in chunk["choices"]]
            found.append(held[0] if held else "usage")
    return found


def told_by(answer: str) -> list[str]:
    """Returns what the answer of an MCP server holds: the fields of its result, or `error` with the code; [] for none."""
    told = json.loads(answer or "{}")
    if "jsonrpc" not in told:
        return []
    return sorted(told["result"]) if "result" in told else ["error", str(told["error"]["code"])]
