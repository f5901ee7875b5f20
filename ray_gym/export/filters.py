"""Filters the episodes of a run before a form sees them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ray_gym.errors import UserError
from ray_gym.export.finished import Row
from ray_gym.export.selection import Counts
from ray_gym.record.bounds import Bound
from ray_gym.run.directory.notes import Notes
from ray_gym.run.directory.reading import Run

STATUSES = ("completed", "failed", "dropped", "cancelled")
"""Values of the column `status`."""
TRAINABLE = "samples.list.element.trainable"
"""Path of the Parquet column that says which samples a trainer can use."""

NOT_LABELLED = "episodes without such a label"
"""Reason for which an episode is left out."""
NOT_TRAINABLE = "episodes without a sample that a trainer can use"
"""Reason for which an episode is left out."""


@dataclass(frozen=True, slots=True)
class Filters:
    """Says which episodes of a run are exported. Without a condition, all are."""

    statuses: Collection[str] = ()
    """Statuses of which an episode has to have one; () for any."""
    rewards: Collection[Bound] = ()
    """Bounds that the reward has to be within, all of them."""
    trainable: bool = False
    """True to take only episodes with a sample that a trainer can use."""
    labelled: Collection[str] | None = None
    """Ids of the episodes whose notes have one of the labels that were asked for; None if none was."""

    def columns(self, of_form: Collection[str]) -> list[str]:
        """Returns the columns that are read for a form with the columns `of_form`, and to filter."""
        more = ["status"] * bool(self.statuses) + ["reward"] * bool(self.rewards)
        more += ["episode_id"] * (self.labelled is not None)
        more += [TRAINABLE] * (self.trainable and "samples" not in of_form)
        return [*of_form, *(name for name in more if name not in of_form)]

    def kept(self, groups: Iterable[list[Row]], counts: Counts) -> Iterator[list[Row]]:
        """Yields the groups with the rows that are exported, without the groups of which none is. Counts all rows, and
        those that are left out by reason, in `counts`.
        """
        for group in groups:
            rows = []
            for row in group:
                counts.episodes += 1
                if (reason := self._reason(row)) is None:
                    rows.append(row)
                else:
                    counts.left_out[reason] += 1
            if rows:
                yield rows

    def _reason(self, row: Row) -> str | None:
        """Returns the reason for which a row is left out; None if it is not."""
        if self.statuses and row["status"] not in self.statuses:
            return f"episodes with the status {row['status']}"
        if self.rewards and row["reward"] is None:
            return "episodes that have no reward"
        for bound in self.rewards:
            if not bound.allows(row["reward"]):
                return f"episodes whose reward is not {bound}"
        if self.labelled is not None and row["episode_id"] not in self.labelled:
            return NOT_LABELLED
        if self.trainable and not any(sample["trainable"] for sample in row["samples"]):
            return NOT_TRAINABLE
        return None


EVERYTHING = Filters()
"""Filters without a condition."""


def check_statuses(statuses: Collection[str]) -> None:
    """Checks the names of statuses. Errors: UserError that lists the known ones."""
    for status in statuses:
        if status not in STATUSES:
            raise UserError(f"--status: there is no status {status!r}; known: {', '.join(STATUSES)}")


def labelled(run: Run, labels: Collection[str]) -> frozenset[str] | None:
    """Returns the ids of a run's episodes whose notes have one of the labels; None without labels. Errors: UserError
    for a label that no episode has, which lists those that there are, and for a damaged file of notes.
    """
    if not labels:
        return None
    notes = Notes(run.storage).read()
    by_label: Mapping[str, list[str]] = {
        label: [episode for episode, note in notes.items() if label in note.labels]
        for label in sorted({label for note in notes.values() for label in note.labels})
    }
    for label in labels:
        if label not in by_label:
            known = ", ".join(by_label) or "none"
            raise UserError(f"--label: no episode of {run.location} has the label {label!r}; labels there: {known}")
    return frozenset(episode for label in labels for episode in by_label[label])
