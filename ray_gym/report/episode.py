"""Shows one episode of a run: why it was chosen, its facts, what happened, and the tokens that it trains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ray_gym.report.bounds import Allowance
from ray_gym.report.conversation import conversation
from ray_gym.report.markup import Content, Markup, element
from ray_gym.report.numbers import moment, number, of, plain, short
from ray_gym.report.tables import table
from ray_gym.report.texts import folded, json_block, text_block
from ray_gym.report.token_flow import Tokenizers, samples_of
from ray_gym.viewer.sample_tokens import Annotations

Row = Mapping[str, Any]
MOST_REWARDS = 30
SPELLED = "They are left out, as they would spell what was redacted."


def shown_episode(
    place: int,
    row: Row,
    reasons: Sequence[str],
    noted: Annotations,
    tokenizers: Tokenizers | None,
    allowance: Allowance,
) -> Markup:
    """Returns an episode, folded. `place`: its number on the page, from 1; `row`: its row of the record; `reasons`: those
    for which it was chosen; `noted`: what a trainer noted of its tokens; `tokenizers`: None
    leaves the tokens out, as they would spell what was redacted.
    """
    inside: list[Content] = [_facts(row)]
    inside += _failure(row, allowance)
    inside += _rewards(row)
    if row["task"]:
        inside.append(folded("the task", json_block(row["task"], allowance)))
    inside.append(element("h4", "What happened"))
    inside += conversation(row["events"] or (), row["tools_shown"], allowance)
    inside.append(element("h4", "Tokens that are trained on"))
    if tokenizers is None:
        inside.append(element("p", SPELLED, class_="quiet"))
    else:
        inside += samples_of(row, noted, tokenizers, allowance)
    opened = element("details", element("summary", _summary(place, row, reasons)), inside, class_="episode")
    return element("article", opened, id=f"episode-{place}", aria_labelledby=f"name-{place}")


def _summary(place: int, row: Row, reasons: Sequence[str]) -> Iterator[Content]:
    name = element("span", f"{place}. ", element("code", short(row["episode_id"], 60)), id=f"name-{place}")
    yield element("h3", name, _outcome(row))
    yield element("span", "; ".join(reasons), class_="why")


def _outcome(row: Row) -> Markup:
    if row["status"] == "failed":
        kind = (row["failure"] or {}).get("kind")
        return element("span", f"failed: {short(kind, 40)}" if kind else "failed", class_="chip bad")
    reward = row["reward"]
    return element("span", short(row["status"], 40) if reward is None else f"reward {plain(reward)}", class_="chip")


def _facts(row: Row) -> Markup:
    usage = row["usage"] or {}
    stopped = short(row["stop_reason"], 60) + (f": {short(row['stop_text'], 200)}" if row["stop_text"] else "")
    facts: dict[str, Content] = {
        "environment": short(row["env_id"]),
        "task": short(row["task_id"]),
        "group": f"{short(row['group_id'])}, repeat {row['repeat']}",
        "stopped by": stopped,
        "turns": number_of(row["turns"]),
        "generated tokens": number_of(usage.get("generated_tokens")),
        "model calls": number_of(usage.get("model_calls")),
        "tool calls": f"{number_of(usage.get('tool_calls'))}, {of(usage.get('tool_errors') or 0, 'error')}",
        "began": moment(row["started_at"]),
    }
    return element(
        "dl",
        ([element("div", element("dt", name), element("dd", value))] for name, value in facts.items()),
        class_="facts",
    )


def number_of(value: int | None) -> str:
    """Returns a whole number of the record, which may lack it."""
    return "unknown" if value is None else f"{value:,}"


def _failure(row: Row, allowance: Allowance) -> Iterator[Content]:
    failure = row["failure"]
    if failure:
        told = f"{short(failure['kind'], 60)} failure in {short(failure['where'])}"
        yield element("div", element("strong", told), text_block(failure["message"] or "", allowance), class_="failure")
    if row["traceback"]:
        yield folded("where it failed", text_block(row["traceback"], allowance, "code"))


def _rewards(row: Row) -> Iterator[Content]:
    rewards = row["rewards"] or []
    if len(rewards) > 1:
        rows = [[short(one["participant"], 60), short(one["name"]), number(one["value"])] for one in rewards]
        yield table("Rewards", ["participant", "name", "value"], rows[:MOST_REWARDS], texts=2)
