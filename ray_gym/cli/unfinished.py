"""Tells that a run has fewer episodes than were planned, and why."""

from __future__ import annotations

from ray_gym.printable import data, data_line
from ray_gym.run.directory.directory import CONFIG, PLAN, STREAM, RunDirectory
from ray_gym.run.directory.location import shell_quoted
from ray_gym.run.directory.reading import Run


def planned_episodes(run: Run) -> int | None:
    """Returns the number of planned episodes; None for a stream, or if the run has not noted it."""
    if run.storage.exists(STREAM):
        return None
    began = RunDirectory(run.storage).read_fingerprint()
    return began.episodes if began is not None else None


def unfinished_line(run: Run, count: int, *, is_whole: bool = True) -> str:
    """Returns a line of rich's markup that says that a run is not finished, and how to go on; "" if it is. `count`: number
    of its episodes. `is_whole`: False if there are episodes that can't be read.
    """
    planned = planned_episodes(run)
    if planned is None and run.summary is None and run.storage.exists(CONFIG) and not run.storage.exists(STREAM):
        return f"[yellow]the run has not ended[/]: {count} episodes, and neither summary.json nor {PLAN}"
    if planned is None or (run.summary is not None and (count >= planned or not is_whole)):
        return ""
    ended = "is not finished" if run.summary is None else "was interrupted"
    lacks = ", and no summary.json" if count >= planned else ""
    has_config = run.storage.exists(CONFIG)
    how = "if nothing plays it, resume" if has_config else f"it has no {CONFIG}: put a copy of it there, and resume"
    told = f"[yellow]the run {ended}[/]: {count} of {planned} episodes{lacks}; {how} it with: "
    return f"{told}{data(f'ray-gym rollout --resume {shell_quoted(run.location)}')}"


def ended_line(run: Run) -> str:
    """Returns a line of rich's markup with the reason for which a run was ended early; "" if there is none."""
    why = (run.summary or {}).get("failure")
    return f"[red]the run was ended:[/] {data_line(why)}" if why else ""
