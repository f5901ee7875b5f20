"""Gives each episode a counter: the smallest environment that is scored by a final state."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, Field, model_validator

from ray_gym import Environment, Episode, Message, Opening, Participant, Score, Task, tool, tool_call_message
from ray_gym.envs.session_counter.earlier import count_after
from ray_gym.envs.session_counter.requests import REQUESTS, earlier_turns
from ray_gym.graders import FinalState
from ray_gym.models.base import CompletionRequest
from ray_gym.models.player import Player
from ray_gym.task import Words

HIGHEST_START = 500
"""Largest initial value of a generated task."""
SHARE_CONTINUED = 0.25
"""Share of the generated tasks that continue earlier turns."""
MOST = 1_000_000
"""Largest number that can be added at once."""
RULES = (
    "You look after a counter. increment_counter adds a number to it (a negative one takes away), get_counter_value reads it. "
    "Do what you are asked with these tools, then say in a few words that it is done."
)


class CounterTask(Task):
    """A task is a request that leads the counter to `expected_count`.

    `initial_count` is its value when the conversation began: before `request`, or before the first of `messages`.
    """

    initial_count: int = 0
    expected_count: int
    request: Words | None = None

    @model_validator(mode="after")
    def _check_request(self) -> CounterTask:
        if (self.request is None) == (not self.messages):
            raise ValueError("set one of request (what the user asks) and messages (a conversation that is under way)")
        self.count()
        return self

    def count(self) -> int:
        """Returns the counter's value when the episode begins, after the calls in `messages`.

        Errors: ValueError for an increment without a whole number, or a reading that contradicts the calls before it.
        """
        return count_after(self.initial_count, self.messages)


@dataclass(slots=True)
class Counter:
    """The state of an episode is the counter's value."""

    count: int


class Incremented(BaseModel):
    """Holds the tool's answer to an increment."""

    success: bool = True


class CounterValue(BaseModel):
    """Holds the tool's answer to a reading."""

    count: int


class SessionCounter(Environment[CounterTask, Counter]):
    """The policy brings a counter, which no other episode sees, to the value that the user asks for."""

    pattern = "multi-step"
    scoring = "the counter's final value"

    def generate(self, rng: random.Random, index: int) -> CounterTask:
        initial = rng.randint(0, HIGHEST_START)
        if rng.random() >= SHARE_CONTINUED:
            asked, expected = rng.choice(REQUESTS)(rng, initial)
            return CounterTask(initial_count=initial, expected_count=expected, request=asked)
        messages, count = earlier_turns(rng, initial)
        asked, expected = rng.choice(REQUESTS)(rng, count)
        conversation = [*messages, {"role": "user", "content": asked}]
        return CounterTask.model_validate(
            {"initial_count": initial, "expected_count": expected, "messages": conversation}
        )

    def setup(self, task: CounterTask, episode: Episode) -> Counter:
        """Makes the counter with the value after the calls in the task's messages. These calls are not made again."""
        return Counter(task.count())

    def opening(self, task: CounterTask, state: Counter) -> Opening:
        return Opening(messages={"policy": task.request or []}, system={"policy": RULES})

    @tool()
    def increment_counter(
        self,
        counter: Counter,
        caller: Participant,
        count: Annotated[int, Field(ge=-MOST, le=MOST, description="How much to add.")],
    ) -> Incremented:
        """Add a number to the counter."""
        counter.count += count
        return Incremented()

    @tool()
    def get_counter_value(self, counter: Counter, caller: Participant) -> CounterValue:
        """Read the counter."""
        return CounterValue(count=counter.count)

    async def score(self, state: Counter, episode: Episode) -> Score:
        return await FinalState({"count": state.count}, {"count": episode.task.expected_count}).score(episode)

    def perfect(self, task: CounterTask) -> Mapping[str, Player]:
        def player(request: CompletionRequest, rng: random.Random) -> Message:
            """Makes the next step: reads the counter, adds the missing number, or says that it is done."""
            last = request.messages[-1]
            answer = json.loads(last.content) if last.role == "tool" else {}
            if "count" in answer and answer["count"] != task.expected_count:
                missing = task.expected_count - answer["count"]
                return tool_call_message("increment_counter", {"count": missing}, "call_increment")
            if "count" in answer:
                return Message("assistant", f"Done: the counter is at {task.expected_count}.")
            return tool_call_message("get_counter_value", {}, "call_read")

        return {"policy": player}
