"""Prints runs and episodes for a person to read."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ray_gym.errors import UserError, describe
from ray_gym.load import Run
from ray_gym.plugins import find_environment
from ray_gym.run.directory.location import shell_quoted

LISTED = 50
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
                f"  {label}: " + ", ".join(f"{escape(str(name))} {count}" for name, count in counts[:12]),
                soft_wrap=True,
            )
    if summary["mean_reward"] is not None:
        console.print(f"  mean reward: {summary['mean_reward']:.3f}")
    if summary["episodes"] > summary["already_done"]:
        console.print(
            f"  {summary['model_calls']:,} model calls, {summary['generated_tokens']:,} tokens generated "
            f"({summary['tokens_per_s']:,.0f} tok/s), {summary['episodes_per_s']:.1f} episodes/s",
            soft_wrap=True,
        )
    else:
        console.print("  nothing was left to play")
    for failure, count in summary["failures"].items():
        console.print(f"  [red]{count} failed[/red]: {escape(failure)}", soft_wrap=True)
    recovered = [f"{count:,} {name.replace('_', ' ')}" for name, count in summary["recovery"].items() if count]
    if recovered:
        console.print(f"  recovery: {', '.join(recovered)}", soft_wrap=True)
    if summary["models_without_token_ids"]:
        names = ", ".join(summary["models_without_token_ids"])
        console.print(f"  no samples from {names}: such models give no token ids", soft_wrap=True)
    console.print(f"  {location}", soft_wrap=True, highlight=False)
    if summary["interrupted"]:
        console.print(
            f"  resume it with: ray-gym rollout --resume {shell_quoted(location)}", soft_wrap=True, highlight=False
        )
    else:
        console.print(f"  look at it with: ray-gym show {shell_quoted(location)}", soft_wrap=True, highlight=False)


def show_run(console: Console, run: Run) -> None:
    """Prints the first 50 episodes of a run, a line each, and the metrics that its environment computes of all
    of them. Errors: UserError if all episodes that summary.json counts are gone.
    """
    columns = ["episode_id", "task_id", "repeat", "status", "stop_reason", "stop_text", "turns", "reward"]
    rows = run.episodes.select(columns)
    if not rows.num_rows and (gone := (run.summary or {}).get("episodes")):
        raise UserError(
            f"{run.location}: summary.json counts {gone} episodes, and there are none in episodes/: put the files back, or "
            f"play them anew with `ray-gym rollout --resume {shell_quoted(run.location)}`"
        )
    table = Table(box=None, header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=column in ("episode_id", "task_id", "status"))
    for row in rows.slice(0, LISTED).to_pylist():
        row["episode_id"], row["task_id"] = row["episode_id"][:12], row["task_id"][:12]
        row["stop_text"] = " ".join((row["stop_text"] or "").split())[:40]
        row["reward"] = None if row["reward"] is None else f"{row['reward']:.4g}"
        table.add_row(*("" if row[name] is None else escape(str(row[name])) for name in columns))
    console.print(table)
    if rows.num_rows > LISTED:
        console.print(f"... and {rows.num_rows - LISTED} more")
    _print_metrics(console, run)
    console.print(f"one of them: ray-gym show {shell_quoted(run.location)} EPISODE", highlight=False, soft_wrap=True)


def _print_metrics(console: Console, run: Run) -> None:
    """Prints the environment's metrics of the run. If they can't be computed, as the environment is not installed or
    has changed, prints a remark instead of failing. A run without episodes prints nothing.
    """
    if not run.episodes.num_rows:
        return
    name = run.episodes.column("env_id")[0].as_py()
    try:
        environment = find_environment(name)
        if not environment.has_metrics():
            return
        figures = environment.metrics(run.episodes.select(list(environment.metrics_columns)).to_pylist())
        shown = "  ".join(f"{figure} {value:.3f}" for figure, value in figures.items())
    except Exception as error:
        why = str(error) if isinstance(error, UserError) else describe(error)
        console.print(f"[dim]the metrics of {escape(name)} can't be worked out: {escape(why)}[/]", soft_wrap=True)
        return
    if shown:
        console.print(f"[bold]metrics:[/bold] {escape(shown)}", highlight=False, soft_wrap=True)


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
        f"[bold]{row['env_id']}[/bold] episode {row['episode_id']} (task {row['task_id']}, repeat {row['repeat']})"
    )
    participants = sorted({event["participant"] for event in row["events"] if event["participant"]})
    colours = {name: COLOURS[index % len(COLOURS)] for index, name in enumerate(participants)}
    turn = None
    for event in row["events"]:
        if event["turn"] != turn and event["kind"] == "message":
            turn = event["turn"]
            console.rule(f"turn {turn + 1}: {event['participant']}", align="left", style="dim")
        _print_event(console, event, colours)
    _print_end(console, row)


def _print_event(console: Console, event: dict[str, Any], colours: dict[str, str]) -> None:
    text = "\n".join(part["text"] for part in event["content"])
    name = event["participant"] or ""
    kind = event["kind"]
    if kind == "stop":
        return
    seen_by = event["visible_to"]
    if kind == "message":
        label, style = name, colours[name]
    elif kind == "tool_result":
        label, style, text = f"tool, to {name}", "red" if event["error"] else "dim", _readable(text)
    elif kind == "note":
        label, style = "note", "dim"
    elif kind == "verdict":
        label, style = f"verdict {event['reward']:g}", "cyan"
    else:
        label, style = f"{kind}, to {', '.join(seen_by)}", "dim"
    if event["reasoning"]:
        console.print(f"[{style}]{label} thinks:[/] [dim]{escape(event['reasoning'])}[/]")
    if text or not event["tool_calls"]:
        console.print(f"[{style} bold]{label}:[/] {escape(text) or '(nothing)'}", highlight=False)
    for call in event["tool_calls"]:
        console.print(
            f"[{style} bold]{label} calls[/] {escape(call['name'] or '?')}({escape(call['arguments'])})",
            highlight=False,
        )
    if event["finish_reason"] == "length":
        console.print("[red]cut at max_tokens[/]")


def _print_end(console: Console, row: dict[str, Any]) -> None:
    console.rule(style="dim")
    console.print(f"[bold]{row['status']}[/bold], stopped by {row['stop_reason']}: {escape(row['stop_text'] or '-')}")
    if row["failure"]:
        failure = row["failure"]
        console.print(f"[red]{failure['kind']} failure in {escape(failure['where'])}: {escape(failure['message'])}[/]")
    for reward in row["rewards"]:
        console.print(f"{reward['participant']} {reward['name']}: {reward['value']:g}")
    for thread, tools in json.loads(row["tools_shown"] or "{}").items():
        names = ", ".join(tool["function"]["name"] for tool in tools)
        console.print(f"[dim]tools shown to {escape(thread)}: {escape(names)}[/]", highlight=False)
    for sample in row["samples"]:
        trained = sum(sample["loss_mask"])
        fork = f", forked: {sample['fork_reason']}" if sample["fork_reason"] else ""
        mark = "" if sample["trainable"] else ", not trainable"
        console.print(
            f"[dim]sample of {sample['participant']}: {len(sample['token_ids'])} tokens, {trained} generated{fork}{mark}[/]"
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
