"""Writes the system prompts of the agent and of the customer."""

from __future__ import annotations

from collections.abc import Sequence

from ray_gym.envs.customer_service.company import COMPANY, HOUSE_RULES
from ray_gym.envs.customer_service.office import Office
from ray_gym.envs.customer_service.task import CustomerServiceTask

CUSTOMER_BEGINS = f"(The chat with {COMPANY} is open, and an agent is there. Write your first message.)"
AGENT_BEGINS = "(A customer has opened the chat. Greet them, and ask what you can do.)"
STILL_BUSY = "(The agent is still at it.)"

_AGENT = f"""\
You are an agent of {COMPANY}, an internet provider, in the support chat with one customer. Find out what the customer \
needs, and do it with your tools, as far as the house rules allow. Be brief, polite and truthful: what you say you have \
done, you must have done.

House rules
{HOUSE_RULES}"""

_ROLE = f"""\
You play a customer who writes to the support chat of {COMPANY}, an internet provider. The other side is the agent. Write \
only what this person would write: one to three short sentences, in their manner. Keep to the facts below and to what your \
tools show, and make up nothing else."""

_INSTRUCTIONS = """\
Instructions
- Say first why you write. Give a detail only when the agent asks for it.
- Use a tool when the agent asks for something that only it can show or do, and then say in your own words what came of it. \
Restart the router only when the agent asks you to.
- If the agent refuses what you ask for, ask once whether there is really no way. If the answer is still no, accept it."""


def agent_prompt(completion_signals: Sequence[str]) -> str:
    """Returns the agent's system prompt. It names the words that close the chat, if there are any."""
    if not completion_signals:
        return _AGENT
    signals = " or ".join(f'"{signal}"' for signal in completion_signals)
    return f"{_AGENT}\n\nWhen all is done and the customer has no more questions, close the chat with a message that says {signals}."


def customer_facts(task: CustomerServiceTask) -> str:
    """Returns a text about the person, their goal and knowledge, to which the customer's lines have to be true."""
    customer, persona = task.customer, task.persona
    details = {"customer number": customer.number, "security PIN": customer.pin}
    known = {"phone number": customer.phone, **{k: v for k, v in details.items() if k not in persona.forgotten}}
    unknown = [f"- {detail}: it is in your welcome letter (read_welcome_letter)" for detail in persona.forgotten]
    parts = [
        "Who you are",
        f"- name: {customer.name}",
        f"- occupation: {persona.occupation}",
        f"- manner: {persona.manner}",
        f"- situation: {persona.situation}",
        "",
        "Why you write",
        f"- reason: {task.goal.reason(customer)}",
        f"- goal: {task.goal.wish()}",
        "",
        "What you know",
        f"- area where you live: {customer.area}",
        f"- plan: {customer.plan}",
        *(f"- {detail}: {value}" for detail, value in known.items()),
        *(["", "What you don't know by heart", *unknown] if unknown else []),
    ]
    return "\n".join(parts)


def customer_prompt(task: CustomerServiceTask, office: Office) -> str:
    """Returns the customer's system prompt. It names the office's stop text, which ends the chat, if there is one."""
    ending = "- When you have what you came for, or have accepted that you can't have it, say goodbye"
    ending += f" and end that message with {office.stop_text}" if office.stop_text else "."
    return f"{_ROLE}\n\n{customer_facts(task)}\n\n{_INSTRUCTIONS}\n{ending}"
