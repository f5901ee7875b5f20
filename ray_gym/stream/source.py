"""Makes the groups that a stream plays, each from its number, shortly before they begin.

The ids of a group and of its episodes begin with the group's number, so rows and journal records name their group.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import xxhash

from ray_gym.config.sections import RunConfig
from ray_gym.data.tasks import TaskRow, generate_task, read_tasks
from ray_gym.environment import Environment
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.load_object import load_object
from ray_gym.run.lease import Lease, LeaseGroup
from ray_gym.seeds import derive_seed, stable_id
from ray_gym.stream.sampler import Sampler
from ray_gym.task import task_json

logger = logging.getLogger(__name__)

AHEAD = 64
"""Number of groups that are ready before they begin."""
AT_ONCE = 4
"""Number of groups that are made together, before the first of them can begin."""


class Supply:
    """A supply holds groups that are ready to begin, and is filled up again as they are taken."""

    def __init__(self, source: GroupSource, first: int, without: Iterable[int], on_more: Callable[[], None]) -> None:
        """Supplies the groups from number `first` on, without the numbers in `without`.

        `on_more` is called whenever new groups are ready.
        """
        self._source = source
        self._number = first
        self._without = set(without)
        self._on_more = on_more
        self._ready: deque[tuple[int, LeaseGroup]] = deque()
        self._wanted = asyncio.Event()
        self._is_making = False
        self.replaced = 0
        """Number of groups that were made in place of others, beyond the end of the source."""

    @property
    def is_exhausted(self) -> bool:
        """Says whether all groups were made and taken."""
        return self._all_made and not self._is_making and not self._ready

    @property
    def _all_made(self) -> bool:
        return self._source.end is not None and self._number >= self._source.end + self.replaced

    def take(self) -> tuple[int, LeaseGroup] | None:
        """Takes the next group, and returns its number and the group; None if no group is ready."""
        self._wanted.set()
        return self._ready.popleft() if self._ready else None

    def replace(self, count: int) -> None:
        """Makes `count` groups more than the source has, each of a new task."""
        self.replaced += count
        self._wanted.set()

    async def fill(self) -> None:
        """Makes groups until it is cancelled. It waits while AHEAD of them are ready, or all were made.

        Errors: UserError for a generator that fails.
        """
        while True:
            self._wanted.clear()
            if len(self._ready) < AHEAD and not self._all_made:
                self._is_making = True
                made = await asyncio.to_thread(self._make, AT_ONCE)
                self._ready.extend(made)
                self._is_making = False
                self._on_more()
            else:
                await self._wanted.wait()

    def _make(self, count: int) -> list[tuple[int, LeaseGroup]]:
        """Makes the next groups: `count`, or fewer at the end. Errors: UserError for a generator that fails."""
        made: list[tuple[int, LeaseGroup]] = []
        while len(made) < count and not self._all_made:
            number, self._number = self._number, self._number + 1
            if number in self._without:
                self._without.remove(number)
            else:
                made.append((number, tuple(Lease(spec) for spec in self._source.make_group(number))))
        return made


LOOKED_AT = 4
"""Number of generated tasks whose digest identifies a stream."""


def source_of(config: RunConfig, folder: Path, environment: Environment[Any, Any], epochs: int | None) -> GroupSource:
    """Returns the source of the groups that a config's tasks give, read from the file or generated.

    `folder`: folder where relative paths are looked for. `epochs`: number of passes over the tasks (a generator makes
    new ones in each); None: no end. Errors: UserError if the task file is missing, has a bad row, or has no rows.
    """
    section, seed, begun = config.tasks, config.run.seed, config.tasks.repeats + config.groups.extra
    if section.generate is not None:
        epoch = min(section.generate, section.limit or section.generate)
        return GroupSource(environment, seed, begun, epoch, epochs=epochs)
    rows = read_tasks(section, environment, seed, folder)
    for note in rows.notes:
        logger.warning(note)
    return GroupSource(environment, seed, begun, len(rows), tuple(rows), epochs)


def sampler_of(config: RunConfig, source: GroupSource) -> Sampler | None:
    """Returns the sampler that a config asks for; None if it asks for none.

    Errors: UserError if its function of weights can't be imported.
    """
    section = config.tasks.sampler
    if section is None:
        return None
    weigh = None if section.weights is None else load_object(section.weights, "tasks.sampler.weights")
    return Sampler(source.rows, config.run.seed, section, weigh)


def digest_of(source: GroupSource) -> str:
    """Returns a digest of all rows, or of the first generated tasks, which identifies what a stream plays.

    Errors: UserError for a generator that fails.
    """
    hashed = xxhash.xxh3_128()
    if source.rows:
        for row in source.rows:
            hashed.update(f"{row.task_id}\n{row.task}\n".encode())
    else:
        for number in range(LOOKED_AT if source.end is None else min(LOOKED_AT, source.end)):
            hashed.update(source.make_group(number)[0].task.encode())
    return hashed.hexdigest()


_PART = "stream"


@dataclass(frozen=True)
class GroupSource:
    """Makes groups by number. An epoch plays all of `rows` once, in an order of its own.

    Without rows, each group has a new task from the environment's generator, in every epoch.
    """

    environment: Environment[Any, Any]
    seed: int
    """Seed of the run, from which all other seeds are derived."""
    repeats: int
    """Number of episodes that are begun in a group."""
    epoch: int
    """Number of groups in an epoch."""
    rows: tuple[TaskRow, ...] = ()
    """Tasks of a file; empty if tasks are generated."""
    epochs: int | None = None
    """Number of epochs; None: no end."""
    chosen: Callable[[int], int] | None = None
    """Function that returns the index of a group's row by the group's number; None: each row once in an epoch."""

    @property
    def end(self) -> int | None:
        """Returns the number of all groups; None if there is no end."""
        return None if self.epochs is None else self.epochs * self.epoch

    def make_group(self, number: int) -> tuple[EpisodeSpec, ...]:
        """Makes a group by its number, and returns the specs of its episodes. Blocks, since a generator may take long.

        Errors: UserError for a generator that fails.
        """
        row = self._row(number) if self.rows else self._generate(number)
        group_id = f"{number}-{stable_id(self.seed, _PART, number, row.task_id)[:16]}"
        return tuple(
            EpisodeSpec(
                episode_id=f"{group_id}-{repeat}",
                group_id=group_id,
                task_id=row.task_id,
                repeat=repeat,
                seed=derive_seed(self.seed, _PART, number, row.task_id, repeat),
                task=row.task,
            )
            for repeat in range(self.repeats)
        )

    def _row(self, number: int) -> TaskRow:
        """Returns the row of a group's task."""
        if self.chosen is not None:
            return self.rows[self.chosen(number)]
        epoch, place = divmod(number, self.epoch)
        return self.rows[_order(self.seed, epoch, len(self.rows))[place]]

    def _generate(self, number: int) -> TaskRow:
        """Generates and checks a group's task. Errors: UserError if the generator fails, or makes a wrong task."""
        task = generate_task(self.environment, self.seed, number)
        text = task_json(task)
        return TaskRow(task.task_id or stable_id(text), text)


def number_of(an_id: str) -> int:
    """Returns the number of a group from its id or an episode's id.

    Errors: ValueError for an id that no stream made.
    """
    number = an_id.partition("-")[0]
    if not (number.isascii() and number.isdigit()):
        raise ValueError(f"{an_id!r} is no id of a stream's")
    return int(number)


@lru_cache(maxsize=2)
def _order(seed: int, epoch: int, count: int) -> list[int]:
    """Returns the order of the rows in an epoch, as their indices."""
    order = list(range(count))
    random.Random(derive_seed(seed, "epoch", epoch)).shuffle(order)
    return order
