"""Reads the score of an episode from a resources server's answer to `/verify`."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from ray_gym import EpisodeFailure, FailureKind, Score
from ray_gym.printable import beginning

MAX_WHY = 1000
"""Largest number of characters of a reason in the record."""
_FAMILIES = {
    "judge": FailureKind.JUDGE,
    "session": FailureKind.INFRA,
    "transport": FailureKind.INFRA,
    "provider": FailureKind.INFRA,
}
"""Kind of a failure, by the beginning of the server's name for it. Any other failure is the environment's."""
_NOT_ITS_OWN = ("reward", "responses_create_params", "response", "mask_sample", "failure_kind", "failure_reason")
"""Fields of an answer that are not the server's findings."""


def score_of(verdict: Mapping[str, Any], asked: Mapping[str, Any], where: str, hide: Callable[[str], str]) -> Score:
    """Returns the server's reward as a score. Its named parts are the numbers beside the reward that were not in the
    request (`asked`), and those in `reward_components`. `hide`: takes the secrets out of a text.

    Errors: EpisodeFailure if the server gives no reward, or says that the reward does not measure the policy.
    """
    failure = verdict.get("_ng_failure_class") or (verdict.get("mask_sample") and (verdict.get("failure_kind") or ""))
    if isinstance(failure, str):
        kind = _FAMILIES.get(failure.split("_")[0], FailureKind.ENVIRONMENT)
        reason = verdict.get("failure_reason") or why(verdict, asked, hide)
        raise EpisodeFailure(kind, where, hide(f"the server took its verdict back: {failure}: {reason}"))
    reward = number(verdict.get("reward"))
    if reward is None:
        problem = f"no reward in the answer: {beginning(hide(json.dumps(verdict)), MAX_WHY)}"
        raise EpisodeFailure(FailureKind.ENVIRONMENT, where, problem)
    components = verdict.get("reward_components")
    named = {**_own_fields(verdict, asked), **(components if isinstance(components, Mapping) else {})}
    named.pop("reward", None)  # a component of that name is the reward once more
    parts = {name: found for name, value in named.items() if (found := number(value)) is not None}
    return Score(reward, parts)


def why(verdict: Mapping[str, Any], asked: Mapping[str, Any], hide: Callable[[str], str]) -> str:
    """Returns the server's findings beside the reward as JSON without the secrets, which `hide` takes out, and cut to
    `MAX_WHY` characters; "" if there are none.
    """
    own = _own_fields(verdict, asked)
    return beginning(hide(json.dumps(own, ensure_ascii=False)), MAX_WHY) if own else ""


def _own_fields(verdict: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields of an answer that are the server's findings: not in the request, no reward and no failure."""
    return {name: value for name, value in verdict.items() if name not in asked and name not in _NOT_ITS_OWN}


def number(value: Any) -> float | None:
    """Returns a finite number (a truth value is 1 or 0) as a float; None for anything else."""
    return float(value) if isinstance(value, (int, float)) and math.isfinite(value) else None
