"""Holds scripted players. The user sees only the messages that a language model would see.

models: {customer: {engine: scripted, player: "ray_gym.envs.calendar.players:scripted_user"}}
"""

from __future__ import annotations

import random

from ray_gym import Message
from ray_gym.envs.calendar.answer import read_calendar, write_calendar
from ray_gym.envs.calendar.phrases import NO_CALENDAR
from ray_gym.envs.calendar.prompts import read_user_prompt
from ray_gym.envs.calendar.solver import solve
from ray_gym.envs.calendar.task import CalendarTask
from ray_gym.models.base import CompletionRequest
from ray_gym.models.player import Player


def scripted_user(request: CompletionRequest, rng: random.Random) -> Message:
    """Plays a user who says the lines of its prompt, one in each message, and then thanks with the stop text, if there
    is one.

    A message begins with a complaint if the assistant's last answer has no calendar. After the last line, the complaint
    takes the place of the thanks.
    """
    prompt = "\n".join(message.content for message in request.messages if message.role == "system")
    lines, stop_text = read_user_prompt(prompt)
    said = [message.content for message in request.messages if message.role == "assistant"]
    following = next((line for line in lines if not any(text.endswith(line) for text in said)), None)
    complaint = NO_CALENDAR if said and read_calendar(request.messages[-1].content) is None else ""
    if following is None and not complaint:
        following = f"Thank you, that is all. {stop_text or ''}".strip()
    return Message("assistant", f"{complaint} {following or ''}".strip())


def solving_assistant(task: CalendarTask, hears_all: bool) -> Player:
    """Makes a player that answers with a solved calendar.

    The calendar has all events, or (`hears_all` false) only events whose names the user has said so far.
    """

    def player(request: CompletionRequest, rng: random.Random) -> Message:
        heard = task.events_mentioned(
            "\n".join(message.content for message in request.messages if message.role == "user")
        )
        asked = [event for event in task.expected_state if hears_all or event.event_id in heard]
        calendar = write_calendar(asked, solve(asked) or {})
        return Message("assistant", f"Here is your calendar.\n{calendar}")

    return player
