"""Says why an episode ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class StopReason(StrEnum):
    """A stop reason says why an episode ended, as the record spells it."""

    FINISHED = "finished"  # the environment said so
    COMPLETED = "completed"  # the control flow came to its end
    MAX_TURNS = "max_turns"
    STOP_TEXT = "stop_text"  # a participant said its stop text
    NOTHING_SAID = "nothing_said"  # a turn left the next participant with nothing to answer
    MAX_TOKENS = "max_tokens"  # a call hit its output limit
    CONTENT_FILTER = "content_filter"  # an endpoint withheld an answer or a part of it
    CONTEXT_FULL = "context_full"
    TOKEN_BUDGET = "token_budget"
    DEADLINE = "deadline"
    POLICY_FAILED = "policy_failed"  # the policy's own fault, by the environment's rule; scored all the same
    CLOSED = "closed"  # given up by its driver outside, or silent for too long
    SURPLUS = "surplus"  # cut off, since its group was complete (`groups.extra`)
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Stop:
    """A stop says why an episode ended.

    `text` is what triggered it: the outcome that the environment gave, or the message with the stop text.
    """

    reason: StopReason
    text: str = ""


class EpisodeOver(Exception):
    """Says that a command was given to an episode that has ended.

    It is raised so that no model is called after the end.
    """


class Closed(EpisodeOver):
    """Says that an episode that is driven from outside was closed before this command was done."""
