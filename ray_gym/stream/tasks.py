"""From the section `tasks` of a config to an endless source of groups. Blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import xxhash

from ray_gym.config import RunConfig
from ray_gym.environment import Environment
from ray_gym.stream.source import GroupSource
from ray_gym.tasks import read_tasks

LOOKED_AT = 4
"""Generated tasks by which a stream is known again."""


def source_of(config: RunConfig, folder: Path, environment: Environment[Any, Any], epochs: int | None) -> GroupSource:
    """Errors: UserError for a missing file, a bad row, a generator that fails at once."""
    section, seed = config.tasks, config.run.seed
    if section.generate is not None:
        epoch = min(section.generate, section.limit or section.generate)
        return GroupSource(environment, seed, section.repeats, epoch, epochs=epochs)
    rows = tuple(read_tasks(section, environment, seed, folder))
    return GroupSource(environment, seed, section.repeats, len(rows), rows, epochs)


def digest_of(source: GroupSource) -> str:
    """Of all rows, or of the first generated tasks. Errors: UserError."""
    hashed = xxhash.xxh3_128()
    if source.rows:
        for row in source.rows:
            hashed.update(f"{row.task_id}\n{row.task}\n".encode())
    else:
        for number in range(LOOKED_AT if source.end is None else min(LOOKED_AT, source.end)):
            hashed.update(source.group(number)[0].task.encode())
    return hashed.hexdigest()
