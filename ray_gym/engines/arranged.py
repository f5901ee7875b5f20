"""Arranges a request's messages for an endpoint that takes them only in some order, or with short ids of calls, as its
refusals tell: a model's chat template, which is probed where it is known (`deployments.chat.template`), is out of sight.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import takewhile
from typing import Any

from ray_gym.seeds import stable_id

Json = dict[str, Any]

BEGIN = "Begin."
"""Text of a user's message that is put first where no conversation is taken without one."""
ARRANGEMENTS = {
    "user first": f"a user says {BEGIN} before a first speaker",
    "late system": "a system's message after others is a user's",
    "joined": "messages of one role in a row are one",
    "joined to results": "a user's message after results of tools belongs to the last of them",
}
"""Arrangements, each with what it means."""
_STEPS = (*(frozenset({name}) for name in ARRANGEMENTS), *(frozenset([*ARRANGEMENTS][:most]) for most in (2, 3, 4)))
"""Sets of arrangements in the order in which they are tried: each alone, so that no needless one is kept, then together."""
_OF_ORDER = re.compile(
    r"\broles? (?:must|should|need)|alternat|expected (?:last |first |next )?role|\brole\W.{1,12} after role"
    r"|\b(?:first|last|system|user) (?:message|turn|query)s? (?:must|should|needs?|has to|can only|cannot be|is required)\b"
    r"|(?:start|begin|end)s? with an? (?:user|system)|\bno (?:user|system) (?:query|message|turn)"
    r"|(?:at least|must have) one\b.{0,20}message"
    r"|contents (?:is|are) (?:not specified|required)|GenerateContentRequest\.contents",
    re.IGNORECASE,
)
_OF_IDS = re.compile(r"call id\b.{1,200}(?:must be|length of 9)", re.IGNORECASE | re.DOTALL)
_SHORT_ID = re.compile("[a-zA-Z0-9]{9}")


def is_of_ids(words: str) -> bool:
    """Returns True if a refusal is about the ids of calls, as Mistral's (`Tool call id was c but must be a-z, A-Z, 0-9,
    with a length of 9.`).
    """
    return _OF_IDS.search(words) is not None


def with_short_ids(messages: Sequence[Json]) -> list[Json]:
    """Returns messages in which ids of calls are nine letters and digits: their own, or a digest of it."""
    return [message | _short_ids(message) for message in messages]


def _short_ids(message: Json) -> Json:
    short: Json = {}
    if "tool_calls" in message:
        short["tool_calls"] = [{**call, "id": _short(call["id"])} for call in message["tool_calls"]]
    if "tool_call_id" in message:
        short["tool_call_id"] = _short(message["tool_call_id"])
    return short


def _short(id: str) -> str:
    return id if _SHORT_ID.fullmatch(id) else stable_id(id)[:9]


def is_of_order(words: str) -> bool:
    """Returns True if a refusal may be about the order of the messages. Examples: `Conversation roles must alternate
    user/assistant` (templates), `Expected last role User or Tool` (Mistral), `messages: at least one message is required`
    (Anthropic), `contents is not specified` (Gemini), `No user query found in messages` (Qwen).
    """
    return _OF_ORDER.search(words) is not None


def later_arrangements(tried: frozenset[str], began: frozenset[str]) -> list[frozenset[str]]:
    """Returns the sets of arrangements that are tried after one of them. `began`: the arrangements before the first."""
    sets = [began | step for step in _STEPS]
    places = [place for place, one in enumerate(sets) if one == tried != began]
    return sets[max(places, default=-1) + 1 :]


def arranged(messages: Sequence[Json], arrangements: Collection[str]) -> list[Json]:
    """Returns the messages of a request's body in the order that `arrangements` name."""
    taken: list[Json] = []
    for message in _begun(messages) if "user first" in arrangements else messages:
        last = taken[-1] if taken else None
        if "late system" in arrangements and message["role"] == "system" and last and last["role"] != "system":
            message = {**message, "role": "user"}
        if last and _belongs(last["role"], message["role"], arrangements):
            taken[-1] = _joined(last, message)
        else:
            taken.append(message)
    return taken


def _begun(messages: Sequence[Json]) -> Sequence[Json]:
    systems = list(takewhile(lambda message: message["role"] == "system", messages))
    rest = messages[len(systems) :]
    return messages if rest and rest[0]["role"] == "user" else [*systems, {"role": "user", "content": BEGIN}, *rest]


def _belongs(before: str, role: str, arrangements: Collection[str]) -> bool:
    if before == role != "tool":
        return "joined" in arrangements
    return (before, role) == ("tool", "user") and "joined to results" in arrangements


def _joined(first: Json, second: Json) -> Json:
    """Returns two messages as one of the first one's role, with their texts and all their calls."""
    calls = [*first.get("tool_calls", ()), *second.get("tool_calls", ())]
    content = "\n\n".join(filter(None, (first["content"], second["content"])))
    return {**second, **first, "content": content} | ({"tool_calls": calls} if calls else {})
