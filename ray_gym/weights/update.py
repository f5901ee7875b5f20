"""Carries out one update of a model's weights: on all replicas, or none.

    check -> pause -> load -> confirm -> commit -> resume

Nothing is touched before every replica has found that the weights fit. If a later step fails anywhere, the previous
weights are loaded again on all replicas that may have others. A replica that may hold half of some weights is killed
(an engine can't load anything more after a load that failed), and the replica that Serve starts in its place loads what
is being served. However the update ends, the model is resumed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ray_gym.errors import RunFailed, UserError
from ray_gym.weights.checkpoint import Checkpoint
from ray_gym.weights.fleet import Answers, Fleet
from ray_gym.weights.lines import ServedLines
from ray_gym.weights.orders import CheckWeights, Confirm, LoadWeights, PauseMode, PauseServing, ResumeServing, Task

MARGIN_S = 10.0
"""Seconds after a deadline in which replicas that give up by themselves may report it."""


@dataclass(frozen=True, slots=True)
class Deadlines:
    """Holds the largest number of seconds of each step of an update, for all replicas at once."""

    check_s: float = 120
    pause_s: float = 300
    """Seconds for the pause. With the mode `wait`, it takes as long as the longest generation."""
    load_s: float = 1800
    confirm_s: float = 60
    resume_s: float = 60

    @property
    def transfer_s(self) -> float:
        """Returns the seconds after its start at which a transfer that has not ended is abandoned. They include the
        trainer's work.
        """
        return self.pause_s + 2 * self.load_s + self.confirm_s

    @property
    def total_s(self) -> float:
        """Returns the seconds within which an update is over, even if the previous weights have to be loaded again, and
        another update is done before it.
        """
        return 2 * (self.check_s + self.pause_s + 2 * (self.load_s + self.confirm_s) + self.resume_s) + 60


@dataclass(frozen=True, slots=True)
class Status:
    """Tells which checkpoint a model serves, or one of its lines of adapters. During an update, also tells the new
    checkpoint, and the step that is being done; else both are None.
    """

    current: Checkpoint
    updating_to: Checkpoint | None = None
    step: str | None = None
    lines: tuple[Checkpoint, ...] = ()
    """Checkpoints of all lines of the model."""


class UpdateFailed(RunFailed):
    """Says that a change of the weights was not refused, but a step of it failed. After an update or a transfer, the
    message says which version serves now.
    """


class _StepFailed(Exception):
    pass


class Update:
    """An update replaces the weights of a model's replicas, or the adapter of a line: the current checkpoint by a new
    one.
    """

    def __init__(
        self,
        fleet: Fleet,
        served: ServedLines,
        new: Checkpoint,
        mode: PauseMode,
        deadlines: Deadlines,
        commit: Callable[[Checkpoint], Awaitable[None]],
    ) -> None:
        """Creates an update, which `carry_out` then does.

        `served`: what is served now. `commit`: makes the new checkpoint the one that is served, and that replicas load
        which start from now on.
        """
        self._fleet = fleet
        self._served = served
        self._current = served.of(new.line)
        self.new = new
        self._mode: PauseMode = mode
        self._deadlines = deadlines
        self._commit = commit
        self.step = "check"
        """Name of the step that is being done, for observers."""
        self._back = served if new.is_adapter else served.loadable
        """Checkpoints that are loaded again if the update fails. They are earlier ones if the current weights were
        transferred, as these are in no folder.
        """
        self._touched = False
        self._suspects: set[str] = set()

    async def carry_out(self) -> None:
        """Carries the update out on all replicas.

        Errors: UserError if a replica finds that the weights don't fit, or there is no replica (nothing was touched);
        UpdateFailed if a later step fails: the previous weights serve then, or if they are lost (they were
        transferred), the newest checkpoint before them that can be loaded.
        """
        await self._check()
        pauses = not self.new.is_adapter  # requests that are under way keep the adapter that they began with
        try:
            await self._change(pauses)
        except BaseException as error:
            await self._restore()
            if isinstance(error, _StepFailed):
                raise UpdateFailed(f"{error}. {self._outcome()}") from None
            raise
        finally:
            if pauses:
                await self._resume()

    async def _check(self) -> None:
        answers = await self._fleet.ask(CheckWeights(self.new), self._deadlines.check_s)
        if answers.failed:
            problems = "; ".join(sorted(set(answers.failed.values())))
            raise UserError(f"{self.new} was not loaded, {self._current} serves on. {problems}")
        if not answers.done:
            raise UserError(f"{self.new} was not loaded: the model has no replica at the moment")

    async def _change(self, pauses: bool) -> None:
        if pauses:
            within_s = self._deadlines.pause_s
            await self._step("pause", PauseServing(self._mode, within_s), within_s + MARGIN_S)
        self._touched = True
        await self._step("load", LoadWeights(self.new), self._deadlines.load_s)
        await self._step("confirm", Confirm(self.new), self._deadlines.confirm_s)
        try:
            await self._commit(self.new)
        except Exception as error:
            raise _StepFailed(f"commit: {error!r}") from error

    async def _step(self, name: str, task: Task, timeout_s: float) -> None:
        self.step = name
        answers = await self._fleet.ask(task, timeout_s)
        if answers.failed:
            if self._touched and not self.new.is_adapter:  # weights are as they were if an adapter can't be loaded
                self._suspects |= answers.failed.keys()
            raise _StepFailed(f"{name}: {_describe(answers)}")
        if not answers.done:
            raise _StepFailed(f"{name}: no replica is left alive")

    async def _restore(self) -> None:
        """Loads the previous weights again on all replicas, if any may have others, and kills the replicas that fail,
        now or earlier. If the previous weights are lost (they were transferred), loads the last loadable checkpoint in
        their place, and commits it.
        """
        self.step = "restore"
        if not self._touched:
            return
        for name in self._suspects:
            await self._fleet.evict(name)
        load_s = self._deadlines.load_s
        steps: list[tuple[Task, float]] = [(LoadWeights(self._back.of(self.new.line)), load_s)]
        if not self.new.is_adapter:  # else nothing was paused, and a cache in use can't be emptied
            steps.append((Confirm(self._back.own), self._deadlines.confirm_s))
            steps += [(LoadWeights(adapter), load_s) for adapter in self._back.adapters]
        for task, timeout_s in steps:
            answers = await self._fleet.ask(task, timeout_s)
            for name in answers.failed:
                self._suspects.add(name)
                await self._fleet.evict(name)
        if self._back.own != self._served.own:
            await self._commit(self._back.own)

    async def _resume(self) -> None:
        self.step = "resume"
        answers = await self._fleet.ask(ResumeServing(), self._deadlines.resume_s)
        for name in answers.failed:
            await self._fleet.evict(name)

    def _outcome(self) -> str:
        serves = self._back.of(self.new.line) if self._touched else self._current
        lost = f" ({self._current} was transferred, and is in no folder)" if serves != self._current else ""
        if not self._suspects:
            return f"{serves} serves on all replicas again{lost}"
        killed = ", ".join(sorted(self._suspects))
        return f"{serves} serves{lost}; killed, to be started again with it: {killed}"


def _describe(answers: Answers) -> str:
    return "; ".join(f"{name}: {error}" for name, error in sorted(answers.failed.items()))
