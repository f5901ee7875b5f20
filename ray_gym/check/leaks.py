"""Checks that a participant does not see what only another participant was told.

A secret is a long line that only one participant was told. It is a line of its system prompt or first messages that
nobody else was given at the start, or a line of an answer of a tool that others may not call. It leaks if another
participant is told the whole line later, unless its owner has said it, or the other knew it. Rules that all are given
are no secret, and what the environment relays in words of its own is no leak.

The whole answer of such a tool is a secret too, even if it is short. It leaks only if it makes up whole lines of what
`relay` tells, or stands within a line and is specific, and nobody has said it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ray_gym.check.finding import Finding, shorten
from ray_gym.check.scenes import Play
from ray_gym.check.told import is_specific, long_lines, one_a_place, stands_within
from ray_gym.events import Event

if TYPE_CHECKING:
    from ray_gym.check.evidence import Evidence

SHORTEST = 24
"""Least number of characters of a secret, since shorter lines come up by chance."""
SHORTEST_ANSWER = 4
"""Least number of characters of a secret that is the whole answer of a tool."""
_AT_FIRST = ("system", "opening")
_MEND = "let `relay` and tools give the other side only what it may know"


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret is a line that its owner was told, and that the participants in `hidden_from` should not see.

    `source` is ` by TOOL` if a tool's answer told it, else empty. `is_whole`: True if `line` is the whole answer of a
    tool, which may have several lines.
    """

    line: str
    owner: str
    source: str
    hidden_from: frozenset[str]
    is_whole: bool = False


async def look(evidence: Evidence) -> list[Finding]:
    """Finds secrets that leak, in all plays, and returns one finding for each participant that sees some."""
    return await one_a_place(evidence.plays, _leaks)


def _leaks(play: Play) -> Iterator[Finding]:
    environment = play.stage.environment
    secrets = dict.fromkeys(_told_at_first(play))
    said = dict.fromkeys(environment.participants, "")
    seen = dict.fromkeys(environment.participants, "")
    called: dict[tuple[str, str | None], str] = {}
    for event in play.played.episode.events:
        listener = str(event.thread).partition("/")[0]
        if listener not in seen:
            continue
        if event.kind == "message":
            said[listener] += event.content + "".join(call.arguments for call in event.tool_calls)
            called |= {(listener, call.id): call.name for call in event.tool_calls}
        elif event.kind in ("relay", "tool_result"):
            for secret in secrets:
                is_new = listener in secret.hidden_from and _is_told(secret, event)
                sayers = said if secret.is_whole else (secret.owner,)
                is_said = any(secret.line in said[name] for name in sayers)
                if is_new and not is_said and secret.line not in seen[listener]:
                    yield _finding(play, listener, event, secret)
        if event.kind == "tool_result" and event.error is None:
            secrets |= dict.fromkeys(_answer_lines(play, listener, event, called.get((listener, event.tool_call_id))))
        seen[listener] += f"\n{event.content}"


def _is_told(secret: Secret, event: Event) -> bool:
    """Returns True if an event tells a secret. A tool's whole answer has to make up whole lines of a relayed message, or
    to be specific.
    """
    if secret.line not in event.content or not secret.is_whole:
        return secret.line in event.content
    is_line = _framed(secret.line) in _framed(event.content)
    is_part = is_specific(secret.line) and stands_within(secret.line, event.content)
    return event.kind == "relay" and (is_line or is_part)


def _framed(text: str) -> str:
    """Returns the lines of a text without spaces around them, each between line breaks."""
    return "".join(f"\n{line.strip()}" for line in text.splitlines()) + "\n"


def _finding(play: Play, listener: str, event: Event, secret: Secret) -> Finding:
    how = "a tool's result" if event.kind == "tool_result" else "a relayed message"
    line = shorten(secret.line, 80)
    what = f"{listener} sees in {how} what only {secret.owner} was told{secret.source}: {line!r} ({play.scene})"
    return Finding(f"{type(play.stage.environment).__name__}, to {listener}", what, _MEND)


def _told_at_first(play: Play) -> Iterator[Secret]:
    """Yields the long lines that one participant alone was told before anyone spoke, as secrets from all others."""
    told = dict.fromkeys(play.stage.environment.participants, "")
    for event in play.played.episode.events:
        if event.kind in _AT_FIRST and event.thread in told:
            told[event.thread] += f"\n{event.content}"
    for name, text in told.items():
        others = {owner: other for owner, other in told.items() if owner != name}
        for line in long_lines(text, SHORTEST):
            if not any(line in other for other in others.values()):
                yield Secret(line, name, "", frozenset(others))


def _answer_lines(play: Play, owner: str, event: Event, name: str | None) -> Iterator[Secret]:
    """Yields the whole answer of a tool to `owner` and its long lines, as secrets from those who may not call the tool.

    `name`: name of the tool.
    """
    tool = play.played.episode.tools.get(name or "")
    if tool is None:
        return
    others = (one for one in play.stage.environment.participants if one != owner and not tool.offered_to(one))
    hidden_from = frozenset(others)
    if not hidden_from:
        return
    for line in long_lines(event.content, SHORTEST):
        yield Secret(line, owner, f" by {name}", hidden_from)
    if len(whole := event.content.strip()) >= SHORTEST_ANSWER:
        yield Secret(whole, owner, f" by {name}", hidden_from, is_whole=True)
