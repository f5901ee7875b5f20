"""Whose fault it is when a participant's model does not answer as it should."""

from __future__ import annotations

from ray_gym.episode.participant import Participant
from ray_gym.errors import EpisodeFailure, FailureKind


def is_policy(participant: Participant) -> bool:
    """Whether it plays for itself: what it does wrong is scored. Others simulate somebody, and can only fail."""
    return participant.trainable or participant.name == "policy"


def fault_of(simulator: Participant, message: str, *, judges: bool) -> EpisodeFailure:
    """A simulator did not do its part. `judges`: it was asked while scoring."""
    return EpisodeFailure(FailureKind.JUDGE if judges else FailureKind.USER, simulator.name, message)


def blame_simulator(participant: Participant, error: EpisodeFailure, *, judges: bool) -> None:
    """A simulator's model that breaks is the simulator's fault, unless infrastructure did it. Errors: EpisodeFailure, if it is.

    What its template refuses may be the task's. Not so while scoring: then it was asked by a grader, about what others have said.
    """
    kind = error.failure.kind
    if kind == FailureKind.INFRA or (kind == FailureKind.DATA and not judges) or is_policy(participant):
        return
    raise fault_of(participant, f"{error.failure.where}: {error.failure.message}", judges=judges) from error
