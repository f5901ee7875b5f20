"""Prints a run for a person to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, SupportsFloat

from rich.console import Console

from ray_gym.cli.closing_lines import SCORED, dropped_line, out_of_range_line, undecided_line
from ray_gym.cli.output import DataTable
from ray_gym.cli.unfinished import ended_line, unfinished_line
from ray_gym.errors import UserError, code_place, placed
from ray_gym.hosting.import_paths import import_from
from ray_gym.plugins import find_environment
from ray_gym.printable import data_line
from ray_gym.record.bounds import Bound
from ray_gym.run.directory.directory import CONFIG, find_run
from ray_gym.run.directory.empty import no_episodes
from ray_gym.run.directory.intact import intact_rows
from ray_gym.run.directory.location import shell_quoted
from ray_gym.run.directory.reading import Run
from ray_gym.run.driver.failures import FailureCounts

LISTED = 50
MOST_FAILURES = 5
"""Most distinct failures of a run that are shown."""
LONGEST_FAILURE = 200
"""Most characters of a failure in a list."""
COLUMNS = ("episode_id", "task_id", "repeat", "status", "stop_reason", "stop_text", "turns", "reward")
"""Columns of the table of episodes."""
ROWS = 512
"""Most rows that are read at once."""


def show_run(
    console: Console, run: Run, *, failed: bool = False, everything: bool = False, reward: Bound | None = None
) -> None:
    """Prints the state of a run, its first 50 episodes, a line each, and the metrics that its environment computes of
    all of them. `failed`: only episodes that failed, with their failures. `everything`: all episodes instead of 50.
    `reward`: only episodes whose reward is within the bound.

    Damaged row groups, and files of an unknown version, are named and left out. Errors: UserError if none can be read,
    or all episodes that summary.json counts are gone.
    """
    damages: list[str] = []
    episodes = _rows_of(run, [*COLUMNS, "failure"], damages)
    if not episodes and damages:
        raise UserError(damages[0])
    if not episodes and (run.summary or {}).get("episodes"):
        raise no_episodes(run)
    rows = [row for row in episodes if row["status"] == "failed"] if failed else episodes
    if reward is not None:
        rows = [row for row in rows if reward.allows(row["reward"])]
        console.print(f"{len(rows)} of {len(episodes)} episodes:", highlight=False)
    shown = rows if everything else rows[:LISTED]
    columns = [*COLUMNS[:3], "failure"] if failed else COLUMNS
    table = DataTable()
    for column in columns:
        table.add_column(column, no_wrap=column in ("episode_id", "task_id", "status"))
    for row in shown:
        table.add_data(*(_cell(row, column) for column in columns))
    console.print(table)
    if len(rows) > len(shown):
        console.print(f"... and {len(rows) - len(shown)} more (--all shows them)")
    print_damages(console, damages)
    _print_state(console, run, episodes, is_whole=not damages)
    _print_metrics(console, run)
    if shown:
        command = f"ray-gym show {data_line(shell_quoted(run.location))} EPISODE"
        console.print(f"one of them: {command}", highlight=False, soft_wrap=True)


def print_damages(console: Console, damages: Iterable[str]) -> None:
    """Prints what of a run can't be read."""
    for damage in damages:
        console.print(f"[red]left out:[/] {data_line(damage)}", highlight=False, soft_wrap=True)


def line_of(row: dict[str, Any]) -> str:
    """Returns an episode's row as a line of rich's markup."""
    reward = "" if row["reward"] is None else f"  reward {row['reward']:.4g}"
    why = (
        f"  [red]{data_line(_cell(row, 'failure'))}[/]"
        if row["status"] == "failed"
        else f"  {data_line(_cell(row, 'stop_text'))}"
    )
    head = f"{data_line(_cell(row, 'episode_id'))}  {data_line(_cell(row, 'task_id'))}  repeat {row['repeat']}"
    return f"{head}  {data_line(row['status'])}, {data_line(row['stop_reason'])}, {row['turns']} turns{reward}{why}".rstrip()


def _cell(row: dict[str, Any], column: str) -> str:
    """Returns a value of an episode's row as a cell of the table of episodes."""
    value = row[column]
    if value is None:
        return ""
    if column in ("episode_id", "task_id"):
        return str(value)[:12]
    if column == "stop_text":
        return " ".join(value.split())[:40]
    if column == "failure":
        return " ".join(f"{value['kind']} in {value['where']}: {value['message']}".split())[:LONGEST_FAILURE]
    return f"{value:.4g}" if column == "reward" else str(value)


def _print_state(console: Console, run: Run, episodes: list[dict[str, Any]], *, is_whole: bool) -> None:
    """Prints whether a run is finished, the mean of its rewards, and its failures, and the
    faults of episodes that are scored all the same. `is_whole`: False if episodes can't be
    read.
    """
    if line := unfinished_line(run, len(episodes), is_whole=is_whole):
        console.print(line, highlight=False, soft_wrap=True)
    rewarded = [row for row in episodes if row["reward"] is not None and row["status"] == "completed"]
    if rewarded:
        console.print(mean_line(rewarded), highlight=False, soft_wrap=True)
    if dropped := sum(row["status"] == "dropped" for row in episodes):
        console.print(dropped_line(dropped), highlight=False)
    summary = run.summary or {}
    if outside := summary.get("rewards_out_of_range"):
        console.print(f"[yellow]{out_of_range_line(outside)}[/]", highlight=False)
    for told, count in (summary.get("undecided") or {}).items():
        line = undecided_line(told, count, bool(summary["already_done"]))
        console.print(f"[yellow]{data_line(line)}[/]", highlight=False, soft_wrap=True)
    failures = _failures_of(episodes, "failed").told()
    if failures:
        console.print(f"[red]{failures.total()} failed[/] (--failed shows which):", highlight=False)
    _print_kinds(console, failures)
    if faults := _failures_of(episodes, "completed").told():
        console.print(f"[yellow]{faults.total()} {SCORED}[/]:", highlight=False)
    _print_kinds(console, faults)
    if line := ended_line(run):
        console.print(line, highlight=False, soft_wrap=True)


def _failures_of(episodes: list[dict[str, Any]], status: str) -> FailureCounts:
    """Counts the failures of episodes that have this status, by kind."""
    counts = FailureCounts()
    for row in episodes:
        if row["status"] == status and row["failure"] is not None:
            counts.add(_cell(row, "failure"))
    return counts


def _print_kinds(console: Console, failures: Counter[str]) -> None:
    """Prints the commonest kinds of failures, each with its number."""
    for failure, count in failures.most_common(MOST_FAILURES):
        console.print(f"  {count} {data_line(failure)}", highlight=False, soft_wrap=True)
    if len(failures) > MOST_FAILURES:
        console.print(f"  ... and {len(failures) - MOST_FAILURES} more kinds of failures", highlight=False)


def mean_line(rewarded: list[dict[str, Any]]) -> str:
    """Returns the mean reward of completed episodes as a line: with an interval over tasks where the extra `stats` is
    installed, and there are two tasks or more.
    """
    rewards = [row["reward"] for row in rewarded]
    interval = ""
    if all(find_spec(module) for module in ("scipy", "statsmodels")):
        from ray_gym.statistics.means import mean_over_tasks

        found = mean_over_tasks(rewards, [row["task_id"] for row in rewarded])
        interval = "" if found.low is None else f" [{found.low:.3f}, {found.high:.3f}]"
    return f"mean reward: {sum(rewards) / len(rewards):.3f}{interval}, of {len(rewards)} episodes"


def _rows_of(run: Run, columns: Iterable[str], damages: list[str]) -> list[dict[str, Any]]:
    """Returns columns of all rows that can be read. What can't be is added to `damages`."""
    return [row for batch in intact_rows(run.storage, list(columns), ROWS, damages) for row in batch.to_pylist()]


def _number(value: Any) -> str:
    """Returns a figure of an environment's, as a text: also one that is no number."""
    return f"{value:.3f}" if isinstance(value, SupportsFloat) and not isinstance(value, bool) else f"{value!r:.40}"


def _print_metrics(console: Console, run: Run) -> None:
    """Prints the environment's metrics of the run. If they can't be computed, as the environment is not installed or
    has changed, prints a remark instead of failing. A run without episodes prints nothing.
    """
    name = next((row["env_id"] for row in _rows_of(run, ["env_id"], [])), None)
    if name is None:
        return
    began = find_run(run.location).read_fingerprint() if run.storage.exists(CONFIG) else None
    try:
        if began is not None and began.folder:
            import_from(Path(began.folder))
        environment = find_environment(name)
        if not environment.has_metrics():
            return
        damages = list[str]()
        if not (rows := _rows_of(run, environment.metrics_columns, damages)) and damages:
            raise UserError(damages[0])  # no file has such a column
        figures: object = environment.metrics(rows)
        if not isinstance(figures, Mapping):
            raise UserError(f"it returned {figures!r:.40}; expected figures by name{code_place(environment.metrics)}")
        shown = "  ".join(f"{figure} {_number(value)}" for figure, value in figures.items())
    except (Exception, SystemExit) as error:
        why = str(error) if isinstance(error, UserError) else placed(error)
        console.print(f"[dim]the metrics of {data_line(name)} can't be worked out: {data_line(why)}[/]", soft_wrap=True)
        return
    if shown:
        console.print(f"[bold]metrics:[/bold] {data_line(shown)}", highlight=False, soft_wrap=True)
