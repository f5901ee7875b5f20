"""Finds the thread that a call of a black-box agent continues.

An agent sends its whole conversation with every call, as it remembers it: without the reasoning, with arguments that
were parsed and written again, with other ids, without answers that say nothing. So messages are compared in a canonical
form, and a call continues the thread of which all messages are the beginning of its own, the longest one if there are
several. A call that fits none opens a thread: another conversation, an edited history, or a call beside one that is
still waiting for its answer.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from ray_gym.episode.thread import Thread
from ray_gym.messages import Message, ToolSchema

EDITED_HISTORY = "edited_history"
BRANCHED = "branched"
"""Reason of a fork: a second answer to a message that was answered, or is just being answered."""
TOOLS_CHANGED = "tools_changed"

Canonical = tuple[str, str, tuple[tuple[str, str], ...]]
"""A message in canonical form: role, text, and calls as (name, arguments)."""
Tools = tuple[str, ...]


def canonical(message: Message) -> Canonical:
    text = without_thought(message.content) if message.role == "assistant" else message.content.strip()
    return message.role, text, tuple((call.name, _same_arguments(call.arguments)) for call in message.tool_calls)


def without_thought(text: str) -> str:
    """Returns what is left of an assistant's words when an agent has taken out what was thought aloud. Linear in the
    text.
    """
    *thoughts, said = text.split("</think>")  # the prompt may have opened the first
    kept = [before for before, mark, _ in (thought.partition("<think>") for thought in thoughts) if mark]
    return "".join([*kept, said]).strip()


def canonical_tools(tools: Iterable[ToolSchema]) -> Tools:
    return tuple(json.dumps(tool.as_openai(), sort_keys=True) for tool in tools)


def _same_arguments(text: str) -> str:
    """Returns JSON in one form, so that texts that mean the same become the same; other text as it is, stripped."""
    try:
        return json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        return text.strip()


@dataclass(frozen=True, slots=True)
class Match:
    """Says where a call goes: to the `thread` that it continues, with the messages that are `new` there; or to a new
    thread (None), which it was `forked_for`.
    """

    thread: str | None
    new: tuple[Message, ...] = ()
    forked_for: str | None = None


@dataclass(slots=True)
class _Captured:
    messages: list[Canonical] = field(default_factory=list)
    tools: Tools | None = None
    """Tools that the thread shows; None means that nothing was asked on it yet."""


@dataclass(slots=True)
class Capture:
    """Remembers a participant's threads, as calls from outside have used them."""

    participant: str
    _threads: dict[str, _Captured] = field(default_factory=dict)

    def match(
        self,
        messages: Sequence[Message],
        tools: Iterable[ToolSchema],
        threads: Iterable[Thread],
        asked_already: Collection[str] = (),
    ) -> Match:
        """Finds the thread that a call continues. `asked_already` names threads of which calls are under way, though
        they may not have begun.
        """
        asked, shown = [_Said(canonical(message), message) for message in messages], canonical_tools(tools)
        best: Match | None = None
        longest = -1
        forked_for = None
        for thread in threads:
            if thread.participant.name != self.participant:
                continue
            captured = self._look(thread)
            is_busy = thread.busy or thread.name in asked_already
            known, shared, aligned = _match_beginning(captured.messages, asked)
            goes_on = known == len(captured.messages) and captured.tools in (None, shown) and not is_busy
            if goes_on and known > longest:
                best, longest = Match(thread.name, tuple(said.message for said in aligned[shared:])), known
            elif not goes_on and any(said.form[0] == "assistant" for said in aligned[:shared]):
                forked_for = forked_for or _reason(known, shared, captured, aligned, shown)
        return best or Match(None, tuple(messages), forked_for)

    def uses(self, thread: str, tools: Iterable[ToolSchema]) -> None:
        """Records that the thread shows these tools from now on."""
        self._threads.setdefault(thread, _Captured()).tools = canonical_tools(tools)

    def forget(self, thread: str, kept: int) -> None:
        """Forgets all but the thread's first `kept` messages, because the others are not in it any more."""
        if thread in self._threads:
            del self._threads[thread].messages[kept:]

    @property
    def has_main_thread(self) -> bool:
        """Says whether calls have continued the participant's own thread, in which its words are already."""
        captured = self._threads.get(self.participant)
        return captured is not None and captured.tools is not None

    def _look(self, thread: Thread) -> _Captured:
        captured = self._threads.setdefault(thread.name, _Captured())
        captured.messages += [canonical(message) for message in thread.messages[len(captured.messages) :]]
        return captured


@dataclass(frozen=True, slots=True)
class _Said:
    form: Canonical
    message: Message


def _match_beginning(kept: Sequence[Canonical], asked: Sequence[_Said]) -> tuple[int, int, Sequence[_Said]]:
    """Returns how many messages of each are the beginning of both, and the second as the first has put it.

    An answer that says nothing may be in one and not in the other.
    """
    known = shared = 0
    while known < len(kept) and shared < len(asked):
        if kept[known] == asked[shared].form:
            known, shared = known + 1, shared + 1
        elif _says_nothing(kept[known]):
            known += 1
        elif _says_nothing(asked[shared].form):
            shared += 1
        elif (joined := _join_calls(kept[known], asked, shared)) is not None:
            asked = joined
        else:
            break
    return known, shared, asked


def _join_calls(kept: Canonical, asked: Sequence[_Said], start: int) -> Sequence[_Said] | None:
    """Joins calls that were one answer, where an agent tells each with its result, into that answer again; returns None
    if they aren't that one.
    """
    _, text, calls = kept
    parts: list[_Said] = []
    results: list[_Said] = []
    found: tuple[tuple[str, str], ...] = ()
    for said in asked[start:]:
        role, words, made = said.form
        if role == "tool" and parts:
            results.append(said)
        elif (
            role == "assistant"
            and made
            and words == ("" if parts else text)
            and found + made == calls[: len(found + made)]
        ):
            parts.append(said)
            found += made
        else:
            return None
        if found == calls:
            break
    if found != calls:
        return None
    whole = tuple(call for part in parts for call in part.message.tool_calls)
    answer = _Said(kept, replace(parts[0].message, tool_calls=whole))
    return [*asked[:start], answer, *results, *asked[start + len(parts) + len(results) :]]


def _says_nothing(message: Canonical) -> bool:
    return message == ("assistant", "", ())


def _reason(known: int, shared: int, captured: _Captured, asked: Sequence[_Said], shown: Tools) -> str:
    if captured.tools not in (None, shown):
        return TOOLS_CHANGED
    return BRANCHED if shared == len(asked) or known == len(captured.messages) else EDITED_HISTORY
