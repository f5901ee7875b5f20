"""Plays an agent that does everything right, for tests and baselines. It knows the task, and acts as a model does."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

from ray_gym import Message, ToolCall
from ray_gym.envs.customer_service.company import Refusal
from ray_gym.envs.customer_service.goals import (
    LATE_FEE_LINE,
    BadConnection,
    DaysWithoutInternet,
    FaultyLine,
    LateFee,
    OutageCredit,
    PlanChange,
    SlowConnection,
    WrongInvoice,
)
from ray_gym.envs.customer_service.judging import GOOD, TRUE_TO_ROLE
from ray_gym.envs.customer_service.players import customer as scripted_customer
from ray_gym.envs.customer_service.task import CustomerServiceTask
from ray_gym.models.base import CompletionRequest
from ray_gym.models.player import Player

GREETING = "Welcome to Larkwave! What can I do for you?"
ASK_WHO = "I will gladly look into it. What are your phone number and your security PIN, please?"
_MORE = "Is there anything else I can do for you?"
_REFUSALS: Mapping[Refusal, str] = {
    "refund": "fees that were charged rightly are not paid back",
    "other_account": "an account is a matter of its holder alone",
    "minimum_term": "a cheaper plan has to wait for the end of your minimum term",
    "no_outage": "there was no outage in your area",
    "paid_late": "your payment arrived after the day it was due, so the fee stays",
}


def perfect_players(task: CustomerServiceTask, *, greets: bool) -> Mapping[str, Player]:
    """Returns the perfect agent of a task, a scripted customer and a judge who is always content, by participant.

    `greets`: True if the agent speaks first.
    """
    return {"policy": says_and_does(agent_lines(task, greets=greets)), "user": scripted_customer, "judge": judge}


def says_and_does(lines: Sequence[Message]) -> Player:
    """Makes a player that gives the messages one after the other, and then the last one again and again."""

    def player(request: CompletionRequest, rng: random.Random) -> Message:
        done = sum(message.role == "assistant" for message in request.messages)
        return lines[min(done, len(lines) - 1)]

    return player


def judge(request: CompletionRequest, rng: random.Random) -> Message:
    """Plays a judge who finds no fault with anybody."""
    return Message("assistant", TRUE_TO_ROLE if TRUE_TO_ROLE in request.messages[-1].content else GOOD)


def agent_lines(task: CustomerServiceTask, *, greets: bool = False) -> list[Message]:
    """Returns the messages of the perfect agent, in order. `greets`: True if the agent speaks first."""
    customer = task.customer
    who = [
        _say(ASK_WHO),
        call("look_up_customer", number_or_phone=customer.phone),
        call("verify_identity", customer_number=customer.number, pin=customer.pin),
    ]
    return [*([_say(GREETING)] if greets else []), *who, *_handle_request(task)]


def call(name: str, **arguments: Any) -> Message:
    """Returns a message of the agent that calls one tool with these arguments."""
    return Message("assistant", tool_calls=(ToolCall(f"call_{name}", name, json.dumps(arguments)),))


def _handle_request(task: CustomerServiceTask) -> list[Message]:
    """Returns the agent's messages after the check of the customer's identity: the lookups, and then the right action
    or the refusal.
    """
    return [*_look(task), *_decide(task)]


def _look(task: CustomerServiceTask) -> list[Message]:
    """Returns the agent's messages that look up the facts which the house rules require beside the account."""
    match task.goal:
        case DaysWithoutInternet():
            return [call("check_outages", area=task.customer.area)]
        case BadConnection():
            return [call("check_line", customer_number=task.customer.number)]
        case LateFee(reference=reference):
            return [
                call("show_invoice", invoice=task.customer.invoice),
                _say("I see the fee. Which reference does your payment have on your bank statement?"),
                call("find_payment", reference=reference),
            ]
    return []


def _decide(task: CustomerServiceTask) -> list[Message]:
    number, goal = task.customer.number, task.goal
    match goal:
        case OutageCredit():
            (dollars,) = goal.outcome(task.customer)["credits"][number]
            return [
                call("issue_credit", customer_number=number, dollars=dollars),
                _finish_message("You have your credit."),
            ]
        case SlowConnection():
            return [
                _say("Your router hangs. Would you restart it, please?"),
                *_look(task),
                _finish_message("All is well again."),
            ]
        case FaultyLine():
            ticket = call("open_ticket", customer_number=number, subject="technician")
            return [ticket, _finish_message("The line is faulty, so a technician will come.")]
        case WrongInvoice():
            remove = call("remove_invoice_line", invoice=task.customer.invoice, line=LATE_FEE_LINE)
            return [remove, _finish_message("You are right, and the fee is gone.")]
        case PlanChange():
            change = call("change_plan", customer_number=number, plan=goal.plan)
            return [change, _finish_message(f"You are on the {goal.plan} plan now.")]
        case _:
            return _refuse(task)


def _refuse(task: CustomerServiceTask) -> list[Message]:
    reason = task.goal.refusal
    assert reason is not None
    why = f"I am sorry, but I can't do that: {_REFUSALS[reason]}."
    return [call("record_refusal", reason=reason), _say(why), _finish_message(why)]


def _say(text: str) -> Message:
    return Message("assistant", text)


def _finish_message(what: str) -> Message:
    return _say(f"{what} {_MORE}")
