"""Which thread a call of a black-box agent goes on with.

An agent sends its whole conversation with every call, as it remembers it: without the reasoning, with arguments that were parsed and
written again, with other ids. So messages are compared in a canonical form, and a call goes on with the thread of which all messages are
the beginning of its own, the longest one if there are several. What fits none opens a thread: another conversation, an edited history, or
a call beside one that is still waiting for its answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ray_gym.messages import Message, ToolSchema
from ray_gym.thread import Thread

EDITED_HISTORY = "edited_history"
BRANCHED = "branched"
"""A second answer to what was answered, or is just being answered."""
TOOLS_CHANGED = "tools_changed"

_THOUGHT = re.compile(r"<think>.*?</think>|^.*?</think>", re.DOTALL)

Canonical = tuple[str, str, tuple[tuple[str, str], ...]]
"""Role, text, and calls as (name, arguments)."""
Tools = tuple[str, ...]


def canonical(message: Message) -> Canonical:
    text = message.content.strip()
    if message.role == "assistant":
        text = _THOUGHT.sub("", text).strip()
    return message.role, text, tuple((call.name, _same_arguments(call.arguments)) for call in message.tool_calls)


def canonical_tools(tools: Iterable[ToolSchema]) -> Tools:
    return tuple(json.dumps(tool.as_openai(), sort_keys=True) for tool in tools)


def _same_arguments(text: str) -> str:
    """The same for JSON that says the same."""
    try:
        return json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        return text.strip()


@dataclass(frozen=True, slots=True)
class Match:
    """`thread`: the one to go on with, which has the call's first `known` messages; or None for a new one, and what it was forked for."""

    thread: str | None
    known: int = 0
    forked_for: str | None = None


@dataclass(slots=True)
class _Captured:
    messages: list[Canonical] = field(default_factory=list)
    tools: Tools | None = None
    """None: nothing was asked on it yet."""


@dataclass(slots=True)
class Capture:
    """A participant's threads, as calls from outside have used them."""

    participant: str
    _threads: dict[str, _Captured] = field(default_factory=dict)

    def match(self, messages: Sequence[Message], tools: Iterable[ToolSchema], threads: Iterable[Thread]) -> Match:
        asked, shown = [canonical(message) for message in messages], canonical_tools(tools)
        best: Match | None = None
        forked_for = None
        for thread in threads:
            if thread.participant.name != self.participant:
                continue
            captured = self._look(thread)
            shared = _shared(captured.messages, asked)
            goes_on = shared == len(captured.messages) and captured.tools in (None, shown) and not thread.busy
            if goes_on and (best is None or shared > best.known):
                best = Match(thread.name, shared)
            elif not goes_on and any(role == "assistant" for role, *_ in asked[:shared]):
                forked_for = forked_for or _reason(shared, captured, asked, shown)
        return best or Match(None, 0, forked_for)

    def uses(self, thread: str, tools: Iterable[ToolSchema]) -> None:
        """From now on the thread shows these tools."""
        self._threads.setdefault(thread, _Captured()).tools = canonical_tools(tools)

    @property
    def on_main(self) -> bool:
        """Whether calls have gone on with the participant's own thread, in which its words are already."""
        captured = self._threads.get(self.participant)
        return captured is not None and captured.tools is not None

    def _look(self, thread: Thread) -> _Captured:
        captured = self._threads.setdefault(thread.name, _Captured())
        captured.messages += [canonical(message) for message in thread.messages[len(captured.messages) :]]
        return captured


def _shared(kept: Sequence[Canonical], asked: Sequence[Canonical]) -> int:
    """How many messages both begin with."""
    pairs = zip(kept, asked, strict=False)
    return next((number for number, (one, other) in enumerate(pairs) if one != other), min(len(kept), len(asked)))


def _reason(shared: int, captured: _Captured, asked: Sequence[Canonical], shown: Tools) -> str:
    if captured.tools not in (None, shown):
        return TOOLS_CHANGED
    return BRANCHED if shared in (len(asked), len(captured.messages)) else EDITED_HISTORY
