"""Counts groups in a row that a trainer has nothing from, and ends a stream that has become useless."""

from __future__ import annotations

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
    barren: int = 0
    flat: int = 0

    def note(self, group: FinishedGroup, is_left_out: bool) -> None:
        """Notes a finished group. `is_left_out`: True if it is dropped for want of spread.

        Errors: RunFailed if more groups in a row than allowed are of no use.
        """
        has_something = group.trainable if self.gives_tokens else group.completed
        self.barren = 0 if has_something else self.barren + 1
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
