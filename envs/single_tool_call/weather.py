"""Made-up weather: what can be asked of it, and whether an answer says it."""

from __future__ import annotations

import random
import re
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
_NUMBER = re.compile(r"(?<![\d.,])(?:(?<!\w)-)?\d+(?:\.\d+)?(?![\d])")
_MINUS = re.compile(r"\u2212|\bminus\s+", re.IGNORECASE)


class Weather(BaseModel):
    """In degrees Celsius, and a word or a few."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    temperature: int
    condition: Annotated[str, Field(min_length=1)]


def reports(rng: random.Random, count: int) -> dict[str, Weather]:
    """Cities of which no two have the same temperature or the same condition, so that an answer fits one only."""
    temperatures = rng.sample(range(COLDEST, HOTTEST + 1), count)
    conditions = rng.sample(CONDITIONS, count)
    return {
        city: Weather(temperature=temperature, condition=condition)
        for city, temperature, condition in zip(rng.sample(CITIES, count), temperatures, conditions, strict=True)
    }


def made_up(city: str) -> Weather:
    """The same whenever a city is asked for."""
    rng = random.Random(folded(city))
    return Weather(temperature=rng.randint(COLDEST, HOTTEST), condition=rng.choice(CONDITIONS))


def says(answer: str, weather: Weather, asked: Asked) -> bool:
    """Whether the temperature is one of the numbers in an answer, or the condition stands in it as words of their own."""
    if asked == "temperature":
        return weather.temperature in {float(number) for number in _NUMBER.findall(_MINUS.sub("-", answer))}
    words = re.escape(folded(weather.condition))
    return re.search(rf"(?<!\w){words}(?!\w)", folded(answer)) is not None
