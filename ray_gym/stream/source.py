"""What a stream plays: groups without an end, by their number. A group is made when it is begun, so nobody holds a million of them.

The ids of a group and of its episodes begin with its number: whoever has a row, or a record of a journal, knows which group it is of.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ray_gym.data.checking import unplayable
from ray_gym.environment import Environment
from ray_gym.errors import UserError, describe
from ray_gym.seeds import derive_seed, stable_id
from ray_gym.spec import EpisodeSpec
from ray_gym.tasks import TaskRow

_PART = "stream"


@dataclass(frozen=True)
class GroupSource:
    """Epochs over `rows`, each in another order; without rows, one new task after another from the environment's generator."""

    environment: Environment[Any, Any]
    seed: int
    repeats: int
    epoch: int
    """How many groups an epoch has."""
    rows: tuple[TaskRow, ...] = ()
    epochs: int | None = None
    """None: it never ends."""

    @property
    def end(self) -> int | None:
        """The first number that there is no group of."""
        return None if self.epochs is None else self.epochs * self.epoch

    def group(self, number: int) -> tuple[EpisodeSpec, ...]:
        """Blocks: a generator may take its time. Errors: UserError for one that fails."""
        row = self._row(number) if self.rows else self._generated(number)
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
        epoch, place = divmod(number, self.epoch)
        return self.rows[_order(self.seed, epoch, len(self.rows))[place]]

    def _generated(self, number: int) -> TaskRow:
        """Errors: UserError."""
        try:
            task = self.environment.generate(random.Random(derive_seed(self.seed, "task", number)), number)
        except NotImplementedError as error:
            raise UserError(f"tasks.generate: {error}") from None
        except Exception as error:
            raise UserError(f"tasks.generate: the generator failed on task {number}: {describe(error)}") from error
        for problem in unplayable(task, self.environment):
            raise UserError(f"generated task {number}: {problem}")
        text = task.model_dump_json()
        return TaskRow(task.task_id or stable_id(text), text)


def number_of(an_id: str) -> int:
    """Which group a group id or an episode id is of. Errors: ValueError for one that no stream gave."""
    number = an_id.partition("-")[0]
    if not (number.isascii() and number.isdigit()):
        raise ValueError(f"{an_id!r} is no id of a stream's")
    return int(number)


@lru_cache(maxsize=2)
def _order(seed: int, epoch: int, count: int) -> list[int]:
    """Of the rows in an epoch."""
    order = list(range(count))
    random.Random(derive_seed(seed, "epoch", epoch)).shuffle(order)
    return order
