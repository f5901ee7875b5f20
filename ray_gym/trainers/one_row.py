"""Chooses one token sequence of each episode, for trainers whose batches have exactly as many rows as episodes.

An episode gives its sample; of several samples, where it has forks, the one that is chosen; or none, if it failed or has
no trainable token. All that is left out is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from ray_gym.errors import UserError
from ray_gym.stream import Group
from ray_gym.trainers.rows import Row, rows_of

ForkChoice = Literal["refuse", "longest", "last"]
"""Sample of an episode with forks that is trained on.

"refuse": such an episode ends the training with an error. "longest": the one with most generated tokens, the first of
equals. "last": the newest, which has the whole conversation as the model saw it at last.
"""


def one_row_each(
    group: Group, forks: ForkChoice, longest: int | None, participant: str = "policy"
) -> tuple[list[Row | None], Counter[str]]:
    """Returns the row of each episode of the group, in their order; None for an episode without one.

    `longest`: most tokens of a row; None means no limit. Counts: `groups`, `episodes`, `failed` ones, `silent` ones
    (completed without a trainable token), `too_long` ones, and `forked` ones with `fork_samples` and `fork_tokens`
    (generated ones) that are not trained on. Errors: UserError for a fork under "refuse", and for trainable samples of
    other participants.
    """
    of_episodes: dict[str, list[Row]] = {}
    for row in rows_of(group):
        if row.participant != participant:
            raise UserError(
                f"{row.episode_id}: a sample of {row.participant} is trainable, and this trainer takes one sequence an "
                f"episode, {participant}'s; set participants.{row.participant}.trainable: false"
            )
        of_episodes.setdefault(row.episode_id, []).append(row)
    counts, chosen = Counter[str](groups=1), list[Row | None]()
    ids, statuses = (group.episodes.column(name).to_pylist() for name in ("episode_id", "status"))
    for episode_id, status in zip(ids, statuses, strict=True):
        counts["episodes"] += 1
        row_or_none = _chosen(of_episodes.get(episode_id, []), forks, counts)
        if row_or_none is None:
            counts["silent" if status == "completed" else "failed"] += 1
        elif longest is not None and len(row_or_none.token_ids) > longest:
            counts["too_long"] += 1
            row_or_none = None
        chosen.append(row_or_none)
    return chosen, counts


def _chosen(rows: Sequence[Row], forks: ForkChoice, counts: Counter[str]) -> Row | None:
    """Returns the row of an episode to train on; None if it has none. Counts the others."""
    if len(rows) < 2:
        return rows[0] if rows else None
    if forks == "refuse":
        reasons = ", ".join(str(row.fork_reason) for row in rows[1:])
        raise UserError(
            f"{rows[0].episode_id}: it has {len(rows)} samples ({reasons}), and this trainer takes one sequence an "
            'episode; choose forks="longest" or "last"'
        )
    chosen = rows[-1] if forks == "last" else max(rows, key=lambda row: row.generated)
    counts["forked"] += 1
    counts["fork_samples"] += len(rows) - 1
    counts["fork_tokens"] += sum(row.generated for row in rows if row is not chosen)
    return chosen
