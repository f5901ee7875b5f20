"""Transfers weights straight from a trainer's memory into the replicas', by vLLM's weight transfer (NCCL, CUDA IPC,
...).

The trainer's side is vLLM's own; it drives the replicas through `ray_gym.weights.transfer_client`. All replicas and the
trainer form one group, so their number is fixed from `init` on. Weights that come this way are in no folder. If a
transfer fails, the replicas hold parts of two versions, and are killed; those that Serve starts in their place load the
last checkpoint that can be loaded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from ray_gym.errors import UserError
from ray_gym.weights.checkpoint import Checkpoint, Transferred
from ray_gym.weights.fleet import Fleet
from ray_gym.weights.lines import ServedLines
from ray_gym.weights.orders import Confirm, PauseServing, ResumeServing, Task, Transfer
from ray_gym.weights.update import MARGIN_S, Deadlines, UpdateFailed


def tasks_of(task: Transfer, replicas: Sequence[str], ranks: int) -> dict[str, Task]:
    """Returns a task of a transfer for each replica, by its name, with the arguments for its place in the group.
    `ranks`: number of processes of each replica.

    A `rank_offset` of `init` is that of the first replica, and grows by `ranks` from one to the next. A list of
    arguments has an entry for each process of all replicas, in order, and each replica gets its own entries. Other
    arguments are the same for all. Errors: UserError if the list has another length, or the `world_size` does not fit.
    """
    made: dict[str, Task] = {}
    for place, name in enumerate(replicas):
        made[name] = Transfer(task.step, _info_of(task, place, len(replicas), ranks), task.version)
    return made


def _info_of(task: Transfer, place: int, count: int, ranks: int) -> Any:
    """Returns the arguments of the replica at a place among `count` replicas. Errors: UserError if a list has another
    length than the group, or the `world_size` does not fit.
    """
    info = task.info
    if isinstance(info, list):
        if len(info) != count * ranks:
            raise UserError(f"update_info: {len(info)} entries, but {count} replicas have {ranks} processes each")
        return info[place * ranks : (place + 1) * ranks]
    if task.step != "init" or not isinstance(info, dict) or "rank_offset" not in info:
        return info
    last = info["rank_offset"] + count * ranks
    if info.get("world_size", last) != last:
        raise UserError(
            f"init_info.world_size: {info['world_size']}, but {info['rank_offset']} ranks of the trainer and {count} replicas with "
            f"{ranks} each are {last}"
        )
    return {**info, "rank_offset": info["rank_offset"] + place * ranks}


class Transfers:
    """Carries out transfers of weights, one after the other, on all replicas of a model."""

    def __init__(
        self,
        fleet: Fleet,
        ranks: int,
        changing: asyncio.Lock,
        served: Callable[[], ServedLines],
        commit: Callable[[Checkpoint], Awaitable[None]],
    ) -> None:
        """Creates the object; no transfer has begun.

        `ranks`: number of processes of each replica. `changing`: lock of all changes of weights, which is held from
        `start` to `finish`. `served`: returns what is served. `commit`: makes a checkpoint the one that
        serves.
        """
        self._fleet = fleet
        self._ranks = ranks
        self._changing = changing
        self._served = served
        self._commit = commit
        self._group: list[str] = []
        self._version: int | None = None
        self._deadline: asyncio.Task[None] | None = None

    async def init(self, info: Any, deadlines: Deadlines) -> None:
        """Forms the group of the trainer and all replicas. Errors: UserError if `info` does not fit the group;
        UpdateFailed if a replica fails or dies: then all replicas are killed, and Serve starts others.
        """
        async with self._changing:
            self._group = []
            group = self._fleet.names
            answers = await self._fleet.ask_each(tasks_of(Transfer("init", info), group, self._ranks), deadlines.load_s)
            if answers.done != group:
                for name in group:  # a group of which some are not part can't be left
                    await self._fleet.evict(name)
                raise UpdateFailed(f"init: {answers.failed or 'a replica died'}. All replicas are started again")
            self._group = group

    async def start(self, version: int, deadlines: Deadlines) -> None:
        """Begins a transfer, and pauses the replicas. A transfer that has not ended after `deadlines.transfer_s`
        seconds is abandoned.

        Errors: UserError if the version is not new, or the replicas are not those of `init` (nothing was touched);
        UpdateFailed if a replica fails.
        """
        await self._changing.acquire()
        try:
            self._served().check_whole(version)
            await self._fleet.drop_dead()
            if not self._group or self._fleet.names != self._group:
                raise UserError("the replicas are not those of the last init_weight_transfer_engine; call it again")
        except BaseException:
            self._changing.release()
            raise
        self._version = version
        self._deadline = asyncio.create_task(self._give_up(deadlines.transfer_s))
        await self._step(PauseServing("keep", deadlines.pause_s), deadlines.pause_s + MARGIN_S)
        await self._step(Transfer("start"), deadlines.load_s)

    async def update(self, info: Any, deadlines: Deadlines) -> None:
        """Makes the replicas receive a part of the weights. Errors: UserError if no transfer is under way; UserError if
        `info` does not fit the group, and UpdateFailed if a replica fails: both abandon the transfer.
        """
        self._check_started()
        await self._step(Transfer("update", info), deadlines.load_s)

    async def finish(self, deadlines: Deadlines) -> int:
        """Ends the transfer, resumes the replicas, and returns the version that serves. Errors: UserError if no
        transfer is under way; UpdateFailed if a replica fails.
        """
        version = self._check_started()
        new = Checkpoint(version, Transferred(self._served().own.loadable))
        await self._step(Transfer("finish", version=version), deadlines.load_s)
        await self._step(Confirm(new), deadlines.confirm_s)
        await self._commit(new)
        await self._step(ResumeServing(), deadlines.resume_s)
        self._version = None
        self._release()
        return version

    def _check_started(self) -> int:
        """Returns the version that is being transferred. Errors: UserError if there is none."""
        if self._version is None:
            raise UserError("no transfer is under way: start_weight_update comes first, and one that failed is over")
        return self._version

    async def _step(self, task: Task, timeout_s: float) -> None:
        """Gives all replicas of the group a task, and abandons the transfer if one fails. Errors: UpdateFailed if a
        replica fails or has died; UserError if arguments don't fit the group.
        """
        try:
            tasks: dict[str, Task] = dict.fromkeys(self._group, task)
            if isinstance(task, Transfer):
                tasks = tasks_of(task, self._group, self._ranks)
            answers = await self._fleet.ask_each(tasks, timeout_s)
            if answers.done and not answers.failed and set(answers.done) == set(self._group):
                return
        except BaseException:
            await self._abandon()
            raise
        await self._abandon()
        told = "; ".join(f"{name}: {error}" for name, error in answers.failed.items()) or "a replica died"
        last = self._served().own.loadable
        raise UpdateFailed(f"{told}. The replicas are started again with {last}, which came from a folder last")

    async def _give_up(self, after_s: float) -> None:
        """Waits `after_s` seconds, and then abandons the transfer: the trainer may have died between `start` and
        `finish`. The end of a transfer cancels the wait.
        """
        await asyncio.sleep(after_s)
        self._deadline = None
        await self._abandon()

    async def _abandon(self) -> None:
        """Kills every replica of the group, since each may hold parts of two versions. If the current weights were
        transferred, commits the last checkpoint that can be loaded. Does nothing if no transfer is under way.
        """
        if self._version is None:
            return
        self._version = None
        group, self._group = self._group, []
        try:
            for name in group:
                await self._fleet.evict(name)
            if (last := self._served().own.loadable) != self._served().own:  # which nobody has any more
                await self._commit(last)
        finally:
            self._release()

    def _release(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._changing.release()
