"""Chooses one token sequence of each episode, for trainers whose batches have exactly as many rows as episodes.

An episode gives its sample; of several samples, where it has forks, the one that is chosen; or none, if it failed or has
no trainable token. All that is left out is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from ray_gym.errors import UserError
from ray_gym.stream import Group
from ray_gym.trainers.rows import Row, rows_of

ForkChoice = Literal["refuse", "longest", "last"]
"""Sample of an episode with forks that is trained on.

"refuse": such an episode ends the training with an error. "longest": the one with most generated tokens, the first of
equals. "last": the newest, which has the whole conversation as the model saw it at last.
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """Holds the most tokens of a sequence, and of what comes after its prompt; None means no limit."""

    sequence: int | None = None
    completion: int | None = None

    def allow(self, row: Row) -> bool:
        """Says whether a row is within the limits."""
        tokens = len(row.token_ids)
        too_long = self.sequence is not None and tokens > self.sequence
        return not too_long and (self.completion is None or tokens - row.begins_at <= self.completion)


@dataclass(frozen=True, slots=True)
class OneRow:
    """Says how one row of each episode is chosen."""

    forks: ForkChoice = "refuse"
    limits: Limits = Limits()
    participant: str = "policy"
    otherwise: str = ""
    """Words for the end of a message: another way for episodes with several sequences."""

    def __post_init__(self) -> None:
        """Checks the choice. Errors: UserError for another one."""
        if self.forks not in get_args(ForkChoice):
            raise UserError(f"forks: {self.forks!r}, but it is one of {', '.join(get_args(ForkChoice))}")

    def of(self, group: Group) -> tuple[list[Row | None], Counter[str]]:
        """Returns the row of each episode of the group, in their order; None for an episode without one.

        Counts: `groups`, `episodes`, `failed` ones, `surplus` ones (`groups.extra`), `silent` ones (completed without a
        trainable token), `too_long` ones, and `forked` ones with `fork_samples` and `fork_tokens` (generated ones) that
        are not trained on. Errors: UserError for a fork under "refuse", and for trainable samples of other
        participants.
        """
        of_episodes = self._of_episodes(group)
        counts, chosen = Counter[str](groups=1), list[Row | None]()
        ids, statuses = (group.episodes.column(name).to_pylist() for name in ("episode_id", "status"))
        for episode_id, status in zip(ids, statuses, strict=True):
            counts["episodes"] += 1
            row = self._chosen(of_episodes.get(episode_id, []), counts)
            if row is None:
                counts[_WITHOUT.get(status, "failed")] += 1
            elif not self.limits.allow(row):
                counts["too_long"] += 1
                row = None
            chosen.append(row)
        return chosen, counts

    def _of_episodes(self, group: Group) -> dict[str, list[Row]]:
        found: dict[str, list[Row]] = {}
        for row in rows_of(group):
            if row.participant != self.participant:
                raise UserError(
                    f"{row.episode_id}: a sample of {row.participant} is trainable, and this trainer takes one sequence an "
                    f"episode, {self.participant}'s; set participants.{row.participant}.trainable: false{self.otherwise}"
                )
            found.setdefault(row.episode_id, []).append(row)
        return found

    def _chosen(self, rows: Sequence[Row], counts: Counter[str]) -> Row | None:
        """Returns the row of an episode to train on; None if it has none. Counts the others."""
        if len(rows) < 2:
            return rows[0] if rows else None
        if self.forks == "refuse":
            reasons = ", ".join(str(row.fork_reason) for row in rows[1:])
            raise UserError(
                f"{rows[0].episode_id}: it has {len(rows)} samples ({reasons}), and this trainer takes one sequence an "
                f'episode; choose forks="longest" or "last"{self.otherwise}'
            )
        chosen = rows[-1] if self.forks == "last" else max(rows, key=lambda row: row.generated)
        counts["forked"] += 1
        counts["fork_samples"] += len(rows) - 1
        counts["fork_tokens"] += sum(row.generated for row in rows if row is not chosen)
        return chosen


_WITHOUT = {"completed": "silent", "cancelled": "surplus"}
"""Counts of an episode without a row, by its status."""
