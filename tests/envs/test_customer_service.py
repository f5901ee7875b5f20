"""Checks the scores of customer service: changes of the books count, and the customer's faults are not the policy's."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from customer_service_plays import (
    JUDGED,
    MORE,
    STOP,
    UNJUDGED,
    broken,
    environment,
    outage_of,
    parts_of,
    played,
    results_of,
    task_of,
)
from playing_tasks import generated, play_task, reward_of
from pydantic import ValidationError

from ray_gym import Message
from ray_gym.envs.customer_service.company import CREDIT_LIMIT
from ray_gym.envs.customer_service.generator import KINDS
from ray_gym.envs.customer_service.perfect import agent_lines, call, says_and_does
from ray_gym.envs.customer_service.task import CustomerServiceTask
from ray_gym.stop import StopReason

EXAMPLES = Path(__file__).parents[2] / "envs" / "customer_service" / "example.jsonl"


# ---- perfect play ----


@pytest.mark.parametrize("first", ["user", "policy"])
async def test_perfect_play_gets_the_maximum(first: str) -> None:
    playing = environment(first_speaker=first)
    kinds = set()
    for index in range(200 if first == "user" else 50):
        task = generated(playing, index)
        one = await play_task(playing, task, seed=index, limits={"max_turns": 6}, user={"stop_text": STOP})
        assert reward_of(one) == 1, (task, parts_of(one))
        assert one.episode.stop is not None and one.episode.stop.reason == StopReason.STOP_TEXT
        assert one.episode.usage.tool_errors == 0
        assert one.episode.turns[0].speaker == first
        kinds.add(task.goal.kind)
    assert kinds == set(KINDS) and len(kinds) == 10


async def test_without_a_judge_only_the_state_counts() -> None:
    assert UNJUDGED.auxiliary == () and JUDGED.auxiliary == ("judge",)
    for kind in KINDS:
        one = await played(task_of(kind))
        assert reward_of(one) == 1 and "manner" not in parts_of(one)
        assert not [event for event in one.episode.events if event.kind == "judge"]


async def test_without_a_stop_text_the_turns_end_it() -> None:
    one = await played(task_of("plan_change"), stop_text=None)
    assert reward_of(one) == 1
    assert one.episode.stop is not None and one.episode.stop.reason == StopReason.MAX_TURNS


# ---- wrong play ----

Lines = Callable[[CustomerServiceTask], list[Message]]


def without(name: str) -> Lines:
    """Perfect play that leaves out the calls of one tool."""
    return lambda task: [line for line in agent_lines(task) if not any(c.name == name for c in line.tool_calls)]


def instead(name: str, **arguments: Any) -> Lines:
    """Perfect play with other arguments for one tool."""

    def lines(task: CustomerServiceTask) -> list[Message]:
        found = agent_lines(task)
        (at,) = [place for place, line in enumerate(found) if any(one.name == name for one in line.tool_calls)]
        found[at] = call(name, **{**json.loads(found[at].tool_calls[0].arguments), **arguments})
        return found

    return lines


def and_then(name: str, **arguments: Any) -> Lines:
    """Perfect play, with one call more before the last words."""

    def lines(task: CustomerServiceTask) -> list[Message]:
        numbered = {"customer_number": task.customer.number} if name != "record_refusal" else {}
        return [*agent_lines(task)[:-1], call(name, **numbered, **arguments), MORE]

    return lines


def looks_last(task: CustomerServiceTask) -> list[Message]:
    """Decides, and looks up what it should have been decided by."""
    *before, look, decide, last = agent_lines(task)
    return [*before, decide, look, last]


def grants_what_is_forbidden(task: CustomerServiceTask) -> list[Message]:
    number, who = task.customer.number, agent_lines(task)[:3]
    if task.goal.kind == "other_account":
        return [*who, call("look_up_customer", number_or_phone=task.goal.other.number), MORE]
    if task.goal.kind == "early_downgrade":
        return [*who, call("change_plan", customer_number=number, plan=task.goal.plan), MORE]
    if task.goal.kind == "late_payment":
        return [*who, call("remove_invoice_line", invoice=task.customer.invoice, line=2), MORE]
    dollars = {"full_refund": 200, "credit_without_outage": 12}[task.goal.kind]
    return [*who, call("issue_credit", customer_number=number, dollars=dollars), MORE]


@pytest.mark.parametrize(
    ("kind", "lines", "wrong"),
    [
        ("outage_credit", lambda task: [MORE], {"credits", "facts_looked_up"}),
        ("outage_credit", without("check_outages"), {"facts_looked_up"}),
        ("outage_credit", without("look_up_customer"), {"facts_looked_up"}),
        ("outage_credit", instead("check_outages", area="Elsewhere"), {"facts_looked_up"}),
        ("outage_credit", looks_last, {"facts_looked_up"}),
        ("credit_without_outage", without("check_outages"), {"facts_looked_up"}),
        ("outage_credit", without("verify_identity"), {"identity_checked"}),
        ("outage_credit", instead("issue_credit", dollars=1), {"credits"}),
        ("outage_credit", instead("issue_credit", dollars=CREDIT_LIMIT + 1), {"credits", "credit_within_limit"}),
        ("outage_credit", and_then("issue_credit", dollars=1), {"credits"}),
        ("outage_credit", instead("verify_identity", pin="none"), {"identity_checked"}),
        ("outage_credit", and_then("record_refusal", reason="no_outage"), {"refusals"}),
        ("slow_connection", and_then("open_ticket", subject="technician"), {"tickets"}),
        ("slow_connection", lambda task: [*agent_lines(task)[:4], MORE], {"line"}),
        ("faulty_line", without("open_ticket"), {"tickets"}),
        ("faulty_line", instead("open_ticket", subject="billing"), {"tickets"}),
        (
            "faulty_line",
            lambda task: [Message("assistant", "Restart it, please."), MORE],
            {"tickets", "facts_looked_up"},
        ),
        ("faulty_line", without("check_line"), {"facts_looked_up"}),
        ("slow_connection", without("check_line"), {"facts_looked_up"}),
        ("wrong_invoice", without("remove_invoice_line"), {"invoice_lines"}),
        ("wrong_invoice", instead("remove_invoice_line", line=1), {"invoice_lines"}),
        ("wrong_invoice", without("find_payment"), {"facts_looked_up"}),
        ("wrong_invoice", without("show_invoice"), {"facts_looked_up"}),
        ("late_payment", without("find_payment"), {"facts_looked_up"}),
        ("late_payment", grants_what_is_forbidden, {"invoice_lines", "refusals", "facts_looked_up"}),
        ("plan_change", without("look_up_customer"), {"facts_looked_up"}),
        ("plan_change", and_then("issue_credit", dollars=5), {"credits"}),
        ("plan_change", without("change_plan"), {"plans"}),
        ("full_refund", without("record_refusal"), {"refusals"}),
        ("full_refund", instead("record_refusal", reason="no_outage"), {"refusals"}),
        ("full_refund", grants_what_is_forbidden, {"credits", "refusals", "credit_within_limit"}),
        ("credit_without_outage", grants_what_is_forbidden, {"credits", "refusals", "facts_looked_up"}),
        ("early_downgrade", grants_what_is_forbidden, {"plans", "refusals"}),
        ("other_account", grants_what_is_forbidden, {"own_account_only", "refusals"}),
    ],
)
async def test_what_is_left_out_or_done_wrongly_costs_the_outcome(kind: str, lines: Lines, wrong: set[str]) -> None:
    task = outage_of(3) if kind == "outage_credit" else task_of(kind)
    one = await played(task, JUDGED, policy=says_and_does(lines(task)))
    assert broken(one) == wrong
    assert reward_of(one) == 0 and "manner" not in parts_of(one), "the best manner does not make up for it"
    assert reward_of(await played(task, policy=says_and_does(lines(task)))) == 0


@pytest.mark.parametrize(("days", "dollars"), [(1, 4), (7, 28), (8, 30), (14, 30)])
def test_a_credit_is_for_each_day_up_to_the_limit(days: int, dollars: int) -> None:
    task = outage_of(days)
    assert task.expected_books()["credits"] == {task.customer.number: [dollars]}


async def test_a_pin_can_not_be_found_by_trying() -> None:
    task = outage_of(3)
    number, pin = task.customer.number, task.customer.pin
    wrong = "0000" if pin != "0000" else "0001"
    tries = [call("verify_identity", customer_number=number, pin=tried) for tried in (wrong, wrong, wrong, pin)]
    credit = call("issue_credit", customer_number=number, dollars=12)
    looks = agent_lines(task)[1:4]
    one = await played(task, policy=says_and_does([*looks[::2], *tries, credit, MORE]))
    assert broken(one) == {"identity_checked"}
    assert "too many wrong PINs" in results_of(one, "policy")[5]


# ---- tasks ----


def test_generated_tasks_are_distinct_and_follow_from_their_seed() -> None:
    tasks = [generated(JUDGED, index).model_dump_json() for index in range(1000)]
    assert len(set(tasks)) >= 990
    assert tasks[:100] == [generated(JUDGED, index).model_dump_json() for index in range(100)]
    assert tasks[:100] != [generated(JUDGED, index, seed=1).model_dump_json() for index in range(100)]
    people = [json.loads(task) for task in tasks]
    assert len({json.dumps([one["persona"], one["customer"]["name"]]) for one in people}) >= 900
    forgotten = {tuple(one["persona"]["forgotten"]) for one in people}
    assert len(forgotten) == 4


async def test_the_example_rows_can_be_played() -> None:
    rows = EXAMPLES.read_text().splitlines()
    tasks = [CustomerServiceTask.model_validate_json(row) for row in rows]
    assert len({task.goal.kind for task in tasks}) == 5
    for task in tasks:
        assert reward_of(await played(task, JUDGED)) == 1


CUSTOMER = task_of("plan_change").model_dump()["customer"]
PAYMENT = {"sent_on_day": 12, "arrived_on_day": 14, "reference": "AB123456"}


@pytest.mark.parametrize(
    ("customer", "goal", "complaint"),
    [
        ({}, {"kind": "party"}, "does not match any of the expected tags"),
        ({}, {"kind": "outage_credit", "days": 0, "days_told": 1}, "greater than or equal to 1"),
        ({}, {"kind": "outage_credit", "days_told": 1}, "Field required"),
        ({}, {"kind": "outage_credit", "days": 1}, "Field required"),
        (
            {"plan": "Basic"},
            {"kind": "plan_change", "plan": "Basic"},
            "goal plan_change: the customer has the Basic plan already",
        ),
        (
            {"plan": "Studio", "months_left": 3},
            {"kind": "plan_change", "plan": "Basic"},
            "goal plan_change: a cheaper plan during the minimum term is the goal early_downgrade",
        ),
        (
            {"plan": "Studio", "months_left": 0},
            {"kind": "early_downgrade", "plan": "Basic"},
            "goal early_downgrade: the customer's minimum term is over",
        ),
        ({"plan": "Basic"}, {"kind": "early_downgrade", "plan": "Family"}, "Family is not cheaper than Basic"),
        (
            {},
            {"kind": "other_account", "relation": "me", "other": CUSTOMER},
            "the customer's own number, phone or invoice",
        ),
        ({}, {**PAYMENT, "kind": "wrong_invoice", "sent_on_day": 16}, "less than or equal to 15"),
        ({}, {**PAYMENT, "kind": "wrong_invoice", "arrived_on_day": 16}, "less than or equal to 15"),
        ({}, {**PAYMENT, "kind": "wrong_invoice", "arrived_on_day": 9}, "arrived (day 9) before it was sent (day 12)"),
        ({}, {**PAYMENT, "kind": "late_payment"}, "greater than 15"),
        ({"invoice": "7"}, {"kind": "outage_credit", "days": 1, "days_told": 1}, "String should match pattern"),
        ({"pin": "12"}, {"kind": "outage_credit", "days": 1, "days_told": 1}, "String should match pattern"),
        ({"plan": "Gold"}, {"kind": "outage_credit", "days": 1, "days_told": 1}, "'Basic', 'Family' or 'Studio'"),
        ({"age": 3}, {"kind": "outage_credit", "days": 1, "days_told": 1}, "Extra inputs are not permitted"),
    ],
)
def test_bad_rows_are_refused(customer: dict[str, Any], goal: dict[str, Any], complaint: str) -> None:
    row = task_of("plan_change").model_dump()
    with pytest.raises(ValidationError, match=re.escape(complaint)):
        CustomerServiceTask.model_validate({**row, "customer": {**CUSTOMER, **customer}, "goal": goal})


def test_rows_with_earlier_tool_calls_are_refused() -> None:
    row, greeting = task_of("plan_change").model_dump(), {"role": "user", "content": "Hello."}
    asked = {"role": "assistant", "tool_calls": [{"id": "a", "name": "check_outages", "arguments": "{}"}]}
    answered = {"role": "tool", "content": "{}", "tool_call_id": "a"}
    with pytest.raises(ValidationError, match="messages: they have tool calls"):
        CustomerServiceTask.model_validate({**row, "messages": [greeting, asked, answered]})
    CustomerServiceTask.model_validate({**row, "messages": [greeting]})
