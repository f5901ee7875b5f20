"""Holds a scripted customer. Like a model, it knows only its prompt and the agent's messages.

models: {customer: {engine: scripted, player: "ray_gym.envs.customer_service.players:customer"}}
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence

from ray_gym import Message, ToolCall
from ray_gym.models.base import CompletionRequest

_FACT = re.compile(r"^- ([^:\n]+): (.+)$", re.MULTILINE)
_STOP_TEXT = re.compile(r"end that message with (.+)$", re.MULTILINE)
_REFUSED = re.compile(r"\b(can't|cannot|can not|not able|unable|not allowed|not possible)\b")
_DETAILS = {"phone number": "phone", "customer number": "customer number", "security PIN": "pin"}
"""Facts of the customer, and the word by which an agent asks for each."""
_ACTIONS = {
    "restart_router": ("restart", "reboot", "switch it off"),
    "send_photo_of_router": ("photo", "picture"),
    "look_at_router": ("light",),
    "run_speed_test": ("speed test",),
    "check_bank_statement": ("reference", "bank statement"),
}
_LETTER = "read_welcome_letter"
_GOODBYE = "No, that was all. Goodbye!"
_INSISTS = "Is there really no way?"


def customer(request: CompletionRequest, rng: random.Random) -> Message:
    """Plays a customer who does what the agent asks for, and insists once when refused.

    The customer leaves when asked whether there is anything else.
    """
    prompt = request.messages[0].content
    facts = dict(_FACT.findall(prompt))
    heard, own = _since_the_agent_spoke(request.messages)
    asked = heard.lower()
    results = _results(own)
    for name in _tools_for(asked, facts):
        if name not in results and any(tool.name == name for tool in request.tools):
            return Message("assistant", tool_calls=(ToolCall(f"call_{rng.getrandbits(32):08x}", name, "{}"),))
    said = [message.content for message in request.messages if message.role == "assistant" and message.content]
    answers = [_answer(name, result) for name, result in results.items() if name != _LETTER]
    answers += _details(asked, facts, json.loads(results.get(_LETTER, "{}")))
    if not said:
        return Message("assistant", " ".join([facts["reason"], *answers]))
    if answers:
        return Message("assistant", " ".join(answers))
    if _REFUSED.search(asked) and _INSISTS not in said:
        return Message("assistant", _INSISTS)
    if "anything else" in asked:
        stop_text = _STOP_TEXT.search(prompt)
        return Message("assistant", f"{_GOODBYE} {stop_text[1]}" if stop_text else _GOODBYE)
    return Message("assistant", "Could you help me with that, please?" if len(said) % 2 else facts["reason"])


def _since_the_agent_spoke(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    """Returns the agent's last message ("" if the agent has written none), and the customer's messages after it."""
    last = max((place for place, message in enumerate(messages) if message.role == "user"), default=0)
    return messages[last].content if last else "", messages[last + 1 :]


def _results(own: Sequence[Message]) -> dict[str, str]:
    """Returns the last answer of each tool that was called in these messages, by the tool's name."""
    called = [call.name for message in own for call in message.tool_calls]
    return dict(zip(called, (message.content for message in own if message.role == "tool"), strict=False))


def _tools_for(asked: str, facts: dict[str, str]) -> list[str]:
    """Returns the names of the customer's tools that a message of the agent (`asked`, in lower case) calls for. The
    welcome letter is one of them if the agent asks for a detail that the customer has forgotten.
    """
    wanted = [name for name, words in _ACTIONS.items() if any(word in asked for word in words)]
    forgotten = [word for detail, word in _DETAILS.items() if _LETTER in facts.get(detail, "")]
    return wanted + ([_LETTER] if any(_asks_for(word, asked) for word in forgotten) else [])


def _details(asked: str, facts: dict[str, str], letter: dict[str, str]) -> list[str]:
    known = {**facts, **letter}
    wanted = [detail for detail, word in _DETAILS.items() if _asks_for(word, asked)]
    return [
        f"I don't have my {detail} at hand." if _LETTER in known[detail] else f"My {detail} is {known[detail]}."
        for detail in wanted
        if detail in known
    ]


def _asks_for(word: str, asked: str) -> bool:
    return re.search(rf"\b{word}\b", asked) is not None


def _answer(name: str, result: str) -> str:
    if name == "send_photo_of_router":
        return "I have sent you a photo of it."
    found = json.loads(result)
    if name == "run_speed_test":
        return f"The speed test says {found['megabits']} megabits a second."
    if name == "check_bank_statement":
        return f"I paid on day {found['sent_on_day']} of the month, with the reference {found['reference']}."
    done = "I have restarted it. The" if name == "restart_router" else "The"
    return f"{done} internet light is {found['internet']}."
