"""Plays a stream's groups and tells its trainer which are finished.

`Host` is a plain class. `Stream` makes it a Ray actor, which ends with the trainer's process. The host doesn't send
rows to the trainer: it names the file of each group, and the trainer reads that file.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ray_gym.config.sections import RunConfig
from ray_gym.errors import RunFailed, UserError, describe
from ray_gym.metrics.committing import RunMetrics
from ray_gym.metrics.pulse import beating
from ray_gym.metrics.ray_export import RayExport
from ray_gym.metrics.recorder import Recorder
from ray_gym.models.base import Engine
from ray_gym.models.versions import Versions
from ray_gym.printable import printable
from ray_gym.run.directory.commit_order import number_of as commit_of
from ray_gym.run.driver.carrying_out import setup_of, summary_of
from ray_gym.run.driver.driver import Driver, Outcome
from ray_gym.run.lease import LeaseGroup
from ray_gym.run.plan import Plan
from ray_gym.stream.calls import Delivery, HostSetup, OpenedStream
from ray_gym.stream.cursor import Cursor
from ray_gym.stream.directory import StreamState, open_directory, read_state, remove_before
from ray_gym.stream.evaluation import Evaluations
from ray_gym.stream.group import FinishedGroup, groups_of
from ray_gym.stream.outbox import DroppedGroups, GroupQueue, Outbox
from ray_gym.stream.ranks import Ranks
from ray_gym.stream.rounds import Rounds
from ray_gym.stream.served import LOOK_S, ServedVersions
from ray_gym.stream.source import Supply, digest_of, sampler_of, source_of
from ray_gym.stream.streaks import Streaks

ROLL_S = 1.0
"""Seconds that the rows of a finished group may wait to share a file with others, unless `output.roll_s` is given."""


class Host:
    """A host plays the groups of a stream. `open` is called first, then `start`; `close` last.

    The parameter `versions` of its methods has the versions of the weights, as the trainer knows them.
    """

    def __init__(self, setup: HostSetup) -> None:
        self._setup = setup
        self._playing: set[int] = set()
        """Numbers of the groups that are begun and not in a committed file yet."""
        self._begun = 0
        """Number of the groups that this host has begun."""
        self._failure: Exception | None = None
        self._stopping = asyncio.Event()
        self._changed = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._is_open = False
        self._recorder = Recorder()

    # ---- from start to end ----

    async def open(self) -> OpenedStream:
        """Checks the config, its tasks and the cursor, and opens the stream's directory.

        Errors: UserError for a mistake in one of them; RunFailed, OSError if the directory can't be opened.
        """
        return await asyncio.to_thread(self._open)

    def _open(self) -> OpenedStream:
        setup, config, file = self._setup, self._setup.config, str(self._setup.config_file)
        self._plan = Plan.of(config, file, engines=setup.engines.__getitem__)
        self._source = source_of(config, setup.config_file.parent, self._plan.environment, setup.options.epochs)
        self._directory, self._identity, self._cursor = open_directory(config, digest_of(self._source), setup.cursor)
        self._is_open = True
        self._rounds = self._read_rounds()
        self._dropped = DroppedGroups(self._directory.storage)
        self._known = frozenset(number for number in self._dropped.numbers() if number >= self._cursor.next)
        reasons = self._dropped.reasons(self._known)
        self._known_flat = frozenset(number for number, reason in reasons.items() if reason == "flat")
        if self._rounds is not None:
            for number in [number for number, reason in reasons.items() if reason == "stale"]:
                self._rounds.lose(number)
        where = self._directory
        return OpenedStream(where.name, where.location, self._cursor, self._known, self._known_flat)

    def _read_rounds(self) -> Rounds | None:
        """Reads what a sampler has chosen before, and lets it choose the tasks of groups; None without a sampler."""
        sampler = sampler_of(self._setup.config, self._source)
        if sampler is None:
            return None
        rounds = Rounds(self._directory.storage, sampler)
        rounds.read()
        self._source = replace(self._source, chosen=rounds.index_of)
        return rounds

    async def start(self, engines: Mapping[str, Engine]) -> dict[str, int]:
        """Starts playing the stream's groups. `engines`: those of the models by name, which are up.

        Returns the versions of the weights that the trained models serve, by name. Errors: UserError for a generator
        that fails; OSError; RayError if a model does not say its version.
        """
        self._plan = replace(self._plan, engines=dict(engines))
        metrics = RunMetrics(self._recorder, self._plan.config.environment.id)
        state = await asyncio.to_thread(read_state, self._directory, self._source, self._cursor, self._known, metrics)
        self._commits = state.commits
        for problem in self._commits.fences.problems:
            print(printable(f"journal: {problem}"), file=sys.stderr, flush=True)
        await self._restore_groups(state)
        without = state.finished | state.begun | self._known | set(self._cursor.beyond)
        self._supply = Supply(self._source, self._cursor.next, without, self._wake)
        self._replace(self._cursor.flat + len(self._known_flat | self._outbox.flat))
        self._evaluations = Evaluations(self._plan, self._recorder)
        self._commits.dispatcher.source = self._next_group
        self._commits.on_committed = self._on_committed
        self._driver = self._make_driver()
        self._driver.told_versions = self._outbox.versions
        self._served = await asyncio.to_thread(ServedVersions, {name: engines[name] for name in self._plan.trained})
        versions = await self._note_versions(await self._served.ask())
        works = (self._drive(), self._supply.fill(), self._follow_versions())
        self._tasks = [asyncio.create_task(self._run_task(work)) for work in works]
        return versions

    async def _restore_groups(self, state: StreamState) -> None:
        """Puts the groups that an earlier host has begun or finished into the window and the outbox.

        Errors: OSError.
        """
        window = self._setup.options.window(self._setup.config)
        options, section = self._setup.options, self._setup.config.groups
        gives_tokens = any(self._plan.gives_tokens[name] for name in self._plan.trained)
        self._streaks = Streaks(
            options.max_barren_groups, section.max_without_spread, gives_tokens, options.max_open(self._setup.config)
        )
        queue, drops_flat = GroupQueue(self._cursor.commit), section.spread != "keep"
        self._outbox = Outbox(
            options, window, self._setup.versions, self._dropped, queue, drops_flat, self._make_ranks()
        )
        self._playing |= state.begun
        for number in sorted(state.begun | state.finished):
            window.begin(number)
        for commit, groups in sorted(state.files.items()):
            await self._note_rates(groups)
            await self._outbox.put(commit, groups)

    def _make_ranks(self) -> Ranks | None:
        """Makes the ranks that share the stream; None if one process takes all groups."""
        return None

    def _make_driver(self) -> Driver:
        """Makes the driver, which leases no more episodes at once than open groups have."""
        setup = setup_of(self._plan, self._directory)
        most = self._outbox.window.max_open * self._source.repeats
        fanout = setup.fanout.model_copy(update={"concurrency": min(setup.fanout.concurrency, most)})
        output = setup.output
        if "roll_s" not in output.model_fields_set:
            output = output.model_copy(update={"roll_s": ROLL_S})
        setup = replace(setup, fanout=fanout, output=output)
        wait_s = self._setup.options.wait_s or 0
        return Driver(setup, self._directory, self._commits, self._stopping, open_ended=True, wait_s=wait_s)

    async def close(self) -> dict[str, Any]:
        """Stops playing, and returns the content of summary.json; an empty one if playing was not started.

        Unfinished episodes can be resumed.

        Errors: RunFailed, OSError.
        """
        self._stopping.set()
        self._notify()
        try:
            return await self._end() if self._tasks else {}
        finally:
            if self._is_open:
                await asyncio.to_thread(self._directory.close)

    async def _end(self) -> dict[str, Any]:
        """Waits until all tasks have ended, and writes and returns the summary. Errors: RunFailed, OSError."""
        _, *others = self._tasks
        for task in others:
            task.cancel()
        await asyncio.wait(self._tasks)
        await self._evaluations.end()
        failure = str(self._failure) if self._failure else None
        outcome = Outcome(self._commits.tally, interrupted=not self._is_over, failure=failure)
        summary = {**summary_of(self._plan, self._directory.name, outcome), "stream": self._status()}
        await asyncio.to_thread(self._directory.write_summary, summary)
        return summary

    # ---- calls of the trainer ----

    async def next(self, versions: Versions, rank: int = 0) -> Delivery:
        """Notes the versions of the weights, waits for the next group of a rank, and delivers it.

        The delivery has no group if all were delivered, or the host is being closed. Errors: RunFailed or UserError if
        no group can be played any more; OSError.
        """
        await self.advance(versions)
        before = self._times_left(rank)
        while True:
            changed = self._changed
            await self._check_versions()
            if self._failure is not None:
                raise self._failure
            has_left = self._times_left(rank) > before  # then nobody hears the answer
            group = None if has_left else self._outbox.take(rank)
            if group is not None or has_left or self._is_over or self._stopping.is_set():
                dropped = self._outbox.take_dropped()
                flat = frozenset(self._outbox.flat.intersection(dropped))
                return Delivery(group, dropped, flat, self._outbox.versions)
            await changed.wait()

    def _times_left(self, rank: int) -> int:
        """Returns how often a rank has left the stream."""
        return 0

    async def acknowledge(self, numbers: Sequence[int], versions: Versions) -> None:
        """Notes that the trainer has acknowledged groups, and the versions of the weights.

        Numbers of groups that are not delivered, or are acknowledged already, are ignored. Errors: OSError.
        """
        self._outbox.acknowledge(numbers)
        await self.advance(versions)
        self._wake()

    async def refuse(self, number: int, versions: Versions) -> None:
        """Notes the versions of the weights, and drops a delivered group that the trainer refuses as too old for them.

        The number of any other group is ignored. Errors: OSError.
        """
        await self.advance(versions)
        await self._outbox.refuse(number)
        await self._note_lost()
        self._wake()

    async def advance(self, versions: Versions) -> None:
        """Notes newer versions of the weights, and drops the groups that are too old for them.

        A version that is not newer is ignored. Errors: OSError.
        """
        newer = self._outbox.versions.merge(versions)
        if newer != self._outbox.versions:
            for model in self._plan.trained:
                self._commits.metrics.tell_version(model, newer[model])
            self._driver.told_versions = newer
            await self._outbox.advance(newer)
            await self._note_lost()
            self._wake()

    async def evaluate(self, config: RunConfig, config_file: Path, first: bool) -> dict[str, Any]:
        """Plays an evaluation on the stream's models and returns its summary.

        `first`: True gives it priority over the stream's groups. Errors: UserError for a mistake in the config;
        RunFailed if it fails, or the stream is closed meanwhile; OSError.
        """
        try:
            return await self._evaluations.play(config, config_file, first)
        finally:
            self._wake()

    async def remove_before(self, cursor: Cursor) -> int:
        """Deletes the files whose groups are all settled at a cursor, and returns the number of files.

        Errors: UserError for another stream's cursor; OSError.
        """
        self._identity, removed = await asyncio.to_thread(
            remove_before, cursor, self._identity, self._directory, self._dropped
        )
        return removed

    async def troubles(self) -> str:
        """Returns what is wrong with workers (`Tally.troubles`), in lines; "" if nothing is."""
        return self._commits.tally.troubles

    async def evaluation_troubles(self) -> str:
        """Returns what is wrong with workers of evaluations, in lines; "" if nothing is."""
        return self._evaluations.troubles

    async def status(self) -> dict[str, Any]:
        """Returns the stream's numbers by name: those of `Outbox.status`, and four more.

        `begun` groups were begun by this host; `playing` ones are in no committed file yet. `held_for` is the number of
        waiting evaluation episodes for which no group begins. `surplus` episodes were cut off, since their groups had
        enough others (`groups.extra`).
        """
        return self._status()

    def _status(self) -> dict[str, Any]:
        counts = {"begun": self._begun, "playing": len(self._playing), "held_for": self._evaluations.held_for}
        counts["surplus"] = self._commits.tally.by_status["cancelled"]
        return {**counts, **self._outbox.status(), **(self._rounds.status() if self._rounds else {})}

    # ---- the weights ----

    async def _check_versions(self) -> dict[str, int]:
        """Asks which versions of the weights the trained models serve now, notes and returns them by the model's name.

        The result is empty if they don't answer in time. Errors: OSError.
        """
        return await self._note_versions(await self._served.look())

    async def _note_versions(self, versions: dict[str, int]) -> dict[str, int]:
        """Notes the versions that the trained models serve now, by name, and returns them. Errors: OSError."""
        for model, version in versions.items():
            self._commits.metrics.tell_version(model, version)
        if versions:
            await self.advance(Versions(0, versions))
        return versions

    async def _follow_versions(self) -> None:
        """Checks the versions of the weights every LOOK_S seconds. Errors: OSError."""
        while True:
            await asyncio.sleep(LOOK_S)
            await self._check_versions()

    # ---- the fan-out ----

    @property
    def _is_over(self) -> bool:
        """Says whether all groups of the stream were played."""
        return self._supply.is_exhausted and not self._playing

    def _next_group(self) -> LeaseGroup | None:
        """Returns the group that the dispatcher leases next; the group counts as begun from now on.

        None means that no group is ready, the window has no room, or an evaluation has priority.
        """
        if not self._outbox.window.has_room or self._evaluations.held_for:
            return None
        taken = self._supply.take()
        if taken is None:
            return None
        number, group = taken
        self._outbox.window.begin(number)
        self._playing.add(number)
        self._begun += 1
        self._commits.tally.total += len(group)
        return group

    async def _on_committed(self, _: Sequence[str], file: str) -> None:
        """Puts the groups of a committed file into the outbox. Errors: OSError."""
        groups = await asyncio.to_thread(groups_of, self._directory.storage, file)
        before = len(self._outbox.flat)
        await self._note_rates(groups)  # before the trainer gets them, so that no restart forgets it
        await self._outbox.put(commit_of(file) or 0, groups)
        await self._note_lost()
        try:
            for group in groups:
                is_too_old = self._outbox.options.is_too_old(group, self._outbox.versions)
                self._streaks.note(group, group.number in self._outbox.flat, is_too_old)
        except RunFailed as error:
            self._fail(error)
        self._replace(len(self._outbox.flat) - before)  # before they are over, which may be the end of the stream
        self._playing.difference_update(group.number for group in groups)
        self._notify()

    async def _note_rates(self, groups: Sequence[FinishedGroup]) -> None:
        """Tells the sampler how finished groups did. Errors: OSError."""
        if self._rounds is not None:
            for group in groups:
                self._rounds.measure(group.number, group.mean_reward)
            await asyncio.to_thread(self._rounds.keep)

    async def _note_lost(self) -> None:
        """Tells the sampler which groups were dropped as stale since the last time. Errors: OSError."""
        lost, self._outbox.stale = self._outbox.stale, set()
        if self._rounds is not None and lost:
            for number in lost:
                self._rounds.lose(number)
            await asyncio.to_thread(self._rounds.keep)

    def _replace(self, flat: int) -> None:
        """Lets new groups take the place of groups that were dropped for want of spread, if the config says so."""
        if self._setup.config.groups.spread == "replace":
            self._supply.replace(flat)

    async def _drive(self) -> None:
        """Runs the driver until it ends. Errors: RunFailed, UserError, OSError."""
        async with beating(self._recorder, "driver", RayExport()):
            outcome = await self._driver.run()
        if outcome.failure:
            raise RunFailed(outcome.failure)

    async def _run_task(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs one of the host's tasks. If it fails, the stream stops, and the trainer gets the error."""
        try:
            await work
        except (UserError, RunFailed) as error:
            self._fail(error)
        except Exception as error:
            self._fail(RunFailed(f"the stream's host failed: {describe(error)}"))
        self._notify()

    def _fail(self, error: Exception) -> None:
        """Stops the stream. The first error is kept for the trainer."""
        self._failure = self._failure or error
        self._stopping.set()

    def _wake(self) -> None:
        """Wakes the driver, which may lease a group now, and the calls that wait for a group."""
        self._driver.wake()
        self._notify()

    def _notify(self) -> None:
        """Wakes the calls that wait for a group."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
