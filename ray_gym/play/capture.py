"""Finds the thread that a model call of a black-box agent continues.

An agent sends its whole conversation with every call, as it remembers it: without the reasoning, with arguments that
were parsed and written again, with other ids, without answers that say nothing. So messages are compared in a canonical
form. A call continues a thread if all the thread's messages are the beginning of the call's; among several such
threads, it continues the longest. A call that fits none opens a thread: it begins another conversation, has an edited
history, or is made while the thread waits for an answer.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import msgspec
from msgspec.structs import replace

from ray_gym.episode.thread import Thread
from ray_gym.messages import Message, ToolSchema, encodable, is_blank, parse_json, utf8
from ray_gym.models.thoughts import tell_apart
from ray_gym.openai_api.free_form import INPUT
from ray_gym.openai_api.json_body import can_be_sent_back

EDITED_HISTORY = "edited_history"
"""Reason of a fork: the call's earlier messages differ from those of the thread."""
BRANCHED = "branched"
"""Reason of a fork: the call asks for a second answer to a message that was answered, or is just being answered."""
TOOLS_CHANGED = "tools_changed"
"""Reason of a fork: the call shows other tools than the thread does."""

Canonical = tuple[str, str, tuple[tuple[str, str], ...]]
"""Canonical form of a message: role, text, and tool calls as (name, arguments)."""
Beginning = tuple[str, str]
"""Role and canonical text of a conversation's first message that says something."""
Tools = tuple[str, ...]
"""Canonical form of a call's tools: the JSON text of each."""


def canonical_form(message: Message) -> Canonical:
    """Returns a message in canonical form: without its reasoning and its ids, and with the arguments of calls as sorted
    JSON.
    """
    text = tell_apart(message.content)[1] if message.role == "assistant" else message.content
    return (
        message.role,
        canonical_text(text),
        tuple((call.name, canonical_arguments(call.arguments)) for call in message.tool_calls),
    )


def canonical_text(text: str) -> str:
    """Returns a text without whitespace around it; "" for a blank one."""
    return "" if is_blank(text) else text.strip()


def canonical_tools(tools: Iterable[ToolSchema]) -> Tools:
    """Returns the JSON text of each tool, with sorted keys."""
    return tuple(json.dumps(tool.as_openai(), sort_keys=True) for tool in tools)


def canonical_arguments(text: str) -> str:
    """Returns arguments in one form, so that equal ones give equal texts, however their JSON is written: also by
    JavaScript, which has one kind of numbers, and with "?" for lone surrogates. null is no arguments. Those that are no
    object, or one that no body may have, are equal to the object that holds them: the Messages API has no others. Those
    of a free-form tool that are not as asked are equal to the object that holds them as its text.
    """
    value = _decode(text)
    if isinstance(value, dict) and value.keys() == {INPUT} and isinstance(value[INPUT], str):
        value = _decode(value[INPUT])
    if isinstance(value, dict) and value.keys() == {"arguments"} and isinstance(value["arguments"], str):
        value = value if _is_sent_as_object(value["arguments"]) else _decode(value["arguments"])
    if value is None or value == "":
        return "{}"
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _decode(text: str) -> Any:
    """Returns the value of a JSON text, with floats as its numbers. Other text is returned stripped."""
    try:
        return encodable(parse_json(text, read_whole=float))
    except (ValueError, RecursionError):
        return utf8(text.strip())


def _is_sent_as_object(text: str) -> bool:
    """Returns True for arguments that the Messages API has as the object which they are."""
    try:
        value = parse_json(text)
    except ValueError:
        return False
    return isinstance(value, dict) and can_be_sent_back(value)


@dataclass(frozen=True, slots=True)
class Match:
    """Says which thread a call continues, and which of its messages are new there."""

    thread: str | None
    """Name of the thread; None if the call opens a new one."""
    new: tuple[Message, ...] = ()
    """Messages of the call that the thread does not have yet."""
    forked_for: str | None = None
    """Reason why a call that opens a thread does not continue a similar one; None if there is no similar one."""


@dataclass(slots=True)
class _Captured:
    messages: list[Canonical] = field(default_factory=list)
    tools: Tools | None = None
    """Tools that the thread shows; None before its first call."""


@dataclass(slots=True)
class Capture:
    """Remembers the threads of one participant, as calls of an agent have used them."""

    participant: str
    _threads: dict[str, _Captured] = field(default_factory=dict)
    _sorted: int = 0
    """Number of the episode's threads, the first ones, that are sorted by their beginning."""
    _blank: list[Thread] = field(default_factory=list)
    """Threads that say nothing yet, so that any call can continue them."""
    _by_beginning: dict[Beginning, list[Thread]] = field(default_factory=dict)
    """All other threads: an agent can have a thousand, and few of them begin as a call does."""
    _shown: tuple[bytes, Tools] = (b"[]", ())
    """Tools of the last call as JSON, which the next one mostly has, too, and their canonical form."""
    _left_out: set[str] = field(default_factory=set)
    """Fields and tools of calls that ask for what isn't here, as far as the record says so."""

    def match(
        self,
        messages: Sequence[Message],
        forms: Sequence[Canonical],
        tools: Iterable[ToolSchema],
        threads: Mapping[str, Thread],
        asked_already: Collection[str] = (),
    ) -> Match:
        """Finds the thread that a call continues. If there is none, the match has no thread, and all messages are new.

        `forms`: the messages' canonical forms. `threads`: all of the episode, by name, in the order in which they were
        opened. `asked_already`: names of threads that wait for the answer to an accepted call, which may not have begun.
        """
        asked, shown = [*map(_Said, forms, messages)], self._canonical(tools)
        best: Match | None = None
        longest = -1
        forked_for = None
        for thread in self._candidates(_beginning(said.form for said in asked), threads):
            captured = self._look(thread)
            is_busy = thread.busy or thread.name in asked_already
            known, shared, aligned = _match_beginning(captured.messages, asked)
            goes_on = known == len(captured.messages) and captured.tools in (None, shown) and not is_busy
            if goes_on and known > longest:
                ids = _ids_of_calls(thread.messages, [said.message for said in aligned[:shared]])
                best, longest = Match(thread.name, tuple(_answering(ids, aligned[shared:]))), known
            elif not goes_on and any(said.form[0] == "assistant" for said in aligned[:shared]):
                forked_for = forked_for or _reason(known, shared, captured, aligned, shown)
        return best or Match(None, tuple(messages), forked_for)

    def uses(self, thread: str, tools: Iterable[ToolSchema]) -> None:
        """Records that the thread shows these tools from now on."""
        self._threads.setdefault(thread, _Captured()).tools = self._canonical(tools)

    def is_news(self, left_out: Collection[str]) -> bool:
        """Returns True if the record doesn't say yet that one of these fields and tools is left out; from then on it
        does.
        """
        unsaid = not self._left_out.issuperset(left_out)
        self._left_out.update(left_out)
        return unsaid

    def forget(self, thread: str, kept: int) -> None:
        """Discards all but the first `kept` messages of a thread, because the thread has discarded the others."""
        if thread in self._threads:
            del self._threads[thread].messages[kept:]
            self._sorted = 0

    @property
    def has_main_thread(self) -> bool:
        """Says whether an agent's call has continued the participant's own thread. Then that thread already holds the
        participant's words.
        """
        captured = self._threads.get(self.participant)
        return captured is not None and captured.tools is not None

    def _candidates(self, beginning: Beginning | None, threads: Mapping[str, Thread]) -> Iterator[Thread]:
        """Yields the participant's threads that begin as a call does, and those that say nothing yet."""
        if not self._sorted:
            self._blank, self._by_beginning = [], {}
        new = islice(threads.values(), self._sorted, None)
        unsorted = [*self._blank, *(thread for thread in new if thread.participant.name == self.participant)]
        self._sorted, self._blank = len(threads), []
        for thread in unsorted:
            own = _beginning(self._look(thread).messages)
            (self._blank if own is None else self._by_beginning.setdefault(own, [])).append(thread)
        if beginning is not None:
            yield from self._by_beginning.get(beginning, ())
        yield from self._blank

    def _canonical(self, tools: Iterable[ToolSchema]) -> Tools:
        """Returns the canonical form of tools."""
        given = tuple(tools)
        try:
            written = msgspec.json.encode(given)
        except UnicodeEncodeError:  # lone surrogates
            return canonical_tools(given)
        if written != self._shown[0]:
            self._shown = written, canonical_tools(given)
        return self._shown[1]

    def _look(self, thread: Thread) -> _Captured:
        captured = self._threads.setdefault(thread.name, _Captured())
        captured.messages += [canonical_form(message) for message in thread.messages[len(captured.messages) :]]
        return captured


@dataclass(frozen=True, slots=True)
class _Said:
    form: Canonical
    message: Message


def _beginning(messages: Iterable[Canonical]) -> Beginning | None:
    """Returns the beginning of a conversation, which is the same however its tool calls are joined; None if it says
    nothing.
    """
    return next((message[:2] for message in messages if not _says_nothing(message)), None)


def _match_beginning(kept: Sequence[Canonical], asked: Sequence[_Said]) -> tuple[int, int, Sequence[_Said]]:
    """Compares a thread's messages with those of a call from the start.

    Returns how many messages of each match, and the call's messages with answers joined as the thread has them. An
    answer that says nothing may be in one and not in the other.
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
    """Joins tool calls that an agent sends one by one, each with its result, into the one answer that the thread has.

    Returns None if they don't make up that answer.
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


def _ids_of_calls(kept: Sequence[Message], own: Sequence[Message]) -> dict[str, list[str]]:
    """Returns the ids of a thread's last calls by those that an agent has given them: several in order, if it has given
    one id to each of the calls that it sends one by one. Results that are still to come can answer no others.
    """
    calls = (next((one.tool_calls for one in reversed(said) if one.tool_calls), ()) for said in (own, kept))
    ids: dict[str, list[str]] = {}
    for mine, call in zip(*calls, strict=True):
        ids.setdefault(mine.id, []).append(call.id)
    return ids


def _answering(ids: dict[str, list[str]], new: Iterable[_Said]) -> Iterator[Message]:
    """Yields the new messages of a call, in which results answer the thread's calls by `ids`, each once."""
    for said in new:
        if said.message.role == "assistant":
            ids = {}
        named = ids.get(said.message.tool_call_id or "")
        yield replace(said.message, tool_call_id=named.pop(0)) if named else said.message


def _says_nothing(message: Canonical) -> bool:
    return message == ("assistant", "", ())


def _reason(known: int, shared: int, captured: _Captured, asked: Sequence[_Said], shown: Tools) -> str:
    if captured.tools not in (None, shown):
        return TOOLS_CHANGED
    return BRANCHED if shared == len(asked) or known == len(captured.messages) else EDITED_HISTORY
