"""Prints an episode as a conversation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from ray_gym.errors import UserError
from ray_gym.printable import data, data_line
from ray_gym.record.schema import SCHEMA
from ray_gym.run.directory.intact import intact_rows
from ray_gym.run.directory.location import shell_quoted
from ray_gym.run.directory.reading import Run

COLOURS = ("cyan", "magenta", "yellow", "green")
ROWS = 64
"""Most rows that are read at once."""


def show_episode(console: Console, run: Run, prefix: str) -> None:
    """Prints one episode as a conversation. `prefix`: the episode's id, or how it begins. Errors: UserError if no
    episode, or more than one, has it.
    """
    row = _row_of(run, prefix)
    console.print(
        f"[bold]{data_line(row['env_id'])}[/bold] episode {data_line(row['episode_id'])} (task {data_line(row['task_id'])}, "
        f"repeat {row['repeat']}{_tries(row)})"
    )
    participants = sorted({event["participant"] for event in row["events"] if event["participant"]})
    colours = {name: COLOURS[index % len(COLOURS)] for index, name in enumerate(participants)}
    turn = None
    for event in _said_once(row["events"]):
        if event["turn"] != turn and event["kind"] == "message":
            turn = event["turn"]
            console.rule(f"turn {turn + 1}: {data_line(event['participant'])}", align="left", style="dim")
        _print_event(console, event, colours)
    _print_end(console, row)


def _row_of(run: Run, prefix: str) -> dict[str, Any]:
    """Returns the row of the episode with this id, else of the one whose id begins so. Errors: UserError if no episode,
    or more than one, does.
    """
    damages: list[str] = []
    ids = [
        one
        for batch in intact_rows(run.storage, ["episode_id"], ROWS, damages)
        for one in batch["episode_id"].to_pylist()
    ]
    found = [prefix] if prefix in ids else [one for one in ids if one.startswith(prefix)]
    if len(found) != 1:
        what = "no episode begins" if not found else f"{len(found)} episodes begin"
        lost = f"; what can't be read: {'; '.join(damages)}" if damages else ""
        raise UserError(
            f"{what} with {prefix!r} in {run.location}; `ray-gym show {shell_quoted(run.location)}` lists them{lost}"
        )
    for batch in intact_rows(run.storage, SCHEMA.names, ROWS, []):
        for place in pc.index_in(pa.array(found), batch["episode_id"]).drop_null().to_pylist():
            return cast("dict[str, Any]", batch.slice(place, 1).to_pylist()[0])
    raise UserError(f"{run.location}: the row of episode {found[0]} can't be read")


def _tries(row: dict[str, Any]) -> str:
    """Returns words for an episode that was not kept at its first try."""
    again = [f"{name} {row[name] + 1}" for name in ("try", "attempt") if row[name]]
    return "".join(f", {words}" for words in again)


Said = tuple[str, str, str]
"""Role, text and calls of an event."""


def _said_once(events: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yields events without what was shown before: a conversation of a judge or an agent may begin as an earlier one of
    the same participant's, or with words of its opening, and an agent's answer is the last that its model said.
    """
    nodes: dict[Any, int] = {}  # a tree of beginnings: what follows a node is a node, whose key names both
    at_node: dict[str, int] = {}
    first_in: dict[tuple[str, Said], str] = {}
    unanswered: dict[str, dict[str, Said]] = {}  # by participant: the last words of its conversations since its last
    ends = {event["thread"]: at for at, event in enumerate(events)}
    for at, event in enumerate(events):
        name, thread, new = event["participant"], event["thread"], _said(event)
        if not thread or not name:
            yield event
            continue
        key = at_node.get(thread, name), new
        goes_on = key in nodes and at != ends[thread]
        at_node[thread] = nodes.setdefault(key, len(nodes))
        is_opening = first_in.setdefault((name, new), thread) != thread and event["kind"] == "opening"
        is_answer = False
        if thread != name:
            unanswered.setdefault(name, {})[thread] = new
        elif event["kind"] == "message":
            is_answer = new in unanswered.pop(name, {}).values()
        if not (goes_on or is_opening or is_answer):
            yield event


def _said(event: dict[str, Any]) -> Said:
    return event["role"] or "", "\n".join(part["text"] for part in event["content"]), json.dumps(event["tool_calls"])


def _print_event(console: Console, event: dict[str, Any], colours: dict[str, str]) -> None:
    text = "\n".join(part["text"] for part in event["content"])
    name = event["participant"] or ""
    said_by = data_line(name)
    kind = data_line(event["kind"])
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
    elif kind == "tool_call":
        _print_calls(console, event, said_by, colours.get(name, "dim"))
        label, style, text = f"tool, to {said_by}", "red" if event["error"] else "dim", _readable(text)
    else:
        label, style = f"{kind}, to {data_line(', '.join(seen_by))}", "dim"
    if event["reasoning"]:
        console.print(f"[{style}]{label} thinks:[/] [dim]{data(event['reasoning'])}[/]")
    if text or not event["tool_calls"]:
        console.print(f"[{style} bold]{label}:[/] {data(text) or '(nothing)'}", highlight=False)
    if kind != "tool_call":
        _print_calls(console, event, label, style)
    if event["finish_reason"] == "length":
        console.print("[red]cut at max_tokens[/]")


def _print_calls(console: Console, event: dict[str, Any], label: str, style: str) -> None:
    for call in event["tool_calls"]:
        named = f"{data_line(call['name'] or '?')}({data(call['arguments'])})"
        console.print(f"[{style} bold]{label} calls[/] {named}", highlight=False)


def _print_end(console: Console, row: dict[str, Any]) -> None:
    console.rule(style="dim")
    console.print(
        f"[bold]{data_line(row['status'])}[/], stopped by {data_line(row['stop_reason'])}: {data_line(row['stop_text'] or '-')}"
    )
    if row["failure"]:
        failure = row["failure"]
        console.print(
            f"[red]{data_line(failure['kind'])} failure in {data_line(failure['where'])}: {data_line(failure['message'])}[/]"
        )
        console.print(f"[dim]{data(row['traceback'] or '')}[/]", highlight=False, end="\n" * bool(row["traceback"]))
    for reward in row["rewards"]:
        console.print(f"{data_line(reward['participant'])} {data_line(reward['name'])}: {reward['value']:g}")
    for thread, tools in json.loads(row["tools_shown"] or "{}").items():
        names = ", ".join(tool["function"]["name"] for tool in tools)
        console.print(f"[dim]tools shown to {data_line(thread)}: {data_line(names)}[/]", highlight=False)
    for sample in row["samples"]:
        trained = sum(sample["loss_mask"])
        fork = f", forked: {data_line(sample['fork_reason'])}" if sample["fork_reason"] else ""
        mark = "" if sample["trainable"] else ", not trainable"
        console.print(
            f"[dim]sample of {data_line(sample['participant'])}: {len(sample['token_ids'])} tokens, {trained} generated{fork}{mark}[/]"
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
