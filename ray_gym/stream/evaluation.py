"""Plays evaluations beside a stream, as runs of their own on the stream's models.

An evaluation with priority holds the stream back: once its first worker is up, no group of the stream begins while an
episode of the evaluation waits for a worker. Groups that began before continue, and share the models.
"""

from __future__ import annotations

import asyncio
import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ray_gym.config.sections import RunConfig
from ray_gym.errors import RunFailed, UserError
from ray_gym.metrics.recorder import Recorder
from ray_gym.models.base import Engine
from ray_gym.run.directory.directory import CONFIG, RunDirectory, begin, output_root, plan_directory, reopen
from ray_gym.run.directory.location import child_of, storage_at
from ray_gym.run.driver.carrying_out import drive, load_commits, summary_of
from ray_gym.run.driver.commits import Commits
from ray_gym.run.fingerprint import Fingerprint
from ray_gym.run.plan import Plan, check_plan, tasks_of
from ray_gym.run.resume import meaning_diff


@dataclass(frozen=True, slots=True)
class Playing:
    """Describes an evaluation that is being played. `first`: True if it has priority."""

    name: str
    commits: Commits
    first: bool


class Evaluations:
    """Plays evaluations on a stream's models. Several may be played at once."""

    def __init__(self, stream: Plan, recorder: Recorder) -> None:
        """Takes the plan of the stream, whose models are up."""
        self._stream = stream
        self._recorder = recorder
        self._playing: list[Playing] = []
        self._stopping: set[asyncio.Event] = set()
        self._done = asyncio.Condition()

    @property
    def held_for(self) -> int:
        """Returns the number of episodes for which the stream's groups are held back.

        These are the episodes of evaluations with priority that wait for a worker. Evaluations whose first worker is
        not up yet don't count.
        """
        tallied = [one.commits for one in self._playing if one.first]
        return sum(commits.dispatcher.waiting for commits in tallied if commits.tally.began)

    @property
    def troubles(self) -> str:
        """Returns what is wrong with workers of evaluations (`Tally.troubles`), in lines; "" if nothing is."""
        told = [(one.name, one.commits.tally.troubles) for one in self._playing]
        return "\n".join(f"evaluation {name}: {line}" for name, troubles in told for line in troubles.splitlines())

    async def play(self, config: RunConfig, config_file: Path, first: bool) -> dict[str, Any]:
        """Plays an evaluation and returns its summary. An interrupted evaluation of the same name is resumed.

        `first`: True gives it priority over the stream's groups. Errors: UserError for a mistake in the config;
        RunFailed if it fails or is stopped; OSError.
        """
        stopping = asyncio.Event()
        self._stopping.add(stopping)
        try:
            plan = await asyncio.to_thread(self._plan, config, config_file)
            directory = await asyncio.to_thread(_open_directory, plan, config_file)
            try:
                return await self._play(plan, directory, stopping, first)
            finally:
                await asyncio.to_thread(directory.close)
        finally:
            self._stopping.remove(stopping)
            async with self._done:
                self._done.notify_all()

    async def end(self) -> None:
        """Stops all evaluations and waits for them. Each can be resumed under its name."""
        for stopping in self._stopping:
            stopping.set()
        async with self._done:
            await self._done.wait_for(lambda: not self._stopping)

    async def _play(self, plan: Plan, directory: RunDirectory, stopping: asyncio.Event, first: bool) -> dict[str, Any]:
        """Plays an evaluation in its open directory and returns its summary. `first`: True if it has priority.

        Errors: RunFailed, also if the evaluation was stopped; UserError, OSError.
        """
        commits = await asyncio.to_thread(load_commits, plan, directory, lambda tally, in_flight: None, self._recorder)
        self._playing.append(played := Playing(directory.name, commits, first))
        try:
            outcome = await drive(plan, directory, commits, stopping)
        finally:
            self._playing.remove(played)
        summary = {**summary_of(plan, directory.name, outcome), "location": directory.location}
        await asyncio.to_thread(directory.write_summary, summary)
        if outcome.failure or outcome.interrupted:
            reason = outcome.failure or "it was stopped with its stream"
            raise RunFailed(f"evaluation {directory.name}: {reason}; what was finished is in {directory.location}")
        return summary

    def _plan(self, config: RunConfig, config_file: Path) -> Plan:
        """Makes and checks the plan of an evaluation.

        Errors: UserError for a mistake in its config, tasks or models.
        """
        file = str(config_file)
        plan = Plan.of(
            config,
            file,
            tasks=tasks_of(config, config_file.parent),
            engines=lambda name: self._engine(name, config, file),
        )
        return check_plan(plan, file)

    def _engine(self, name: str, config: RunConfig, file: str) -> Engine:
        """Returns a copy of the stream's engine for a model, since a check may change the engine.

        Errors: UserError for a model that the stream does not have, or whose section differs from the stream's.
        """
        engine = self._stream.engines.get(name)
        if engine is None:
            raise UserError(
                f"{file}: models.{name}: the stream has no such model up; it has {', '.join(self._stream.engines)}"
            )
        if config.models[name] != self._stream.config.models[name]:
            raise UserError(
                f"{file}: models.{name}: it is another one than the stream's; make the sections equal, or name it otherwise"
            )
        return copy.copy(engine)


def _open_directory(plan: Plan, config_file: Path) -> RunDirectory:
    """Makes the directory of an evaluation, or opens it if there is one of this name.

    Errors: UserError if that one plays something else; RunFailed, OSError.
    """
    config = plan.config
    there = child_of(output_root(config), str(config.run.name))
    if not storage_at(there).exists(CONFIG):
        directory = plan_directory(config, config_file)
        begin(directory, config, Fingerprint.of(plan, config_file.parent))
        return directory
    directory = reopen(there, config.output)
    try:
        if differences := meaning_diff(directory.read_config(), config):
            raise UserError(f"evaluation: {there} plays something else: {'; '.join(differences)}; choose another name")
        if (began := directory.read_fingerprint()) is not None:
            began.check(Fingerprint.of(plan), there, config.tasks.path or "the generator")
    except BaseException:
        directory.close()
        raise
    return directory
