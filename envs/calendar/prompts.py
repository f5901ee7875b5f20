"""Writes the prompts of both sides, and reads the user's prompt for a scripted user."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ray_gym.envs.calendar.task import UserLine

ASSISTANT = (
    "You are a scheduling assistant who keeps the calendar of one day.\n"
    "Answer every message of the user with the whole calendar so far, as a JSON list with one object for each event:\n"
    '[{"event_id": 1, "event_name": "Choir evening", "start_time": "18:30", "duration": 45}]\n'
    "event_id is a number that no other event has, event_name is the name that the user gave, start_time is HH:MM on "
    "the 24-hour clock and duration is in minutes.\n"
    "Schedule what the user asks for and nothing else. No two events may overlap, and every wish about times has to be "
    "met: move earlier events where a later wish needs it. As long as nothing was asked for, the calendar is []."
)

USER_BEGINS = "The assistant is listening. Say your first message."
POLICY_BEGINS = "(The user is here, and has not asked for anything so far. Greet them.)"

_LINE = re.compile(r"^[0-9]+\. (.+)$", re.MULTILINE)
_STOP = re.compile(r"answer with exactly: (.+)$", re.MULTILINE)


def user_prompt(lines: Sequence[UserLine], stop_text: str | None) -> str:
    """Writes the prompt of a simulated user, with the lines that it has to say and the text that ends the conversation
    (None: it has no such text).
    """
    listed = "\n".join(f"{number}. {line.text}" for number, line in enumerate(lines, start=1))
    ending = "After the last one there is nothing more that you want."
    if stop_text is not None:
        ending = f"When all is said and you like the last calendar, answer with exactly: {stop_text}"
    return (
        "You are talking to a scheduling assistant that plans your day. This is what you have to say:\n"
        f"{listed}\n"
        "Say one of these in each message, in this order, in a sentence or two of your own. Keep every name in quotes, "
        f"every duration and every wish about times word for word, and ask for nothing else.\n{ending}"
    )


def read_user_prompt(prompt: str) -> tuple[list[str], str | None]:
    """Returns the lines and the stop text that `user_prompt` wrote into a prompt; None for no stop text."""
    stop = _STOP.search(prompt)
    return _LINE.findall(prompt), stop[1] if stop else None
