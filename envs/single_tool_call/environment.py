"""Asks a question about the weather, which one tool can answer: the smallest multi-step environment."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field, model_validator

from ray_gym import Environment, Episode, Message, Opening, Participant, Score, Task, ToolError, tool, tool_call_message
from ray_gym.envs.single_tool_call.earlier import reports_in
from ray_gym.envs.single_tool_call.weather import CITIES, Asked, Weather, make_up_weather, reports, says
from ray_gym.graders import Constraints, folded
from ray_gym.models.base import CompletionRequest
from ray_gym.models.player import Player
from ray_gym.task import Words

FEWEST, MOST = 3, 8
"""Fewest and most cities of a generated task."""
QUESTIONS: Mapping[Asked, tuple[str, ...]] = {
    "temperature": (
        "How warm is it in {city} now, in degrees Celsius?",
        "What is the temperature in {city} at the moment?",
        "I am off to {city}. How many degrees do they have there?",
        "Tell me today's temperature in {city}, please.",
    ),
    "condition": (
        "What is the weather like in {city} now? One word will do.",
        "I am off to {city}. Is it sunny, rainy, or what is it like there?",
        "Which weather do they have in {city} today?",
        "Describe the sky over {city}, please.",
    ),
}


class WeatherTask(Task):
    """A task is a question about the weather of a `city`; `asked` is what it asks for. The tool knows only `weather`.

    Rows with nothing but `messages`, as NeMo Gym's are, don't say what would be right. For these the tool knows every
    city, and the policy has to call it and to say some of what it told.
    """

    question: Words | None = None
    city: str | None = None
    asked: Asked | None = None
    weather: dict[str, Weather] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_answerable(self) -> WeatherTask:
        earlier = reports_in(self.messages)
        if self.is_free:
            return self
        for name in ("question", "city", "asked"):
            if getattr(self, name) is None and (name != "question" or not self.messages):
                raise ValueError(f"{name}: missing")
        names = [folded(city) for city in self.weather]
        if len(set(names)) < len(names):
            raise ValueError("weather: a city is there twice (upper and lower case are the same)")
        if self.city not in self.weather:
            raise ValueError(f"city: there is no weather for {self.city!r}; known: {', '.join(self.weather) or 'none'}")
        reports = {folded(city): report for city, report in self.weather.items()}
        for city, report in earlier.items():
            if reports.get(folded(city)) != report:
                raise ValueError(f"weather: not what messages say of {city}: {report}")
        return self

    @property
    def is_free(self) -> bool:
        """Says whether the task is only a conversation to continue, without a known right answer."""
        return bool(self.messages) and not (self.question or self.city or self.asked or self.weather)


@dataclass(slots=True)
class WeatherService:
    """The state of an episode holds the tool's reports, and the cities that it was asked for."""

    weather: dict[str, Weather]
    """Reports by city."""
    knows_all: bool = False
    """True if the tool makes up the weather of any other city."""
    asked_for: list[str] = field(default_factory=list)
    """Cities that were asked for, as the task spells them."""

    def spelling_of(self, city: str) -> str | None:
        """Returns the spelling of a city in the reports; None if there is no report for it."""
        return next((known for known in self.weather if folded(known) == folded(city)), None)


class SingleToolCall(Environment[WeatherTask, WeatherService]):
    """The policy answers a question about a city's weather, with one tool that knows it."""

    pattern = "multi-step"
    scoring = "the right call, and its result in the answer"

    def generate(self, rng: random.Random, index: int) -> WeatherTask:
        weather = reports(rng, rng.randint(FEWEST, MOST))
        city = rng.choice(list(weather))
        asked: Asked = rng.choice(("temperature", "condition"))
        question = rng.choice(QUESTIONS[asked]).format(city=city)
        return WeatherTask(question=question, city=city, asked=asked, weather=weather)

    def setup(self, task: WeatherTask, episode: Episode) -> WeatherService:
        """Makes the state with the reports of the calls in the task's messages. These calls are not made again."""
        service = WeatherService(dict(task.weather), task.is_free)
        for city, report in reports_in(task.messages).items():
            known = service.spelling_of(city) or city
            service.weather[known] = report
            service.asked_for.append(known)
        return service

    def opening(self, task: WeatherTask, state: WeatherService) -> Opening:
        system = "You answer questions about the weather. Look it up with get_weather, then say what was asked for, and nothing else."
        return Opening(messages={"policy": task.question or []}, system={"policy": system})

    @tool()
    def get_weather(
        self,
        service: WeatherService,
        caller: Participant,
        city: Annotated[str, Field(description="The city's name alone.")],
    ) -> Weather:
        """The weather in a city now: temperature in degrees Celsius, and condition."""
        found = service.spelling_of(city)
        if found is None and service.knows_all and city.strip():
            found = city.strip()
            service.weather[found] = make_up_weather(found)
        if found is None:
            raise ToolError(f"there is no report from {city!r}; check the city's name")
        service.asked_for.append(found)
        return service.weather[found]

    async def score(self, state: WeatherService, episode: Episode) -> Score:
        """Returns 1 if the right city was asked for, and the last message tells its weather, else 0. In a task without
        a known answer, any city that was asked for is right.

        Other cities may be asked for too. Words beside a call are no answer, since its result was not known yet.
        """
        task: WeatherTask = episode.task
        said = episode.messages_of("policy")
        answer = said[-1].content if said and not said[-1].tool_calls else ""
        right = [task.city] if task.city is not None else state.asked_for
        asked: Sequence[Asked] = [task.asked] if task.asked is not None else ("temperature", "condition")
        known = [report.condition for report in state.weather.values()]
        answered = any(says(answer, state.weather[city], what, known) for city in right for what in asked)
        looked_up = any(city in state.asked_for for city in right)
        return await Constraints({"right_city": looked_up, "answered": answered}).score(episode)

    def perfect(self, task: WeatherTask) -> Mapping[str, Player]:
        city, asked = task.city or CITIES[0], task.asked or "condition"

        def player(request: CompletionRequest, rng: random.Random) -> Message:
            last = request.messages[-1]
            if last.tool_call_id != "call_weather":
                return tool_call_message("get_weather", {"city": city}, "call_weather")
            return Message("assistant", f"In {city} it is: {json.loads(last.content)[asked]}.")

        return {"policy": player}
