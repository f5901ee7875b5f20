"""Prints the closing lines of a run."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from ray_gym.errors import RunFailed
from ray_gym.models.price import told_money
from ray_gym.printable import data_line
from ray_gym.run.directory.location import shell_quoted

SCORED = "scored all the same"
"""Words for episodes that have a reward in spite of a failure, which was the policy's own."""


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
                f"  {label}: " + ", ".join(f"{data_line(name)} {count}" for name, count in counts[:12]),
                soft_wrap=True,
            )
    if summary["mean_reward"] is not None:
        console.print(f"  mean reward: {summary['mean_reward']:.3f}, of {summary['rewarded']} episodes")
    print_warnings(console, summary)
    if summary["episodes"] > summary["already_done"]:
        console.print(
            f"  {summary['model_calls']:,} model calls, {summary['generated_tokens']:,} tokens generated "
            f"({summary['tokens_per_s']:,.0f} tok/s), {summary['episodes_per_s']:.1f} episodes/s",
            soft_wrap=True,
        )
    elif summary["episodes"] >= summary["of"]:
        console.print("  nothing was left to play")
    if cost := summary["cost"]:
        by_model = [f"{data_line(name)} {told_money(money)}" for name, money in cost["by_model"].items()]
        spent = [f"{told_money(cost['spent'])} of limits.max_cost spent"] if cost["spent"] is not None else []
        console.print(f"  cost: {told_money(cost['total'])} ({', '.join(by_model + spent)})", soft_wrap=True)
    print_failures(console, summary)
    recovered = [f"{count:,} {name.replace('_', ' ')}" for name, count in summary["recovery"].items() if count]
    if recovered:
        console.print(f"  recovery: {', '.join(recovered)}", soft_wrap=True)
    if summary["models_without_token_ids"]:
        names = data_line(", ".join(summary["models_without_token_ids"]))
        console.print(f"  no samples from {names}: such models give no token ids", soft_wrap=True)
    console.print(f"  {data_line(location)}", soft_wrap=True)
    if summary["interrupted"]:
        console.print(
            f"  resume it with: ray-gym rollout --resume {data_line(shell_quoted(location))}",
            soft_wrap=True,
        )
    else:
        console.print(f"  look at it with: ray-gym show {data_line(shell_quoted(location))}", soft_wrap=True)


def print_warnings(console: Console, summary: dict[str, Any]) -> None:
    """Prints what workers warned of, how many rewards are out of range, how many verdicts functions did not give, how many
    episodes have no reward as they failed, and how many were dropped with their groups.
    """
    for warning in summary["warnings"]:
        console.print(f"  [yellow]warning[/yellow]: {data_line(warning)}", soft_wrap=True)
    if outside := summary["rewards_out_of_range"]:
        console.print(f"  [yellow]warning[/yellow]: {out_of_range_line(outside)}")
    for told, count in summary["undecided"].items():
        line = undecided_line(told, count, bool(summary["already_done"]))
        console.print(f"  [yellow]warning[/yellow]: {data_line(line)}", soft_wrap=True)
    if failed := summary["status"].get("failed"):
        console.print(
            f"  [yellow]warning[/yellow]: {failed} of {summary['episodes']} episodes failed and have no reward"
        )
    if dropped := summary["status"].get("dropped"):
        console.print(f"  [yellow]warning[/yellow]: {dropped_line(dropped)}")


def out_of_range_line(outside: int) -> str:
    """Returns a line of text that tells how many rewards are not as the environment declares them."""
    return f"{outside} {'reward is' if outside == 1 else 'rewards are'} outside of the environment's reward_range"


def undecided_line(told: str, count: int, is_resumed: bool) -> str:
    """Returns a line of text that tells how often a function of a grader gave no verdict, and why. `is_resumed`: True if
    the run was resumed, since when these are counted.
    """
    since = " since the run was resumed" if is_resumed else ""
    return f"{count} {'verdict is' if count == 1 else 'verdicts are'} undecided{since}: {told}"


def dropped_line(dropped: int) -> str:
    """Returns a line of text that tells how many completed episodes the mean reward lacks, since groups were dropped."""
    return f"{dropped} dropped with their groups, not in the mean reward"


def print_failures(console: Console, summary: dict[str, Any]) -> None:
    """Prints the kinds of failures, each with its number, and those of episodes that are scored all the same."""
    for failure, count in summary["failures"].items():
        console.print(f"  [red]{count} failed[/red]: {data_line(failure)}", soft_wrap=True)
    if (failed := summary["status"].get("failed", 0)) > (listed := sum(summary["failures"].values())):
        console.print(f"  [red]{failed - listed} more failed[/red] in other ways")
    for failure, count in summary["scored_faults"].items():
        console.print(f"  [yellow]{count} {SCORED}[/yellow]: {data_line(failure)}", soft_wrap=True)


def require_completed(summary: dict[str, Any]) -> None:
    """Checks that not every episode failed, or was dropped with its group. Errors: RunFailed."""
    if summary["status"].get("failed") and not summary["status"].get("completed"):
        others = " or was dropped with its group" if summary["status"].get("dropped") else ""
        raise RunFailed(f"every episode failed{others}; see the failures above")
