"""Checks that an episode whose worker died goes on from its journal as if nothing had happened, wherever it was cut.

If an environment opens things outside of the worker, they can't be put back to where they were at a cut. For such an
environment, only whole journals are replayed.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ray_gym.check.finding import Finding
from ray_gym.check.scenes import Play, difference
from ray_gym.journal.frames import HEAD, Scan, frame
from ray_gym.journal.history import fence
from ray_gym.journal.journal import Journal
from ray_gym.journal.records import OTHER_CALLS, Called, decode

if TYPE_CHECKING:
    from ray_gym.check.evidence import Evidence

SCENES_A_CAST = 2
"""Number of scenes of each cast that are cut and replayed."""
_RUN = "check"
_MEND = "let what is asked and done depend on the task, the state, the answers and episode.rng/new_id/now alone"


async def look(evidence: Evidence) -> list[Finding]:
    """Cuts the journals of the first scenes of each cast, replays them, and returns up to three findings.

    Errors: WaitsForEver.
    """
    findings: list[Finding] = []
    casts = {play.scene.cast for play in evidence.plays}
    with tempfile.TemporaryDirectory(prefix="ray_gym_check_") as folder:
        for cast in sorted(casts):
            for play in list(evidence.by(cast))[:SCENES_A_CAST]:
                findings += await _cut_and_replay(evidence, play, Path(folder))
    return findings[:3]


async def _cut_and_replay(evidence: Evidence, play: Play, folder: Path) -> list[Finding]:
    """Plays a scene, cuts its journal after the first, the middle and the last answer, and plays it on from there.

    It returns one finding for the first cut after which the episode goes another way, else none. Errors: WaitsForEver.
    """
    whole = await _attempt(evidence, play, folder, "1-0")
    payloads = [payload for _, payload in Scan((folder / "1-0.journal").read_bytes())]
    (folder / "1-0.journal").unlink()
    is_answer = [isinstance(decode(payload), Called) for payload in payloads]
    total = sum(is_answer)
    name = evidence.subject.environment_class.__name__
    cuts = {total} if evidence.subject.environment_class.opens_outside else {1, total // 2, total}
    for number, answers in enumerate(sorted(cuts & set(range(1, total + 1))), start=1):
        end = [place for place, answer in enumerate(is_answer) if answer][answers - 1] + 1
        torn = folder / f"1-{2 * number}.journal"
        torn.write_bytes(HEAD + b"".join(frame(payload) for payload in payloads[:end]))
        fenced = fence(torn, _RUN).name
        again = await _attempt(evidence, play, folder, f"1-{2 * number + 1}", fenced)
        _clear(folder)
        found = again.played.diverged
        if found is None and answers == total and whole.is_repeatable:
            found = difference(whole.row, again.row)
        elif found is None and whole.played.status == "completed":
            found = difference(_by_thread(whole), _by_thread(again))
        if found is None and total and again.answered > whole.answered - count_model_calls(payloads[:end]):
            found = f"{again.answered} models were called, though {answers} of {total} answers were recorded"
        if found is not None:
            what = f"resumed after {answers} of {total} recorded answers it went another way: {found} ({play.scene})"
            return [Finding(name, what, _MEND)]
    return []


def _by_thread(play: Play) -> dict[str, Any]:
    """Returns a play's record with its events sorted by thread and without their numbers. The order in which threads
    that ran at the same time took turns is only in the journal.
    """
    events = [{key: value for key, value in event.items() if key != "seq"} for event in play.row["events"]]
    return {**play.row, "events": sorted(events, key=lambda event: str(event["thread"]))}


def _clear(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink()


async def _attempt(evidence: Evidence, play: Play, folder: Path, writer: str, *adopted: str) -> Play:
    """Plays a scene with a new journal WRITER.journal, and continues from the answers in the fenced files `adopted`."""
    journal = Journal(folder / f"{writer}.journal", _RUN, flush=False)
    try:
        return await evidence.theatre.play(play.scene, memory=dict(play.memory), journal=journal, adopted=adopted)
    finally:
        journal.close()


def count_model_calls(payloads: list[bytes]) -> int:
    """Returns how many records of a journal hold a model's answer. Effects, tools and work in threads don't count."""
    records = [decode(payload) for payload in payloads]
    return sum(isinstance(one, Called) and not one.thread.startswith(OTHER_CALLS) for one in records)
