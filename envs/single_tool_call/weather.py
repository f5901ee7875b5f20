"""Makes up weather, and checks whether an answer tells it."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from ray_gym.graders import folded

Asked = Literal["temperature", "condition"]

_CITIES = """
Accra Adelaide Algiers Ankara Antwerp Athens Auckland Baku Bamako Bangalore Basel Beirut Belgrade Bergen Bogota
Bordeaux Brasilia Brisbane Bucharest Cairo Calgary Caracas Casablanca Chennai Copenhagen Dakar Damascus Denver
Dhaka Dublin Durban Edinburgh Florence Geneva Glasgow Hamburg Hanoi Harare Havana Helsinki Houston Istanbul Izmir
Jakarta Kampala Karachi Kathmandu Kingston Kyoto Lagos Lahore Lima Lisbon Ljubljana Luanda Lusaka Madrid Malaga
Manila Maputo Marrakesh Medellin Melbourne Minsk Mombasa Montreal Mumbai Nairobi Naples Oslo Ottawa Palermo Perth
Porto Prague Quito Recife Reykjavik Riga Rosario Santiago Sapporo Seattle Seville Sofia Stockholm Sydney Tallinn
Tbilisi Toronto Tunis Turin Utrecht Valencia Vienna Vilnius Warsaw Windhoek Yerevan Zagreb
"""

CITIES = tuple(_CITIES.split())
CONDITIONS = ("sunny", "cloudy", "foggy", "windy", "rainy", "snowy", "stormy", "hazy", "misty", "icy")
COLDEST, HOTTEST = -20, 42
_NUMBER = re.compile(r"(?:(?<![\w.,])-)?\d+(?:[.,]\d+)*")
_MINUS = re.compile(r"\u2212|\bminus\s+", re.IGNORECASE)
_NEGATION = re.compile(r"\b(?:not|no|none|never|neither|nor|cannot|without)\b|n['\u2019]t\b", re.IGNORECASE)


class Weather(BaseModel):
    """Weather is a temperature in degrees Celsius, and a condition in a word or a few."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    temperature: int
    condition: Annotated[str, Field(min_length=1)]


def reports(rng: random.Random, count: int) -> dict[str, Weather]:
    """Draws reports of `count` cities, and returns them by city. Temperatures and conditions are all different, so that
    an answer fits only one.
    """
    temperatures = rng.sample(range(COLDEST, HOTTEST + 1), count)
    conditions = rng.sample(CONDITIONS, count)
    return {
        city: Weather(temperature=temperature, condition=condition)
        for city, temperature, condition in zip(rng.sample(CITIES, count), temperatures, conditions, strict=True)
    }


def make_up_weather(city: str) -> Weather:
    """Makes up the weather of a city, which is always the same for the same name."""
    rng = random.Random(folded(city))
    return Weather(temperature=rng.randint(COLDEST, HOTTEST), condition=rng.choice(CONDITIONS))


def says(answer: str, weather: Weather, asked: Asked, vocabulary: Iterable[str] = ()) -> bool:
    """Says whether an answer tells the weather that was `asked` for: this temperature and no other number, or this
    condition and no other.

    Conditions are those of `CONDITIONS` and `vocabulary`. An answer with a negation tells nothing.
    """
    if _NEGATION.search(answer):
        return False
    if asked == "temperature":
        return {_value(number) for number in _NUMBER.findall(_MINUS.sub("-", answer))} == {weather.temperature}
    return _conditions_in(answer, {*CONDITIONS, *vocabulary, weather.condition}) == {folded(weather.condition)}


def _conditions_in(answer: str, vocabulary: Iterable[str]) -> set[str]:
    """Returns the conditions that a text has as whole words. If both "light snow" and "snow" fit, the longer
    counts.
    """
    longest_first = sorted({folded(condition) for condition in vocabulary}, key=len, reverse=True)
    either = "|".join(map(re.escape, longest_first))
    return set(re.findall(rf"(?<!\w)(?:{either})(?!\w)", folded(answer)))


def _value(number: str) -> float:
    """Returns the value of a number; NaN if its comma or points are ambiguous. NaN equals no temperature, but counts as
    a number that was told.
    """
    try:
        return float(number)
    except ValueError:
        return math.nan
