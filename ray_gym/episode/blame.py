"""Decides who is to blame when a participant's model does not answer as it should."""

from __future__ import annotations

from ray_gym.episode.participant import Participant
from ray_gym.errors import EpisodeFailure, FailureKind


def is_policy(participant: Participant) -> bool:
    """Says whether the participant plays for itself, so that its mistakes are scored. Others simulate somebody, and can
    only fail.
    """
    return participant.trainable or participant.name == "policy"


def fault_of(simulator: Participant, message: str, *, judges: bool) -> EpisodeFailure:
    """Returns the failure of a simulator that did not do its part. `judges` says that it was asked while scoring."""
    return EpisodeFailure(FailureKind.JUDGE if judges else FailureKind.USER, simulator.name, message)


def blame_simulator(participant: Participant, error: EpisodeFailure, *, judges: bool) -> None:
    """Blames the simulator for a model of its own that breaks, unless infrastructure did it. Errors: EpisodeFailure, if
    it is to blame.

    An error that its template raises may be the task's fault. Not so while scoring: then a grader asked it, about words
    of others.
    """
    kind = error.failure.kind
    if kind == FailureKind.INFRA or (kind == FailureKind.DATA and not judges) or is_policy(participant):
        return
    raise fault_of(participant, f"{error.failure.where}: {error.failure.message}", judges=judges) from error
