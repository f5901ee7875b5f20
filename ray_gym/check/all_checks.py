"""Lists the checks in their order, and carries them out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from ray_gym.aio.exits import keep_exits
from ray_gym.check import (
    determinism,
    echoes,
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
    """A check looks for one kind of fault in what was played.

    `question` tells the user what is checked; `look` returns its findings, which are empty if there is no fault.
    """

    name: str
    question: str
    look: Callable[[Evidence], Awaitable[list[Finding]]]
    after: tuple[str, ...] = ()
    """Names of checks that have to pass first: otherwise this one would only find the same faults again."""


HOOKS = Check("hooks", "they end, and cope with anything that is said", hooks.look)
CHECKS = (
    Check("tasks", "the seed alone decides the tasks, and they differ", generator.look),
    Check("determinism", "another process plays the same episodes", determinism.look),
    Check("isolation", "sessions at the same time do not affect each other", isolation.look, ("determinism",)),
    Check("replay", "an episode that was cut goes on from its journal", replay.look, ("determinism", "isolation")),
    Check("tools", "only those they are declared for can call them; bad arguments are refused", tools.look),
    Check("leaks", "nobody sees what only another participant was told", leaks.look),
    Check("echoes", "nobody is told its own words", echoes.look),
    Check("task", "playing leaves the task as it was", untouched.look),
    Check("score", "in its range, highest for perfect players, seldom so for idle ones", scores.look),
    Check("event loop", "no hook or tool holds it up", slow.look),
    HOOKS,
)


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """Holds the result of one check: its findings, or the check that has to pass before it."""

    check: Check
    findings: list[Finding]
    waits_for: str | None = None
    """Name of the failed check that has to pass before this one is carried out; None if it was carried out."""

    @property
    def failed(self) -> bool:
        """Says whether the check has findings. A check that was not carried out has none."""
        return bool(self.findings)


@dataclass(frozen=True, slots=True)
class CheckReport:
    """Holds the outcomes of all checks, and notes."""

    outcomes: list[CheckOutcome]
    notes: list[str]
    """Lines on what was played, and what could not be judged."""

    @property
    def failed(self) -> bool:
        """Says whether any check failed."""
        return any(outcome.failed for outcome in self.outcomes)


async def carry_out(
    subject: Subject, other_process: OtherProcess, tell: Callable[[str], None] = lambda step: None
) -> CheckReport:
    """Carries out all checks and returns their report.

    `tell` is called with the name of each step before it. If a hook waits for ever, the report says so, and the checks
    that are left are not carried out. Errors: RunFailed if the other process died; UserError if infrastructure that the
    environment needs is down.
    """
    keep_exits()
    theatre, outcomes = Theatre.of(subject), list[CheckOutcome]()
    try:
        tell("playing")
        evidence = await gather_evidence(subject, theatre, other_process)
        for check in CHECKS:
            tell(check.name)
            waits_for = next(_failed_before(evidence, check), None)
            findings = [] if waits_for else await check.look(evidence)
            if findings:
                evidence.failed.add(check.name)
            outcomes.append(CheckOutcome(check, findings, waits_for))
        return CheckReport(outcomes, _notes(evidence))
    except WaitsForEver as error:
        return CheckReport([*outcomes, *_outcomes_cut_short(CHECKS[len(outcomes) :], error.finding)], [])
    finally:
        await theatre.close()


def _outcomes_cut_short(left: Sequence[Check], finding: Finding) -> Iterator[CheckOutcome]:
    """Yields outcomes for the checks that are not carried out because something waits for ever.

    The check of the hooks gets the finding, and the others wait for that check.
    """
    for check in left:
        yield CheckOutcome(check, [finding]) if check is HOOKS else CheckOutcome(check, [], HOOKS.name)


def _failed_before(evidence: Evidence, check: Check) -> Iterator[str]:
    """Yields the names of the failed checks that have to pass before this one."""
    return (name for name in check.after if name in evidence.failed)


def _notes(evidence: Evidence) -> list[str]:
    """Returns lines that say what was played, and which participants and judges have no perfect player."""
    environment, plays = evidence.subject.make(), evidence.plays
    failures = Counter(play.played.failure.kind.value for play in plays if play.played.failure is not None)
    failed = "".join(f", {count} failed by {kind}" for kind, count in sorted(failures.items()))
    notes = [f"{len(plays)} episodes on {len(evidence.subject.tasks)} tasks{failed}"]
    perfect = perfect_of(environment, evidence.subject.task(0))
    judges = {name for play in plays for name in play.random_judges()}
    missing = [*(name for name in environment.participants if name not in perfect), *sorted(judges)]
    if missing:
        notes.append(f"no perfect player of {', '.join(missing)} (`perfect`): random ones took their place")
    return notes
