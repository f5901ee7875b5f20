"""Counts the episodes and calls that a disturbed run resumed, replayed, refused and made again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.chaos.compare import Row
from benchmarks.chaos.journals import Recorded, Zombies
from benchmarks.chaos.kills import Kind
from benchmarks.chaos.players import CallKey, FinishedCalls

ENOUGH = 0.9
"""Least share of the calls finished before a kill that were not made again."""


@dataclass(slots=True)
class Disturbed:
    """Holds observations of a run that was disturbed, and its rows."""

    zombies: Zombies
    kills: list[tuple[Kind, float]] = field(default_factory=list)
    """Kinds of the kills and their moments (seconds of `time.time()`)."""
    seen: dict[tuple[str, int, str, int], Recorded] = field(default_factory=dict)
    """Answers that were in a journal right before a kill, by episode, try, thread and number."""
    seconds: float = 0.0
    rows: list[Row] = field(default_factory=list)

    def remember(self, recorded: Sequence[Recorded]) -> None:
        for one in recorded:
            self.seen.setdefault((one.episode, one.try_, one.thread, one.number), one)

    def count(self) -> dict[str, Any]:
        """Returns the counts of the resumed, replayed and refused things, by their names in the command's output."""
        rows = {row["episode_id"]: row for row in self.rows}
        answered = {
            (one.episode, one.thread, one.number)
            for one in self.zombies.adopted
            if (row := rows.get(one.episode)) and one.try_ == row["try"] and one.attempt < row["attempt"]
        }
        return {
            "episodes taken over": sum(row["attempt"] > 0 for row in self.rows),
            "episodes replayed": len({episode for episode, *_ in answered}),
            "calls answered from the journal": len(answered),
            "late bytes refused": sum(self.zombies.late.values()),
            "... in the journals": ", ".join(f"{name} ({late})" for name, late in self.zombies.late.items()) or "none",
            "staged files refused": self.zombies.count_refused_files(),
        }

    def at_stake(self, calls: FinishedCalls) -> dict[CallKey, bool]:
        """Returns the calls that were finished before a kill while their episode was under way.

        A call has the value True if it was made again after the first such kill.
        """
        ended_at = {row["episode_id"]: row["ended_at"] for row in self.rows}
        finished: dict[CallKey, list[float]] = {}
        for call in calls.calls:
            finished.setdefault(call.key, []).append(call.at)
        found: dict[CallKey, bool] = {}
        for key, times in finished.items():
            kills = [at for _, at in self.kills if min(times) < at < ended_at.get(key.episode, 0)]
            if kills:
                found[key] = max(times) > kills[0]
        return found

    def missing_nonces(self) -> tuple[list[str], int]:
        """Returns the nonces (random texts in answers) that a journal held and the episode's row lacks, each with its
        call.

        Also returns the number of nonces that were looked for. Nonces of tries that were given up don't count.
        """
        tries = {row["episode_id"]: row["try"] for row in self.rows}
        texts = {row["episode_id"]: _text_of(row) for row in self.rows}
        wanted = [one for one in self.seen.values() if one.try_ == tries.get(one.episode)]
        missing = [
            f"{nonce} (episode {one.episode}, thread {one.thread}, call {one.number})"
            for one in wanted
            for nonce in one.nonces
            if nonce not in texts[one.episode]
        ]
        return missing, sum(len(one.nonces) for one in wanted)


def _text_of(row: Row) -> str:
    return " ".join(part["text"] for event in row["events"] for part in event["content"])
