"""Events tell in order what happened in an episode: they are the readable half of its record."""

from __future__ import annotations

from typing import Literal

import msgspec

from ray_gym.messages import ToolCall

EventKind = Literal[
    "system", "opening", "message", "tool_result", "tool_call", "relay", "judge", "verdict", "note", "stop"
]


class Event(msgspec.Struct, gc=False):
    """An event is one thing that happened in an episode.

    `turn` counts turns of all participants from 0 and is -1 before the first; `step` counts model calls within a turn.
    `thread` names the conversation that the event belongs to. `started_at` is Unix time, in seconds.

    `tool_call` is a call from outside of the episode: its result is given to the caller, who tells its own model.
    """

    seq: int
    kind: EventKind
    turn: int
    step: int
    participant: str | None = None
    thread: str | None = None
    content: str = ""
    role: str | None = None
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    visible_to: list[str] = []
    finish_reason: str | None = None
    error: str | None = None
    reward: float | None = None
    """The reward that a verdict gave."""
    model: str | None = None
    started_at: float = 0.0
    duration_s: float = 0.0
