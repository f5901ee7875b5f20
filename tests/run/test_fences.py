"""What a resumed run takes over from the journals of the driver before it."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ray_gym.episode import EpisodeSpec
from ray_gym.journal.journal import Journal
from ray_gym.journal.records import Begun, Called
from ray_gym.run.fences import Fences

SPECS = {"e": EpisodeSpec("e", "g", "t", 0, 1, "{}")}


def write(folder: Path, worker: str, attempt: int, seq: int, *adopted: str) -> None:
    journal = Journal(folder / f"{worker}.journal", "run", flush=False)
    journal.append(Begun("e", 0, attempt, 1.0, adopted))
    journal.append(Called("e", 0, attempt, seq, seq, "policy", seq, b"", 0.0, 0.0, 0.0, msgspec.Raw(b"\xc0")))
    journal.close()


def test_the_newest_attempt_counts_whichever_worker_made_it(tmp_path: Path) -> None:
    """Worker 1-3 was lost, and 1-1, which began before it, went on with its episode."""
    write(tmp_path, "1-3", 0, 0)
    fences = Fences(tmp_path, "run")
    lost = fences.lost("1-3")
    assert lost is not None
    write(tmp_path, "1-1", 1, 1, lost.name)
    lease = Fences(tmp_path, "run").begun(SPECS)["e"]
    assert lease.spec.attempt == 2
    assert lease.adopted[0] == lost.name and [name.partition(".")[0] for name in lease.adopted] == ["1-3", "1-1"]
