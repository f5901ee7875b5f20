"""Why an episode ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class StopReason(StrEnum):
    FINISHED = "finished"  # the environment said so
    COMPLETED = "completed"  # the control flow came to its end
    MAX_TURNS = "max_turns"
    STOP_TEXT = "stop_text"  # a participant said its stop text
    NOTHING_SAID = "nothing_said"  # a turn left the next participant with nothing to answer
    MAX_TOKENS = "max_tokens"  # a call hit its output limit
    CONTEXT_FULL = "context_full"
    TOKEN_BUDGET = "token_budget"
    DEADLINE = "deadline"
    POLICY_FAILED = "policy_failed"  # the policy's own fault, by the environment's rule; scored all the same
    CLOSED = "closed"  # given up by whoever drove the session from outside, or silent for too long
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Stop:
    """`text` is what triggered it: the environment's verdict, the stop text's message."""

    reason: StopReason
    text: str = ""


class EpisodeOver(Exception):
    """A command was given to an episode that has ended. Raised so that no model is called after the end."""


class Closed(EpisodeOver):
    """The session was closed before this command was done."""
