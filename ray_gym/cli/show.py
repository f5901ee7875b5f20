"""Prints runs and episodes for a person to read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.console import Console

from ray_gym.cli.output import DataTable
from ray_gym.errors import UserError, placed
from ray_gym.hosting.import_paths import import_from
from ray_gym.plugins import find_environment
from ray_gym.printable import data
from ray_gym.record.bounds import Bound
from ray_gym.run.directory.directory import CONFIG, find_run
from ray_gym.run.directory.location import shell_quoted
from ray_gym.run.directory.reading import Run
from ray_gym.run.driver.tally import kind_of, shorten

LISTED = 50
MOST_FAILURES = 5
"""Most distinct failures of a run that are shown."""
LONGEST_FAILURE = 200
"""Most characters of a failure in a list."""
COLOURS = ("cyan", "magenta", "yellow", "green")


def print_summary(console: Console, location: str, summary: dict[str, Any]) -> None:
    """Prints the closing lines of a run for the user. `location`: the run's directory. `summary`: content of
    summary.json.
    """
    console.print()
    heading = "interrupted" if summary["interrupted"] else "done"
    console.print(
        f"[bold]{heading}[/bold]: {summary['episodes']} of {summary['of']} episodes in {summary['seconds']:.1f} s"
    )
    for label, key in (("status", "status"), ("stopped by", "stop_reasons"), ("outcomes", "outcomes")):
        counts = sorted(summary[key].items(), key=lambda item: -item[1])
        if counts:
            console.print(
                f"  {label}: " + ", ".join(f"{data(name)} {count}" for name, count in counts[:12]),
                soft_wrap=True,
            )
    if summary["mean_reward"] is not None:
        console.print(f"  mean reward: {summary['mean_reward']:.3f}, of {summary['rewarded']} episodes")
    if outside := summary["rewards_out_of_range"]:
        told = f"{outside} rewards are outside of the environment's reward_range"
        console.print(f"  [yellow]warning[/yellow]: {told}")
    if failed := summary["status"].get("failed"):
        console.print(
            f"  [yellow]warning[/yellow]: {failed} of {summary['episodes']} episodes failed and have no reward"
        )
    if summary["episodes"] > summary["already_done"]:
        console.print(
            f"  {summary['model_calls']:,} model calls, {summary['generated_tokens']:,} tokens generated "
            f"({summary['tokens_per_s']:,.0f} tok/s), {summary['episodes_per_s']:.1f} episodes/s",
            soft_wrap=True,
        )
    elif summary["episodes"] >= summary["of"]:
        console.print("  nothing was left to play")
    for failure, count in summary["failures"].items():
        console.print(f"  [red]{count} failed[/red]: {data(failure)}", soft_wrap=True)
    if (failed or 0) > (listed := sum(summary["failures"].values())):
        console.print(f"  [red]{(failed or 0) - listed} more failed[/red] in other ways")
    recovered = [f"{count:,} {name.replace('_', ' ')}" for name, count in summary["recovery"].items() if count]
    if recovered:
        console.print(f"  recovery: {', '.join(recovered)}", soft_wrap=True)
    if summary["models_without_token_ids"]:
        names = data(", ".join(summary["models_without_token_ids"]))
        console.print(f"  no samples from {names}: such models give no token ids", soft_wrap=True)
    console.print(f"  {data(location)}", soft_wrap=True, highlight=False)
    if summary["interrupted"]:
        console.print(
            f"  resume it with: ray-gym rollout --resume {data(shell_quoted(location))}",
            soft_wrap=True,
            highlight=False,
        )
    else:
        console.print(
            f"  look at it with: ray-gym show {data(shell_quoted(location))}", soft_wrap=True, highlight=False
        )


def show_run(
    console: Console, run: Run, *, failed: bool = False, everything: bool = False, reward: Bound | None = None
) -> None:
    """Prints the state of a run, its first 50 episodes, a line each, and the metrics that its environment computes of
    all of them. `failed`: only episodes that failed, with their failures. `everything`: all episodes instead of 50.
    `reward`: only episodes whose reward is within the bound.

    Errors: UserError if all episodes that summary.json counts are gone.
    """
    columns = ["episode_id", "task_id", "repeat", "status", "stop_reason", "stop_text", "turns", "reward"]
    episodes = run.episodes.select([*columns, "failure"]).to_pylist()
    if not episodes and (gone := (run.summary or {}).get("episodes")):
        raise UserError(
            f"{run.location}: summary.json counts {gone} episodes, and there are none in episodes/: put the files back, or "
            f"play them anew with `ray-gym rollout --resume {shell_quoted(run.location)}`"
        )
    rows = [row for row in episodes if row["status"] == "failed"] if failed else episodes
    if reward is not None:
        rows = [row for row in rows if reward.allows(row["reward"])]
        console.print(f"{len(rows)} of {len(episodes)} episodes:", highlight=False)
    shown = rows if everything else rows[:LISTED]
    columns = [*columns[:3], "failure"] if failed else columns
    table = DataTable()
    for column in columns:
        table.add_column(column, no_wrap=column in ("episode_id", "task_id", "status"))
    for row in shown:
        table.add_data(*(_cell(row, column) for column in columns))
    console.print(table)
    if len(rows) > len(shown):
        console.print(f"... and {len(rows) - len(shown)} more (--all shows them)")
    _print_state(console, run, episodes)
    _print_metrics(console, run)
    console.print(
        f"one of them: ray-gym show {data(shell_quoted(run.location))} EPISODE", highlight=False, soft_wrap=True
    )


def line_of(row: dict[str, Any]) -> str:
    """Returns an episode's row as a line of rich's markup."""
    reward = "" if row["reward"] is None else f"  reward {row['reward']:.4g}"
    why = (
        f"  [red]{data(_cell(row, 'failure'))}[/]"
        if row["status"] == "failed"
        else f"  {data(_cell(row, 'stop_text'))}"
    )
    head = f"{data(_cell(row, 'episode_id'))}  {data(_cell(row, 'task_id'))}  repeat {row['repeat']}"
    return f"{head}  {row['status']}, {row['stop_reason']}, {row['turns']} turns{reward}{why}".rstrip()


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


def _print_state(console: Console, run: Run, episodes: list[dict[str, Any]]) -> None:
    """Prints whether a run is finished, the mean of its rewards, and its failures."""
    began = find_run(run.location).read_fingerprint() if run.storage.exists(CONFIG) else None
    planned = began.episodes if began is not None else len(episodes)
    if len(episodes) < planned:
        ended = "is not finished" if run.summary is None else "was interrupted"
        resume = f"ray-gym rollout --resume {shell_quoted(run.location)}"
        console.print(
            f"[yellow]the run {ended}[/]: {len(episodes)} of {planned} episodes; if nothing plays it, resume it with: "
            f"{data(resume)}",
            highlight=False,
            soft_wrap=True,
        )
    rewarded = [row for row in episodes if row["reward"] is not None and row["status"] == "completed"]
    if rewarded:
        console.print(mean_line(rewarded), highlight=False, soft_wrap=True)
    told = [_cell(row, "failure") for row in episodes if row["status"] == "failed"]
    examples = {kind_of(failure): shorten(failure) for failure in reversed(told)}
    failures = Counter(examples[kind_of(failure)] for failure in told)
    if failures:
        console.print(f"[red]{failures.total()} failed[/] (--failed shows which):", highlight=False)
    for failure, count in failures.most_common(MOST_FAILURES):
        console.print(f"  {count} {data(failure)}", highlight=False, soft_wrap=True)
    if len(failures) > MOST_FAILURES:
        console.print(f"  ... and {len(failures) - MOST_FAILURES} more kinds of failures", highlight=False)
    if why := (run.summary or {}).get("failure"):
        console.print(f"[red]the run was ended:[/] {data(why)}", highlight=False, soft_wrap=True)


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


def _print_metrics(console: Console, run: Run) -> None:
    """Prints the environment's metrics of the run. If they can't be computed, as the environment is not installed or
    has changed, prints a remark instead of failing. A run without episodes prints nothing.
    """
    if not run.episodes.num_rows:
        return
    name = run.episodes.column("env_id")[0].as_py()
    began = find_run(run.location).read_fingerprint() if run.storage.exists(CONFIG) else None
    try:
        if began is not None and began.folder:
            import_from(Path(began.folder))
        environment = find_environment(name)
        if not environment.has_metrics():
            return
        figures = environment.metrics(run.episodes.select(list(environment.metrics_columns)).to_pylist())
        shown = "  ".join(f"{figure} {value:.3f}" for figure, value in figures.items())
    except Exception as error:
        why = str(error) if isinstance(error, UserError) else placed(error)
        console.print(f"[dim]the metrics of {data(name)} can't be worked out: {data(why)}[/]", soft_wrap=True)
        return
    if shown:
        console.print(f"[bold]metrics:[/bold] {data(shown)}", highlight=False, soft_wrap=True)


def show_episode(console: Console, run: Run, prefix: str) -> None:
    """Prints one episode as a conversation. `prefix`: beginning of the episode's id. Errors: UserError if no episode,
    or more than one, has it.
    """
    ids = run.episodes.column("episode_id").to_pylist()
    found = [index for index, episode_id in enumerate(ids) if episode_id.startswith(prefix)]
    if len(found) != 1:
        what = "no episode begins" if not found else f"{len(found)} episodes begin"
        raise UserError(
            f"{what} with {prefix!r} in {run.location}; `ray-gym show {shell_quoted(run.location)}` lists them"
        )
    row = run.episodes.slice(found[0], 1).to_pylist()[0]
    console.print(
        f"[bold]{data(row['env_id'])}[/bold] episode {data(row['episode_id'])} (task {data(row['task_id'])}, "
        f"repeat {row['repeat']}{_tries(row)})"
    )
    participants = sorted({event["participant"] for event in row["events"] if event["participant"]})
    colours = {name: COLOURS[index % len(COLOURS)] for index, name in enumerate(participants)}
    turn = None
    for event in _said_once(row["events"]):
        if event["turn"] != turn and event["kind"] == "message":
            turn = event["turn"]
            console.rule(f"turn {turn + 1}: {data(event['participant'])}", align="left", style="dim")
        _print_event(console, event, colours)
    _print_end(console, row)


def _tries(row: dict[str, Any]) -> str:
    """Returns words for an episode that was not kept at its first try."""
    again = [f"{name} {row[name] + 1}" for name in ("try", "attempt") if row[name]]
    return "".join(f", {words}" for words in again)


def _said_once(events: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yields events without what a judge was shown again: a judge whose answer can't be read is asked in a conversation
    that begins with the one before.
    """
    threads: dict[str, list[tuple[str, Any]]] = {}
    before: dict[str, list[tuple[str, Any]]] = {}
    last_of: dict[str, str] = {}
    ends = {event["thread"]: at for at, event in enumerate(events) if event["kind"] == "judge"}
    for at, event in enumerate(events):
        if event["kind"] != "judge" or not event["thread"]:
            yield event
            continue
        name, thread = event["participant"], event["thread"]
        if thread not in threads:
            before[thread] = threads.get(last_of.get(name, ""), [])
            threads[thread], last_of[name] = [], thread
        said = threads[thread]
        said.append((event["role"], event["content"]))
        if at == ends[thread] or said != before[thread][: len(said)]:
            yield event


def _print_event(console: Console, event: dict[str, Any], colours: dict[str, str]) -> None:
    text = "\n".join(part["text"] for part in event["content"])
    name = event["participant"] or ""
    said_by = data(name)
    kind = event["kind"]
    if kind == "stop":
        return
    seen_by = event["visible_to"]
    if kind == "message":
        label, style = said_by, colours[name]
    elif kind == "tool_result":
        label, style, text = f"tool, to {said_by}", "red" if event["error"] else "dim", _readable(text)
    elif kind == "note":
        label, style = "note", "dim"
    elif kind == "judge":
        label, style = f"{said_by} {'answers' if event['role'] == 'assistant' else 'is asked'}", "magenta"
    elif kind == "verdict":
        label, style = f"verdict {event['reward']:g}", "cyan"
    else:
        label, style = f"{kind}, to {data(', '.join(seen_by))}", "dim"
    if event["reasoning"]:
        console.print(f"[{style}]{label} thinks:[/] [dim]{data(event['reasoning'])}[/]")
    if text or not event["tool_calls"]:
        console.print(f"[{style} bold]{label}:[/] {data(text) or '(nothing)'}", highlight=False)
    for call in event["tool_calls"]:
        console.print(
            f"[{style} bold]{label} calls[/] {data(call['name'] or '?')}({data(call['arguments'])})",
            highlight=False,
        )
    if event["finish_reason"] == "length":
        console.print("[red]cut at max_tokens[/]")


def _print_end(console: Console, row: dict[str, Any]) -> None:
    console.rule(style="dim")
    console.print(f"[bold]{row['status']}[/bold], stopped by {row['stop_reason']}: {data(row['stop_text'] or '-')}")
    if row["failure"]:
        failure = row["failure"]
        console.print(f"[red]{failure['kind']} failure in {data(failure['where'])}: {data(failure['message'])}[/]")
        console.print(f"[dim]{data(row['traceback'] or '')}[/]", highlight=False, end="\n" * bool(row["traceback"]))
    for reward in row["rewards"]:
        console.print(f"{data(reward['participant'])} {data(reward['name'])}: {reward['value']:g}")
    for thread, tools in json.loads(row["tools_shown"] or "{}").items():
        names = ", ".join(tool["function"]["name"] for tool in tools)
        console.print(f"[dim]tools shown to {data(thread)}: {data(names)}[/]", highlight=False)
    for sample in row["samples"]:
        trained = sum(sample["loss_mask"])
        fork = f", forked: {data(sample['fork_reason'])}" if sample["fork_reason"] else ""
        mark = "" if sample["trainable"] else ", not trainable"
        console.print(
            f"[dim]sample of {data(sample['participant'])}: {len(sample['token_ids'])} tokens, {trained} generated{fork}{mark}[/]"
        )


def _readable(text: str) -> str:
    """Returns a tool's answer for a person: a JSON object with a field a line and its strings unquoted, as they may
    have line breaks; any other text unchanged.
    """
    try:
        answer = json.loads(text)
    except ValueError:
        return text
    if not isinstance(answer, dict):
        return text
    lines = []
    for key, value in answer.items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        lines.append(f"  {key}:\n{_indent(shown)}" if "\n" in shown else f"  {key}: {shown}")
    return "\n" + "\n".join(lines)


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())
