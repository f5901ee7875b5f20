"""Whether a trainer that was killed missed or repeated anything, from its last checkpoint and the stream's directory alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from benchmarks.trainer_stream.checkpoint import Checkpoint
from ray_gym.load import load
from ray_gym.stream.cursor import Cursor


@dataclass(frozen=True, slots=True)
class Verdict:
    consumed: int
    dropped: int
    missed: list[int]
    """Settled by the cursor, but neither trained on nor dropped."""
    repeated: list[int]
    """Trained on twice, or trained on and dropped."""
    twice_committed: int
    stalest: int

    @property
    def is_good(self) -> bool:
        return not (self.missed or self.repeated or self.twice_committed)


def judge(folder: Path) -> Verdict:
    saved = Checkpoint.load(folder)
    cursor = Cursor.parse(saved.cursor)
    dropped = {int(path.stem) for path in (folder / "stream" / "dropped").glob("*.json")}
    times = Counter(saved.consumed)
    times.update(dropped)
    settled = [*range(cursor.next), *cursor.beyond]
    episodes = load(folder / "stream").episodes.column("episode_id").to_pylist()
    return Verdict(
        consumed=len(saved.consumed),
        dropped=len(dropped),
        missed=[number for number in settled if not times[number]],
        repeated=[number for number, count in times.items() if count > 1],
        twice_committed=len(episodes) - len(set(episodes)),
        stalest=saved.stalest,
    )
