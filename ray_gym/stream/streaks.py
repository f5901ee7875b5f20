"""Counts groups in a row that a trainer has nothing from, and ends a stream that has become useless."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ray_gym.errors import RunFailed
from ray_gym.stream.group import FinishedGroup


@dataclass(slots=True)
class Streaks:
    """Counts how many groups in a row had nothing to train on, and how many had no spread."""

    max_barren: int | None
    """Most groups in a row without a trainable sample; None: no limit."""
    max_flat: int | None
    """Most groups in a row that are left out for want of spread; None: no limit."""
    gives_tokens: bool
    """False if no trained model gives token ids, so that no group has samples."""
    max_open: int = 0
    """Most groups that are open at once. All of them may be too old, after a trainer that has made many steps."""
    barren: int = 0
    flat: int = 0
    stale: int = 0

    def note(self, group: FinishedGroup, is_left_out: bool, is_too_old: bool = False) -> None:
        """Notes a finished group. `is_left_out`: True if it is dropped for want of spread. `is_too_old`: True if none of
        its tokens is new enough to be trained on.

        Errors: RunFailed if more groups in a row than allowed are of no use.
        """
        has_something = group.trainable if self.gives_tokens else group.completed
        self.barren = 0 if has_something else self.barren + 1
        self.stale = self.stale + 1 if is_too_old else 0
        if self.max_barren is not None and self.stale > self.max_barren + self.max_open:
            raise RunFailed(
                f"{self.stale} groups in a row had no token that is new enough to train on (max_staleness): the last one's "
                f"are of {_told(group.newest)}; update the weights of the models that play, or tell `advance` only of "
                "weights that they have"
            )
        if is_left_out:
            self.flat += 1
        elif group.completed:
            self.flat = 0
        if self.max_barren is not None and self.barren > self.max_barren:
            why = (
                f"most often: {group.failure}"
                if group.failure
                else "their episodes completed without a generated token"
            )
            raise RunFailed(f"{self.barren} groups in a row had no trainable sample (max_barren_groups); {why}")
        if self.max_flat is not None and self.flat > self.max_flat:
            raise RunFailed(
                f"{self.flat} groups in a row had no spread (groups.max_without_spread): all episodes of a group have the same "
                f"reward, in the last one {group.mean_reward:g}; take tasks that are neither so easy nor so hard, or raise the "
                "temperature or tasks.repeats"
            )


def _told(versions: Mapping[str, int]) -> str:
    return ", ".join(f"version {version} ({model})" for model, version in versions.items())
