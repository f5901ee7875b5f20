"""Checks that playing leaves the task as it was, since the next episode of its group has to get the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ray_gym.check.finding import Finding
from ray_gym.check.scenes import difference

if TYPE_CHECKING:
    from ray_gym.check.evidence import Evidence


async def look(evidence: Evidence) -> list[Finding]:
    """Compares the task of each play with the original, and returns one finding for the first that differs."""
    for play in evidence.plays:
        episode = play.played.episode
        before = evidence.subject.task(play.scene.task)
        if episode.state is None and not episode.events:
            continue  # nothing was played
        found = difference(before.model_dump(mode="json"), episode.task.model_dump(mode="json"), "task")
        if found is not None or play.row["task"] != evidence.subject.tasks[play.scene.task].task:
            what = f"playing changes the task: {found} ({play.scene})"
            mend = "copy what the session changes in `setup`, e.g. list(task.items), and change the copy"
            return [Finding(type(play.stage.environment).__name__, what, mend)]
    return []
