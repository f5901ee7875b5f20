"""Checks, before each model call, whether a limit of the whole episode leaves room for it.

A new limit is one function here, a field of `LimitsSection` and, as a rule, a reason of its own in `StopReason`.
"""

from __future__ import annotations

from ray_gym.episode.view import EpisodeView
from ray_gym.stop import Stop, StopReason

STEPS_USED_UP = "its steps were used up (max_steps_per_turn)"
"""Words in the note of a turn in which a program asked for more steps than it has."""


def reached_limit(episode: EpisodeView) -> Stop | None:
    """Returns the stop of the first limit that is used up; None while there is room for another call."""
    return next((stop for limit in _ALL if (stop := limit(episode)) is not None), None)


def _token_budget(episode: EpisodeView) -> Stop | None:
    budget, spent = episode.limits.token_budget, episode.usage.budgeted_tokens
    if budget is None or spent < budget:
        return None
    return Stop(StopReason.TOKEN_BUDGET, f"{spent} tokens generated")


def _deadline(episode: EpisodeView) -> Stop | None:
    """Returns the stop of the deadline if the episode's active time has reached it, else None. While calls are answered
    from the journal, no deadline holds.
    """
    limit_s = episode.limits.episode_deadline_s
    if episode.clock.elapsed_s < limit_s or not episode.calls.log.is_live:
        return None
    return Stop(StopReason.DEADLINE, f"{limit_s:g} s")


_ALL = (_token_budget, _deadline)
