"""The checks, in their order, and how they are carried out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from ray_gym.check import (
    determinism,
    generator,
    hooks,
    isolation,
    leaks,
    replay,
    scores,
    slow,
    tools,
    untouched,
)
from ray_gym.check.casts import perfect_of
from ray_gym.check.evidence import Evidence, gather_evidence
from ray_gym.check.finding import Finding
from ray_gym.check.other_process import OtherProcess
from ray_gym.check.scenes import Theatre
from ray_gym.check.subject import Subject
from ray_gym.check.waiting import WaitsForEver


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    question: str
    look: Callable[[Evidence], Awaitable[list[Finding]]]
    after: tuple[str, ...] = ()
    """Checks without which this one would only find the same again."""


HOOKS = Check("hooks", "they come to their end, and get along with whatever is said", hooks.look)
CHECKS = (
    Check("tasks", "the seed decides the tasks, which are different ones", generator.look),
    Check("determinism", "another process plays the same episodes", determinism.look),
    Check("isolation", "sessions at the same time leave each other alone", isolation.look, ("determinism",)),
    Check("replay", "what was cut goes on from its journal", replay.look, ("determinism", "isolation")),
    Check("tools", "only for whom they are declared; bad arguments are refused", tools.look),
    Check("leaks", "nobody sees what only another was told", leaks.look),
    Check("task", "playing leaves the task as it was", untouched.look),
    Check("score", "in its range, highest for perfect players, not for nothing", scores.look),
    Check("event loop", "no hook or tool holds it up", slow.look),
    HOOKS,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    check: Check
    findings: list[Finding]
    waits_for: str | None = None
    """The check that has to pass before this one can say anything."""

    @property
    def failed(self) -> bool:
        return bool(self.findings)


@dataclass(frozen=True, slots=True)
class Report:
    outcomes: list[Outcome]
    notes: list[str]
    """What was played, and what could not be judged."""

    @property
    def failed(self) -> bool:
        return any(outcome.failed for outcome in self.outcomes)


async def carry_out(
    subject: Subject, other_process: OtherProcess, tell: Callable[[str], None] = lambda step: None
) -> Report:
    """All checks. `tell` hears what is being done. Errors: RunFailed if the other process died."""
    theatre, outcomes = Theatre(subject), list[Outcome]()
    try:
        tell("playing")
        evidence = await gather_evidence(subject, theatre, other_process)
        for check in CHECKS:
            tell(check.name)
            waits_for = next(_failed(evidence, check), None)
            findings = [] if waits_for else await check.look(evidence)
            if findings:
                evidence.failed.add(check.name)
            outcomes.append(Outcome(check, findings, waits_for))
        return Report(outcomes, _notes(evidence))
    except WaitsForEver as error:
        return Report([*outcomes, *_cut_short(CHECKS[len(outcomes) :], error.finding)], [])
    finally:
        await theatre.close()


def _cut_short(left: Sequence[Check], finding: Finding) -> Iterator[Outcome]:
    """A hook that waits for ever stands in the way of all that was still to be looked at."""
    for check in left:
        yield Outcome(check, [finding]) if check is HOOKS else Outcome(check, [], HOOKS.name)


def _failed(evidence: Evidence, check: Check) -> Iterator[str]:
    return (name for name in check.after if name in evidence.failed)


def _notes(evidence: Evidence) -> list[str]:
    environment, plays = evidence.subject.make(), evidence.plays
    failures = Counter(play.played.failure.kind.value for play in plays if play.played.failure is not None)
    failed = "".join(f", {count} failed by {kind}" for kind, count in sorted(failures.items()))
    notes = [f"{len(plays)} episodes on {len(evidence.subject.tasks)} tasks{failed}"]
    missing = [
        name for name in environment.participants if name not in perfect_of(environment, evidence.subject.task(0))
    ]
    if missing:
        notes.append(f"no perfect player of {', '.join(missing)} (`perfect`): random ones took their place")
    return notes
