"""Tells that a run has no episodes, to those who can do nothing without."""

from __future__ import annotations

from ray_gym.errors import UserError
from ray_gym.run.directory.directory import PLAN, STREAM
from ray_gym.run.directory.location import shell_quoted
from ray_gym.run.directory.reading import Run


def no_episodes(run: Run) -> UserError:
    """Returns the error that says that a run has no episodes (yet, or any more), and what to do. Errors: UserError for a
    damaged summary.json.
    """
    resume = f"`ray-gym rollout --resume {shell_quoted(run.location)}`"
    if gone := (run.summary or {}).get("episodes"):
        return UserError(
            f"{run.location}: summary.json counts {gone} episodes, and there are none in episodes/: put the files back, or "
            f"play them anew with {resume}"
        )
    why = (run.summary or {}).get("failure")
    is_rollout = run.storage.exists(PLAN) and not run.storage.exists(STREAM)
    if_free = "once the cause is gone" if why else "if nothing plays it"
    how = f"; {if_free}, resume it with {resume}" if is_rollout else ""
    return UserError(f"{run.location}: it has no episodes{f': the run was ended: {why}' if why else ' yet'}{how}")
