"""Decides who is to blame when a participant's model does not answer as it should."""

from __future__ import annotations

from dataclasses import replace

from ray_gym.episode.participant import Participant
from ray_gym.errors import EpisodeFailure, FailureKind


def is_policy(participant: Participant) -> bool:
    """Says whether a participant is trained or is the policy: then its mistakes are scored. Any other participant
    simulates somebody, and its mistakes fail the episode.
    """
    return participant.trainable or participant.name == "policy"


def fault_of(simulator: Participant, message: str, *, judges: bool) -> EpisodeFailure:
    """Returns the failure of a simulator (a simulated user, a judge) that broke or gave no usable answer.

    `judges`: True if it was asked while the episode is scored; then the failure is of kind judge, else of kind user.
    """
    return EpisodeFailure(FailureKind.JUDGE if judges else FailureKind.USER, simulator.name, message)


def blame_simulator(participant: Participant, error: EpisodeFailure, *, judges: bool) -> None:
    """Raises a model call's error anew as the participant's failure, if it is a simulator that is to blame; else
    returns.

    Infrastructure is never the simulator's fault, and an error of the policy stays the policy's. An error of kind data
    may be the task's fault, unless the episode is being scored (`judges`). Code that raises in a user's place (a
    scripted player's) stays of kind environment, as it would raise again; a judge's is asked again. Errors:
    EpisodeFailure.
    """
    kind = error.failure.kind
    if kind == FailureKind.INFRA or (kind == FailureKind.DATA and not judges) or is_policy(participant):
        return
    fault = fault_of(participant, f"{error.failure.where}: {error.failure.message}", judges=judges).failure
    blamed = kind if kind == FailureKind.ENVIRONMENT and not judges else fault.kind
    raise EpisodeFailure.of(replace(fault, kind=blamed, traceback=error.failure.traceback)) from error
