"""Keeps the caller and the state of one rollout of the service, in memory and in the files of its directory."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ray_gym.errors import describe
from ray_gym.record.versions import read_summary
from ray_gym.run.directory.directory import RunDirectory
from ray_gym.run.directory.location import storage_at
from ray_gym.run.directory.storage import SUMMARY
from ray_gym.run.driver.driver import Outcome
from ray_gym.run.driver.tally import Tally
from ray_gym.service.api import RolloutState, RolloutStatus
from ray_gym.service.pages import find_last_commit

logger = logging.getLogger(__name__)

REQUEST = "request.json"
"""Name of the file that is written last when a rollout is made.

The caller gets the rollout's id afterwards, so a directory without the file may be deleted.
"""
KEPT = ("caller", "body", "environment", "episodes", "created_at", "notes")
"""Fields of a rollout that the file has."""
CANCELLED = "cancelled"
"""Name of the file that marks a cancelled rollout. It is written before the cancelling call returns."""


@dataclass(frozen=True, slots=True)
class RolloutCounts:
    """Counts the episodes of a rollout that are over."""

    statuses: dict[str, int] = field(default_factory=dict)
    """Number of episodes, by status."""
    stop_reasons: dict[str, int] = field(default_factory=dict)
    """Number of episodes, by the reason why they stopped."""
    reward_mean: float | None = None
    """Mean of the episodes' rewards; None if no episode has one."""

    @classmethod
    def of(cls, summary: dict[str, Any]) -> RolloutCounts:
        """Takes the counts from the content of a `summary.json`."""
        return cls(summary["status"], summary["stop_reasons"], summary["mean_reward"])


@dataclass(slots=True)
class Rollout:
    """A rollout is a run that a caller asked for; its id is the name of the run."""

    id: str
    """Name of the run: 32 hexadecimal digits."""
    caller: str
    body: str
    """Hash of the request. A request with the same idempotency key and another hash is refused."""
    environment: str
    """Name of the offer that is played."""
    episodes: int
    """Number of episodes that the rollout has."""
    created_at: float
    """Seconds of `time.time()` at which the rollout was made. `started_at` and `ended_at` have the same unit."""
    notes: list[str] = field(default_factory=list)
    """Oddities of the rollout's plan, such as groups without spread."""
    state: RolloutState = "queued"
    started_at: float | None = None
    """None until the rollout is played."""
    ended_at: float | None = None
    """None as long as more episodes may be committed."""
    is_on_disk: bool = False
    """True if the rollout's end is on disk. Else it is resumed when the service is started again."""
    failure: str | None = None
    """Reason of the failure; None if the rollout has not failed."""
    commits: int = 0
    """Number of files that are committed."""
    counts: RolloutCounts = RolloutCounts()
    """Counts of the episodes that earlier services played; of all episodes, once the rollout has ended."""
    tally: Tally | None = None
    """Counts of the run while it is played; None before and after."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    """Event that tells the driver to stop: the rollout was cancelled, or the service stops."""
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_over(self) -> bool:
        """Says whether the rollout is done, failed or cancelled. Such a rollout is not resumed."""
        return self.state in ("done", "failed", "cancelled")

    def status(self) -> RolloutStatus:
        """Returns the status as callers see it."""
        tally = self.tally
        counts = (
            RolloutCounts(dict(+tally.by_status), dict(+tally.by_stop), tally.mean_reward) if tally else self.counts
        )
        return RolloutStatus(
            id=self.id,
            environment=self.environment,
            state=self.state,
            episodes=self.episodes,
            statuses=counts.statuses,
            stop_reasons=counts.stop_reasons,
            reward_mean=counts.reward_mean,
            failure=self.failure,
            created_at=self.created_at,
            started_at=self.started_at,
            ended_at=self.ended_at,
            notes=self.notes,
            waiting=(tally.troubles or None) if tally else None,
        )

    async def wait_for_change(self) -> None:
        """Waits until `notify` is called: a file was committed, the state has changed, or the service stops."""
        await self._changed.wait()

    def notify(self) -> None:
        """Wakes the calls that wait for a change."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def note_commit(self, number: int) -> None:
        """Notes the number of the newest commit. If it is another one than before, calls that wait are woken."""
        if number != self.commits:
            self.commits = number
            self.notify()

    def begin(self, tally: Tally) -> None:
        """Notes that the rollout is played from now on, and wakes the calls that wait for a change.

        `tally` counts its episodes meanwhile. A cancelled rollout stays cancelled.
        """
        self.tally = tally
        self.started_at = self.started_at or time.time()
        if self.state == "queued":
            self.state = "running"
        self.notify()

    def end(self, outcome: Outcome) -> dict[str, Any]:
        """Takes the state, the counts and the failure from the outcome of the run.

        Returns the fields that the rollout adds to the run's summary: `cancelled`, `started_at`, `ended_at`.

        A cancelled rollout stays cancelled. An interrupted one is queued again, to be resumed. `ended_at` is now if the
        rollout is over, else None.
        """
        self.counts = RolloutCounts.of(outcome.tally.summary())
        if self.state != "cancelled":
            self.failure = outcome.failure
            self.state = "failed" if outcome.failure else "queued" if outcome.interrupted else "done"
        self.ended_at = time.time() if self.is_over else None
        return {"cancelled": self.state == "cancelled", "started_at": self.started_at, "ended_at": self.ended_at}

    def fail(self, reason: str) -> None:
        """Notes that the rollout ends now, and that it has failed for a reason. A cancelled one stays cancelled."""
        if self.state != "cancelled":
            self.state, self.failure = "failed", reason
        self.ended_at = time.time()

    def release(self) -> None:
        """Drops the tally, since the rollout is not played any more, and wakes the calls that wait for a change."""
        self.tally = None
        self.notify()

    def as_json(self, request: dict[str, Any], key: str | None) -> bytes:
        """Returns the content of the file `request.json`.

        `request` has the fields of the request. `key` is a hash of the idempotency key; None without one.
        """
        kept = {name: getattr(self, name) for name in KEPT}
        return json.dumps({**kept, "key": key, "request": request}, indent=2).encode()


def read_rollout(folder: Path) -> Rollout | None:
    """Reads a rollout from its directory. Blocks.

    None means that the directory holds none, or that it can't be read; the latter is logged.
    """
    try:
        kept = json.loads((folder / REQUEST).read_bytes())
        summary = read_summary((folder / SUMMARY).read_bytes()) if (folder / SUMMARY).exists() else None
        kept = {"notes": [], **kept}  # older versions wrote none
        kept = {name: kept[name] for name in KEPT}
        rollout = Rollout(folder.name, **kept, commits=find_last_commit(str(folder)))
        if summary is not None:
            _apply_summary(rollout, summary)
        if rollout.state == "queued" and (folder / CANCELLED).exists():
            _apply_cancellation(rollout, folder)
        rollout.is_on_disk = rollout.is_over
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        logger.warning("rollout %s can't be read, and is left out: %s", folder.name, describe(error))
        return None
    return rollout


def _apply_summary(rollout: Rollout, summary: dict[str, Any]) -> None:
    """Sets the state, the counts, the times and the failure of a rollout from its run's summary.

    An interrupted run keeps its state. If the run is over and the summary has no end time, the end time is now.
    """
    rollout.counts = RolloutCounts.of(summary)
    rollout.started_at, rollout.ended_at = summary.get("started_at"), summary.get("ended_at")
    if summary.get("cancelled"):
        rollout.state = "cancelled"
    elif summary["failure"]:
        rollout.state, rollout.failure = "failed", summary["failure"]
    elif not summary["interrupted"]:
        rollout.state = "done"
    if rollout.is_over and rollout.ended_at is None:  # the command line has resumed it
        rollout.ended_at = time.time()


def _apply_cancellation(rollout: Rollout, folder: Path) -> None:
    """Sets the state of a cancelled rollout that has no summary, since the service ended before it was written.

    The counts are those of the committed episodes; the end time is that of the file CANCELLED. Errors: OSError.
    """
    done = RunDirectory(storage_at(str(folder))).committed()
    rollout.counts = RolloutCounts.of(Tally.of_resumed(rollout.episodes, done).summary())
    rollout.state, rollout.ended_at = "cancelled", (folder / CANCELLED).stat().st_mtime
