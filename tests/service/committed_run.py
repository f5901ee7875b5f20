"""Commits files to a run directory as a driver does, for those who read one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ray_gym.episode.spec import EpisodeSpec
from ray_gym.record.schema import as_table, failed_row
from ray_gym.run.directory.commit_order import name_when_committed
from ray_gym.run.directory.posix_storage import PosixStorage
from ray_gym.service.pages import read_episodes, read_groups


def row(episode_id: str, group_id: str, **changes: Any) -> dict[str, Any]:
    return {**failed_row(EpisodeSpec(episode_id, group_id, f"t-{group_id}", 0, 0, "{}"), "run", "env", "x"), **changes}


class CommittedRun:
    def __init__(self, path: Path) -> None:
        self.location = str(path)
        made = PosixStorage.of(path)
        made.create()
        self.storage = made.begin_epoch(1)
        self.commits = 0

    def commit(self, *groups: Sequence[str]) -> None:
        """Groups of episode ids; a group's id is that of its first episode."""
        self.commit_rows([row(episode_id, group[0]) for group in groups for episode_id in group])

    def commit_rows(self, rows: list[dict[str, Any]]) -> None:
        self.commits += 1
        self.storage.stage("part-1-0-00000.parquet", as_table(rows))
        self.storage.publish("part-1-0-00000.parquet", name_when_committed(self.commits, "part-1-0-00000.parquet"))

    def file_of(self, commit: int) -> Path:
        return Path(self.location) / "episodes" / name_when_committed(commit, "part-1-0-00000.parquet")

    def ids(self, cursor: str | None, limit: int) -> list[str]:
        return [one.row["episode_id"] for one in read_episodes(self.location, cursor, limit)]

    def groups(self, cursor: str | None, limit: int) -> list[tuple[str, list[str]]]:
        found = read_groups(self.location, cursor, limit)
        return [(one.cursor, [episode["episode_id"] for episode in one.episodes]) for one in found]
