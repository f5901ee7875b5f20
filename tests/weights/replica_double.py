"""Joins real followers and a real fleet without Ray and engines, on hosts that do as they are told."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, field

from ray_gym.errors import UserError
from ray_gym.weights.checkpoint import Checkpoint, Transferred
from ray_gym.weights.fleet import Fleet
from ray_gym.weights.follower import Follower
from ray_gym.weights.lines import ServedLines
from ray_gym.weights.orders import (
    Admitted,
    CatchUp,
    Joining,
    Order,
    OrderAnswer,
    PauseMode,
    ReplicaReport,
    Transfer,
    Wait,
)
from ray_gym.weights.update import Deadlines, Update

SOON = Deadlines(check_s=5, pause_s=5, load_s=5, confirm_s=5, resume_s=5)


@dataclass
class HostDouble:
    """Imitates a host. `faults` says by step what it raises once, or `hang`, or `die`.

    `serves` is what its tokens would be made of; None: of halves.
    """

    first: Checkpoint
    faults: dict[str, str] = field(default_factory=dict)
    paused: bool = False
    alive: bool = True
    done: list[str] = field(default_factory=list)
    serves: Checkpoint | None = None
    _begun: dict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))

    def __post_init__(self) -> None:
        self.served = ServedLines(self.first)
        self.serves = self.first

    async def reached(self, step: str) -> None:
        """Waits until it has begun with that."""
        await asyncio.wait_for(self._begun[step].wait(), 5)

    async def _step(self, name: str, checkpoint: Checkpoint | None = None) -> None:
        self.done.append(f"{name} {checkpoint.line}{checkpoint.version}" if checkpoint else name)
        self._begun[self.done[-1]].set()
        fault = self.faults.pop(name, None) or self.faults.pop(self.done[-1], None)
        if fault is None:
            return
        if fault == "die":
            self.alive = False
        if fault in ("die", "hang"):
            await asyncio.Event().wait()
        raise UserError(fault) if name == "check" else RuntimeError(fault)

    async def check(self, checkpoint: Checkpoint) -> None:
        await self._step("check", checkpoint)

    async def pause(self, mode: PauseMode) -> None:
        await self._step("pause")
        self.paused = True

    async def load(self, checkpoint: Checkpoint) -> None:
        if checkpoint.whole != self.served.own.whole:
            assert self.paused
            self.serves = None
            if isinstance(checkpoint.whole.source, Transferred):
                raise UserError("it is in no folder")
        await self._step("load", checkpoint)
        self.served = self.served.having(checkpoint)
        self.serves = self.served.own

    async def confirm(self, checkpoint: Checkpoint) -> None:
        assert self.paused or checkpoint.is_adapter
        await self._step("confirm", checkpoint)

    async def resume(self) -> None:
        await self._step("resume")
        assert self.serves is not None, "half-loaded weights never serve"
        self.paused = False

    async def transfer(self, task: Transfer) -> None:
        if task.step == "start":
            self.serves = None
        await self._step(f"transfer {task.step}")
        if task.step == "finish":
            self.serves = Checkpoint(task.version, Transferred(self.served.own.loadable))
            self.served = self.served.having(self.serves)

    async def sleep(self, level: int) -> None:
        await self._step(f"sleep {level}")

    async def wake_up(self, tags: tuple[str, ...] | None) -> None:
        await self._step(f"wake_up {tags}")


class Model:
    """This model is a holder without Ray."""

    def __init__(self, count: int, version: int = 0) -> None:
        self.served = ServedLines(Checkpoint(version, None))
        self.fleet = Fleet(self._is_alive, self._kill)
        self.hosts: dict[str, HostDouble] = {}
        self.followers: dict[str, Follower] = {}
        self.away = False
        self.changing = asyncio.Lock()
        for n in range(count):
            self.start(f"replica-{n}")

    @property
    def current(self) -> Checkpoint:
        return self.served.own

    def start(self, name: str) -> None:
        self.hosts[name] = HostDouble(Checkpoint(0, None))
        self.followers[name] = Follower(self.hosts[name], lambda report: self._next(name, report))

    async def _next(self, name: str, report: ReplicaReport) -> Order | Wait | CatchUp | Admitted:
        if self.away:
            raise ConnectionError("the holder is away")
        if isinstance(report, Joining):
            if self.fleet.knows(name):
                self.fleet.fail_open_orders(name)
            async with self.changing:
                has_own = report.versions[""] == self.served.own.version
                wanted = self.served if has_own else self.served.loadable
                if report.paused or report.versions != wanted.versions:
                    return CatchUp(wanted)
                self.fleet.admit(name)
                return Admitted()
        return await self.fleet.next(name, report if isinstance(report, OrderAnswer) else None)

    async def _is_alive(self, name: str) -> bool:
        return self.hosts[name].alive

    async def _kill(self, name: str) -> None:
        self.hosts[name].alive = False
        await self.followers[name].close()

    async def joined(self) -> None:
        for follower in self.followers.values():
            await asyncio.wait_for(follower.check_health(), 5)

    async def update(self, new: Checkpoint, deadlines: Deadlines = SOON, mode: PauseMode = "keep") -> None:
        async with self.changing:
            await Update(self.fleet, self.served, new, mode, deadlines, self._commit).carry_out()

    async def _commit(self, checkpoint: Checkpoint) -> None:
        self.served = self.served.having(checkpoint)

    def serving(self) -> set[int | None]:
        """Returns the versions that the living replicas serve, and checks that none of them is paused."""
        alive = [host for host in self.hosts.values() if host.alive]
        assert not any(host.paused for host in alive), "always resumed"
        return {host.serves.version if host.serves else None for host in alive}

    def serving_on(self, line: str) -> set[int]:
        """Returns the versions of a line that the living replicas serve."""
        return {host.served.of(line).version for host in self.hosts.values() if host.alive}

    async def close(self) -> None:
        for follower in self.followers.values():
            await follower.close()
