"""Customer service can't be played by what the customer says: paired goals are told alike, and what is to be known must be looked up."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import pytest
from customer_service_plays import STOP, UNJUDGED, broken, task_of
from playing_tasks import generated, play_task, reward_of

from ray_gym import Message
from ray_gym.envs.customer_service.company import PLANS, outage_credit
from ray_gym.envs.customer_service.goals import (
    AnyGoal,
    CreditWithoutOutage,
    EarlyDowngrade,
    FaultyLine,
    LatePayment,
    OutageCredit,
    PlanChange,
    SlowConnection,
    WrongInvoice,
)
from ray_gym.envs.customer_service.perfect import call
from ray_gym.models.base import CompletionRequest

TASKS = 150
PAID = WrongInvoice(sent_on_day=12, arrived_on_day=14, reference="AB123456")
PRICES: dict[str, int] = {name: plan.dollars for name, plan in PLANS.items()}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (OutageCredit(days=3, days_told=5), CreditWithoutOutage(days_told=5)),
        (SlowConnection(symptom="it drops"), FaultyLine(symptom="it drops")),
        (PAID, LatePayment(**{**PAID.model_dump(exclude={"kind"}), "arrived_on_day": 16})),
        (PlanChange(plan="Basic"), EarlyDowngrade(plan="Basic")),
    ],
    ids=lambda goal: goal.kind,
)
def test_paired_goals_are_told_in_the_same_words(one: AnyGoal, other: AnyGoal) -> None:
    customer = task_of("plan_change").customer
    assert one.reason(customer) == other.reason(customer) and one.wish() == other.wish()
    assert one.outcome(customer) != other.outcome(customer)


def test_what_is_told_differs_from_what_is_so_now_and_then() -> None:
    goals = [generated(UNJUDGED, index).goal for index in range(1000)]
    outages = [goal for goal in goals if isinstance(goal, OutageCredit)]
    wrong = [goal for goal in outages if outage_credit(goal.days) != outage_credit(goal.days_told)]
    assert 0.35 < len(wrong) / len(outages) < 0.65
    sent: dict[str, set[int]] = {"wrong_invoice": set(), "late_payment": set()}
    symptoms: dict[str, set[str]] = {"slow_connection": set(), "faulty_line": set()}
    for goal in goals:
        if isinstance(goal, WrongInvoice | LatePayment):
            sent[goal.kind].add(goal.sent_on_day)
        elif isinstance(goal, SlowConnection | FaultyLine):
            symptoms[goal.kind].add(goal.symptom)
    assert sent["wrong_invoice"] == sent["late_payment"], "the customer's own day tells nothing"
    assert symptoms["slow_connection"] == symptoms["faulty_line"]


def test_no_number_of_the_task_follows_from_another() -> None:
    for index in range(200):
        task = generated(UNJUDGED, index)
        invoice = task.office().own.invoice
        assert invoice.id[4:] != task.customer.number[1:] and task.customer.number[1:] not in invoice.reference


async def test_an_agent_who_looks_nothing_up_gets_next_to_nothing() -> None:
    rewards, done = await _play(looks=False)
    assert rewards < 0.2 * TASKS
    assert done < 0.65 * TASKS, "nor would it often have done the right thing"


async def test_an_agent_who_looks_and_does_not_read_is_wrong_as_often() -> None:
    rewards, _ = await _play(looks=True)
    assert rewards < 0.65 * TASKS


async def _play(looks: bool) -> tuple[float, int]:
    """Returns the sum of the rewards, and how many tasks had the right end, whatever was looked up."""
    rewards, done = 0.0, 0
    for index in range(TASKS):
        task = generated(UNJUDGED, index)
        one = await play_task(UNJUDGED, task, {"policy": Guesser(looks)}, seed=index, user={"stop_text": STOP})
        rewards += reward_of(one)
        done += broken(one) <= {"facts_looked_up"}
    return rewards, done


class Guesser:
    """Decides by regular expressions over the customer's words. With `looks` it calls the tools that look things up, unread."""

    def __init__(self, looks: bool) -> None:
        self._looks = looks
        self._lines: Iterator[Message] | None = None
        self._heard = ""

    def __call__(self, request: CompletionRequest, rng: random.Random) -> Message:
        self._heard = "\n".join(message.content for message in request.messages if message.role == "user")
        self._results = "\n".join(message.content for message in request.messages if message.role == "tool")
        self._lines = self._lines or self._play()
        return next(self._lines, _say("Is there anything else?"))

    def _play(self) -> Iterator[Message]:
        yield _say("Your customer number and PIN, please?")
        number, pin = self._find(r"customer number is (C\d+)"), self._find(r"PIN is (\d+)")
        if self._looks:
            yield call("look_up_customer", number_or_phone=number)
        yield call("verify_identity", customer_number=number, pin=pin)
        if area := self._find(r"no internet in (.+?) for"):
            days = self._find(r"for (\d+) days") or "1"
            if self._looks:
                yield call("check_outages", area=area)
            yield call("issue_credit", customer_number=number, dollars=outage_credit(int(days)))
        elif self._find("(Something is wrong)"):
            if self._looks:
                yield call("check_line", customer_number=number)
            yield call("open_ticket", customer_number=number, subject="technician")
        elif self._find("(late fee)"):
            yield from self._late_fee(number)
        elif (old := self._find(r"from (\w+) to")) and (new := self._find(r"to the (\w+) plan")):
            yield from self._plan(number, old, new)
        else:
            reason = "refund" if self._find("(fees of the last)") else "other_account"
            yield call("record_refusal", reason=reason)

    def _late_fee(self, number: str) -> Iterator[Message]:
        invoice = self._find(r"(INV-\d+)", self._results) if self._looks else f"INV-{number[1:]}"
        if self._looks:
            yield call("show_invoice", invoice=invoice)
        yield _say("The reference on your bank statement, please?")
        if self._looks:
            yield call("find_payment", reference=self._find(r"reference (\w+)"))
        yield call("remove_invoice_line", invoice=invoice, line=2)

    def _plan(self, number: str, old: str, new: str) -> Iterator[Message]:
        if PRICES[new] < PRICES[old]:
            yield call("record_refusal", reason="minimum_term")
        else:
            yield call("change_plan", customer_number=number, plan=new)

    def _find(self, pattern: str, text: str | None = None) -> str:
        found = re.search(pattern, self._heard if text is None else text)
        return found[1] if found else ""


def _say(text: str) -> Message:
    return Message("assistant", text)
