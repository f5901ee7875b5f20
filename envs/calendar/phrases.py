"""Holds the user's words. Times are always said as HH:MM; an event's name is said as it is."""

from __future__ import annotations

from collections.abc import Mapping

from ray_gym.envs.calendar.constraint import Kind
from ray_gym.envs.calendar.events import ExpectedEvent

SUBJECTS = (
    "Budget", "Payroll", "Hiring", "Website", "Security", "Warehouse", "Marketing", "Research", "Legal", "Training",
    "Customer", "Supplier", "Product", "Newsletter", "Quality", "Safety", "Archive", "Logistics", "Travel", "Garden",
)  # fmt: skip
OCCASIONS = ("review", "workshop", "call", "briefing", "planning", "interview", "lunch", "walkthrough", "rehearsal")

_DURATIONS: Mapping[int, tuple[str, ...]] = {
    15: ("a quarter of an hour",),
    30: ("half an hour",),
    45: ("three quarters of an hour",),
    60: ("one hour", "an hour"),
    90: ("an hour and a half",),
}

REQUESTS = (
    'Please put "{name}" into my calendar, {duration}{wish}.',
    'I need {duration} for "{name}"{wish}.',
    'Could you add "{name}"? It takes {duration}{wish}.',
)
FURTHER_REQUESTS = (
    'There is also "{name}", {duration}{wish}.',
    'And find me {duration} for "{name}"{wish}, please.',
)

WISHES: Mapping[Kind, tuple[str, ...]] = {
    "none": ("", ", any time will do", ", whenever it fits"),
    "before": (", and it has to be over by {0}", ", done before {0}", ", ending no later than {0}"),
    "after": (", but not before {0}", ", starting at {0} or later", ", some time after {0}"),
    "between": (", between {0} and {1}", ", anywhere from {0} to {1}", ", inside the slot from {0} to {1}"),
    "at": (", at {0} sharp", ", starting at exactly {0}", ", and it begins at {0}"),
}

WINDOWS = (
    "Everything has to lie between {0} and {1} today",
    "I am only free from {0} to {1}, so plan nothing outside of that",
    "My day begins at {0} and ends at {1}, and nothing may reach beyond",
)

SMALL_TALK = (
    "What a morning, my coffee machine has just given up.",
    "By the way, it has started to snow here.",
    "Sorry, someone was at the door, but I am back.",
    "You are quick, I like that.",
    "Let me think for a moment what else there is.",
    "I hope your day is quieter than mine.",
    "My colleague says hello.",
    "Hold on, I am looking for my notes.",
)

NO_CALENDAR = "I can't see the calendar in your answer, please always send all of it."
"""Complaint of a scripted user about an answer without a calendar."""


def ways_to_say(minutes: int) -> tuple[str, ...]:
    """Returns ways to say a duration in minutes. The first of them fits any duration."""
    return (f"{minutes} minutes", *_DURATIONS.get(minutes, ()))


def within(window: str, event: ExpectedEvent, request: str) -> str:
    """Returns a request with words about the day's window before it, in its first sentence, because a user model may be
    cut after that. `window`: these words, with {0} for the beginning and {1} for the end.
    """
    goes_on = request if request.startswith("I ") else request[0].lower() + request[1:]
    return f"{window.format(event.min_time, event.max_time)}: {goes_on}"


def ask_for(event: ExpectedEvent) -> str:
    """Returns a request that says everything about an event, for rows that have no words of their own."""
    wish = WISHES[event.rule.kind][0].format(*event.rule.name_times())
    request = REQUESTS[0].format(name=event.label, duration=ways_to_say(event.duration)[0], wish=wish)
    return within(WINDOWS[0], event, request)
