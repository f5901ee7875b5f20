"""Implements a replica's side of updates: it joins before it serves, and then carries out the orders of the holder of
the weights.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from ray_gym.errors import UserError, describe
from ray_gym.weights.checkpoint import Checkpoint
from ray_gym.weights.lines import ServedLines
from ray_gym.weights.orders import (
    Admitted,
    CatchUp,
    CheckWeights,
    Confirm,
    Joining,
    LoadWeights,
    Order,
    OrderAnswer,
    PauseMode,
    PauseServing,
    Ready,
    ReplicaReport,
    ResumeServing,
    Sleep,
    Task,
    Transfer,
    Wait,
    WakeUp,
)

PAUSE_S = 60.0
"""Seconds that a pause may take when a replica catches up: it does not wait for any request to finish."""
AGAIN_S = 0.5
"""Seconds between two tries to reach a holder that does not answer."""

Next = Callable[[ReplicaReport], Awaitable[Order | Wait | CatchUp | Admitted]]


class WeightsHost(Protocol):
    """Defines the methods of an engine whose weights can be changed."""

    @property
    def served(self) -> ServedLines:
        """Returns the checkpoints that were loaded last without an error."""
        ...

    async def check(self, checkpoint: Checkpoint) -> None:
        """Checks that a checkpoint's weights fit the model. Errors: UserError if they don't."""
        ...

    async def pause(self, mode: PauseMode) -> None: ...

    async def load(self, checkpoint: Checkpoint) -> None:
        """Loads weights in the place of the present ones. After an error the engine can't be used any more, unless they
        were an adapter.
        """
        ...

    async def confirm(self, checkpoint: Checkpoint) -> None:
        """Checks that this version is loaded.

        Errors: RuntimeError if the engine has another one, or its prefix cache could not be emptied.
        """
        ...

    async def resume(self) -> None: ...

    async def transfer(self, task: Transfer) -> None: ...

    async def sleep(self, level: int) -> None: ...

    async def wake_up(self, tags: tuple[str, ...] | None) -> None: ...


class Follower:
    """A follower carries out the holder's orders on one replica."""

    def __init__(self, host: WeightsHost, ask: Next) -> None:
        """Creates a follower, which starts at the first `check_health`.

        `ask`: sends a report to the holder and returns its answer; any error of it means that the holder can't be
        reached now.
        """
        self._host = host
        self._ask = ask
        self._admitted = asyncio.Event()
        self._paused = False
        self._broken: str | None = None
        self._task: asyncio.Task[None] | None = None

    async def check_health(self) -> None:
        """Waits until the replica has joined. Later calls return at once. The first call starts the follower.

        Errors: RuntimeError if the replica can't follow updates any more.
        """
        if self._task is None:
            self._task = asyncio.create_task(self._follow())
        joining = asyncio.create_task(self._admitted.wait())
        try:
            await asyncio.wait({joining, self._task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            joining.cancel()
        if self._task.done():
            raise RuntimeError(f"the replica can't follow updates of its weights: {self._broken or 'it was ended'}")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _follow(self) -> None:
        """Carries out the holder's orders until the engine can't be used any more. Then the replica is not healthy, and
        Serve replaces it.
        """
        report: ReplicaReport = self._as_joining()
        while self._broken is None or isinstance(report, OrderAnswer):
            try:
                told = await self._ask(report)
            except Exception as error:
                logging.getLogger(__name__).info("the holder of the weights is away: %s", describe(error))
                await asyncio.sleep(AGAIN_S)
                report = self._as_joining()
                continue
            if isinstance(told, Order):
                report = OrderAnswer(told.number, await self._try(told.task))
            elif isinstance(told, CatchUp):
                await self._try(told)
                report = self._as_joining()
            else:
                if isinstance(told, Admitted):
                    self._admitted.set()
                report = Ready()

    def _as_joining(self) -> Joining:
        return Joining(self._host.served.versions, self._paused)

    async def _try(self, task: Task | CatchUp) -> str | None:
        """Carries out a task. Returns None if that succeeds, else the message of the error. An error after which the
        engine's weights are not known (`_breaks`) is kept in `_broken`: the follower ends.
        """
        try:
            await self._do(task)
        except Exception as error:
            told = str(error) if isinstance(error, UserError) else describe(error)
            if _breaks(task, error):
                self._broken = told
            return told
        return None

    async def _do(self, task: Task | CatchUp) -> None:
        host = self._host
        match task:
            case CheckWeights(checkpoint):
                await host.check(checkpoint)
            case PauseServing(mode, within_s):
                await self._pause(mode, within_s)
            case LoadWeights(checkpoint):
                await host.load(checkpoint)
            case Confirm(checkpoint):
                await host.confirm(checkpoint)
            case ResumeServing():
                await host.resume()
                self._paused = False
            case Transfer():
                await host.transfer(task)
            case Sleep(level):
                await host.sleep(level)
            case WakeUp(tags):
                await host.wake_up(tags)
            case CatchUp(served):
                await self._catch_up(served)

    async def _pause(self, mode: PauseMode, within_s: float) -> None:
        self._paused = True
        try:
            async with asyncio.timeout(within_s):
                await self._host.pause(mode)
        except TimeoutError:
            raise RuntimeError(f"not paused within {within_s:g} s") from None

    async def _catch_up(self, wanted: ServedLines) -> None:
        """Pauses the engine, loads the weights that it lacks, then the adapters of the lines, and resumes it. Errors:
        those of the engine; RuntimeError if the pause takes longer than `PAUSE_S` seconds.
        """
        host = self._host
        if not self._paused:
            await self._pause("keep", PAUSE_S)
        for line in ("", *sorted({*host.served.lines, *wanted.lines})):
            checkpoint = wanted.of(line)
            if host.served.of(line) != checkpoint:
                await host.check(checkpoint)
                await host.load(checkpoint)
        for checkpoint in (wanted.own, *wanted.adapters):
            await host.confirm(checkpoint)
        await host.resume()
        self._paused = False


def _breaks(task: Task | CatchUp, error: Exception) -> bool:
    """Returns True if it is not known which weights an engine holds after this error of this task."""
    match task:
        case CatchUp() | Transfer():
            return True
        case LoadWeights(checkpoint):
            return not (checkpoint.is_adapter or checkpoint.line)
        case Sleep() | WakeUp():
            return not isinstance(error, UserError)
        case _:
            return False
