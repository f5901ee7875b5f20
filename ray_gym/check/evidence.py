"""Plays all scenes for the checks once. Most checks only look at what was played."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from ray_gym.check.casts import casts_for
from ray_gym.check.lag import Lag, LoopWatch
from ray_gym.check.other_process import OtherProcess
from ray_gym.check.scenes import Play, Scene, Theatre
from ray_gym.check.subject import Subject
from ray_gym.check.trace import Trace
from ray_gym.errors import FailureKind, UserError

TRACED_TASKS = 2
"""Number of tasks whose scenes are played under the trace, which makes them slow."""


@dataclass(slots=True)
class Evidence:
    """Holds all that was played of one subject, and what was seen meanwhile."""

    subject: Subject
    theatre: Theatre
    plays: list[Play]
    lags: list[Lag]
    trace: Trace
    other_process: OtherProcess
    took_s: float
    """Seconds that it took to play all scenes once."""
    failed: set[str] = field(default_factory=set)
    """Names of the checks that have found something so far."""

    def by(self, *casts: str) -> Iterator[Play]:
        """Yields the plays of these casts, in the order in which they were played."""
        return (play for play in self.plays if play.scene.cast in casts)


def scenes_of(subject: Subject) -> list[Scene]:
    """Returns a scene for every task and every cast that the environment can be played with."""
    return [Scene(task, cast) for task in range(len(subject.tasks)) for cast in casts_for(subject.make())]


async def gather_evidence(subject: Subject, theatre: Theatre, other_process: OtherProcess) -> Evidence:
    """Plays all scenes, each on a fresh instance of the environment, and returns the evidence.

    The scenes of the first TRACED_TASKS tasks are played again under the trace. Errors: UserError if the first episode
    failed by infrastructure, since every episode would wait for it; WaitsForEver.
    """
    plays: list[Play] = []
    lags: list[Lag] = []
    began = time.monotonic()
    for scene in scenes_of(subject):
        async with theatre.environment() as environment:
            with LoopWatch(environment) as watch:
                plays.append(await theatre.play(scene, environment))
        if len(plays) == 1:
            _refuse_an_outage(plays[0])
        lags += [Lag(scene, place, seconds) for place, seconds in watch.late.items()]
    took_s = time.monotonic() - began
    return Evidence(subject, theatre, plays, lags, await _trace(subject), other_process, took_s)


def _refuse_an_outage(first: Play) -> None:
    """Checks that the first episode did not fail by infrastructure. Errors: UserError if it did."""
    failure = first.played.failure
    if failure is not None and failure.kind == FailureKind.INFRA:
        raise UserError(f"nothing can be checked now: {failure.where}: {failure.message}")


async def _trace(subject: Subject) -> Trace:
    """Plays the scenes of the first TRACED_TASKS tasks under a trace, and returns the trace.

    They have a theatre of their own, so that its threads start under the trace and end with it.
    """
    trace, theatre = Trace(subject.make()), Theatre.of(subject)
    try:
        for scene in scenes_of(subject)[: TRACED_TASKS * len(casts_for(subject.make()))]:
            with trace:
                await theatre.play(scene)
    finally:
        await theatre.close()
    return trace
