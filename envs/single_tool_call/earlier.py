"""Reads the weather reports in a conversation that began elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from ray_gym.envs.single_tool_call.weather import Weather
from ray_gym.graders import folded
from ray_gym.openai_api.conversation import EarlierMessage, answered_calls, json_object


def reports_in(messages: Sequence[EarlierMessage]) -> dict[str, Weather]:
    """Returns the reports that the weather tool gave in a conversation, by city. Answers in another form are ignored.

    Errors: ValueError for a city whose weather changes.
    """
    found: dict[str, Weather] = {}
    for done in answered_calls(messages):
        city = json_object(done.call.arguments).get("city")
        try:
            report = Weather.model_validate_json(done.answer)
        except ValidationError:
            continue
        if done.call.name == "get_weather" and isinstance(city, str) and city.strip():
            known = next((name for name in found if folded(name) == folded(city)), city.strip())
            if found.setdefault(known, report) != report:
                raise ValueError(f"messages[{done.number}]: {known} had other weather before: {found[known]}")
    return found
