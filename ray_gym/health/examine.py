"""Looks through the files of a run for what is suspicious."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import yaml

from ray_gym.errors import UserError, describe
from ray_gym.health.alike import Alike
from ray_gym.health.batch import COLUMNS, Batch
from ray_gym.health.checks import CHECKS, check_range
from ray_gym.health.findings import Finding, findings_of
from ray_gym.health.tally import Tally
from ray_gym.record.versions import read_summary
from ray_gym.run.directory.directory import CONFIG
from ray_gym.run.directory.intact import intact_batches
from ray_gym.run.directory.storage import SUMMARY, Storage

FIRST = 5000
"""Number of episodes that are looked through after a run, which takes about a second."""
ROWS = 1024
"""Most episodes that are examined at once."""


@dataclass(frozen=True, slots=True)
class Health:
    """Says what is suspicious in a run."""

    episodes: int
    findings: list[Finding]
    damaged: list[str]
    """Reasons for which files could not be read, each with the name of its file."""


def examine(storage: Storage, most: int | None = None) -> Health:
    """Looks through all episodes that a run has committed. Blocks: some 20 s for 100,000 episodes of 20 events. Errors:
    OSError.

    `most`: number of episodes after which no further file is opened; None for all.
    """
    tally, alike, episodes, damaged = Tally(), Alike(), 0, list[str]()
    lowest, highest = _range(storage)
    for name in storage.committed():
        if most is not None and episodes >= most:
            break
        for rows in intact_batches(storage, name, COLUMNS, ROWS, damaged):
            batch = Batch(pa.Table.from_batches([rows]))
            check_range(batch, tally, lowest, highest)
            episodes += _examine(batch, tally, alike)
    try:
        are_drawn = _are_drawn(storage)
    except UserError as error:
        are_drawn = True  # as most are: what chance gives is no finding
        damaged.append(str(error))
    alike.tell(tally, are_drawn)
    return Health(episodes, findings_of(tally, episodes), damaged)


def _are_drawn(storage: Storage) -> bool:
    """Says whether a generator drew the run's tasks. Errors: UserError if the config can't be read."""
    try:
        config = yaml.safe_load(storage.read(CONFIG)) if storage.exists(CONFIG) else {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        told = describe(error).partition("\n")[0]
        raise UserError(f"{storage.location}/{CONFIG}: it can't be read: {told}") from None
    try:
        return config["tasks"]["generate"] is not None
    except (KeyError, TypeError):
        return False


def _range(storage: Storage) -> tuple[float, float]:
    """Returns the lowest and the highest reward that the run's environment declares, infinite where the run does not say:
    it has no readable summary.json, or one of an older version.
    """
    try:
        lowest, highest = (
            read_summary(storage.read(SUMMARY))["reward_range"] if storage.exists(SUMMARY) else (None, None)
        )
    except (ValueError, KeyError, TypeError):
        lowest, highest = None, None
    return float("-inf") if lowest is None else lowest, float("inf") if highest is None else highest


def _examine(batch: Batch, tally: Tally, alike: Alike) -> int:
    for check in CHECKS:
        check(batch, tally)
    alike.look(batch)
    return batch.rows
