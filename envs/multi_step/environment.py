"""Asks for a chain of tool calls: looks up a value for each synonym of a word, and hands over all values by a last
call.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, Field, field_validator, model_validator

from ray_gym import Environment, Episode, Message, Opening, Participant, Score, Task, tool, tool_call_message
from ray_gym.envs.multi_step.thesaurus import THESAURUS, value_of
from ray_gym.graders import Grader, Verdict
from ray_gym.graders.grader import shown
from ray_gym.models.base import CompletionRequest
from ray_gym.models.player import Player
from ray_gym.openai_api.conversation import AnsweredCall, answered_calls, json_object

FEWEST, MOST = 4, 6
"""Fewest and most synonyms of a generated task."""
RULES = (
    "You are given a word and a list of its synonyms.\n"
    "First call get_synonym_value for each synonym. When you have all values, call extract_synonym_values once with the list of them, "
    "in the order of the synonyms. The value of the word itself is not wanted."
)
VALUES_OF = {"expected_synonym_values": "expected_synonyms", "minefield_label_value": "minefield_label"}
"""Fields of NeMo Gym's rows that are the values of other fields."""


def _values(words: Any) -> Any:
    """Returns the value of a word, or of each word of a list; None for other data, which is refused elsewhere."""
    if isinstance(words, str):
        return value_of(words)
    return [_values(word) for word in words] if isinstance(words, list) else None


class SynonymsTask(Task):
    """A task is a word and its synonyms, whose values are wanted.

    NeMo Gym's rows have other names for the fields, and write out the values that follow from them.
    """

    word: Annotated[str, Field(min_length=1, validation_alias=AliasChoices("word", "minefield_label"))]
    synonyms: Annotated[
        tuple[Annotated[str, Field(min_length=1)], ...],
        Field(min_length=1, validation_alias=AliasChoices("synonyms", "expected_synonyms")),
    ]

    @model_validator(mode="before")
    @classmethod
    def _drop_values(cls, row: Any) -> Any:
        """Checks the values that a row writes out, and drops them.

        Errors: ValueError for values that are not those of the words.
        """
        if not isinstance(row, Mapping):
            return row
        for name, words in VALUES_OF.items():
            if name in row and row[name] != _values(row.get(words)):
                raise ValueError(f"{name}: {row[name]} is not what {words} have: {_values(row.get(words))}")
        return {name: value for name, value in row.items() if name not in VALUES_OF}

    @field_validator("synonyms")
    @classmethod
    def _check_distinct(cls, synonyms: tuple[str, ...]) -> tuple[str, ...]:
        twice = next((word for position, word in enumerate(synonyms) if word in synonyms[:position]), None)
        if twice is not None:
            raise ValueError(f"{twice!r} is there twice")
        return synonyms

    @model_validator(mode="after")
    def _check_earlier_calls(self) -> SynonymsTask:
        self.lists_handed_over()
        return self

    def expected_values(self) -> list[int]:
        """Returns the values of the synonyms, in order."""
        return [value_of(synonym) for synonym in self.synonyms]

    def lists_handed_over(self) -> list[list[int]]:
        """Returns the lists that the answered extract calls in `messages` handed over, in order.

        Errors: ValueError for arguments without a list of whole numbers.
        """
        return [_list_in(done) for done in answered_calls(self.messages) if done.call.name == "extract_synonym_values"]


def _list_in(done: AnsweredCall) -> list[int]:
    given = json_object(done.call.arguments).get("synonym_values")
    if not isinstance(given, list) or any(type(value) is not int for value in given):
        raise ValueError(
            f"messages: call {done.call.id!r} was carried out, but has no list of whole numbers: {done.call.arguments}"
        )
    return given


@dataclass(slots=True)
class HandedOverLists:
    """The state of an episode holds the lists of all extract calls, of which the last counts."""

    lists: list[list[int]] = field(default_factory=list)


class SynonymValue(BaseModel):
    """Holds one synonym and its value, as the tool returns them."""

    synonym: str
    value: int


class Extracted(BaseModel):
    """Holds the list that was handed over, as the tool returns it."""

    received: list[int]


@dataclass(frozen=True)
class LastList(Grader):
    """Gives 1 if the list is the expected one, else 0.

    Its parts are the number of different values in both lists over the number in either (`overlap`), and 1 if only the
    order is wrong, else 0 (`order_failure`).
    """

    handed_over: list[int] | None
    """List of the last extract call; None if there was no such call."""
    expected: list[int]
    """Values of the synonyms, in order."""

    async def grade(self, episode: Episode) -> Verdict:
        given = self.handed_over or []
        both, either = set(given) & set(self.expected), set(given) | set(self.expected)
        is_right = given == self.expected
        only_order = not is_right and sorted(given) == sorted(self.expected)
        parts = {"overlap": len(both) / len(either), "order_failure": float(only_order)}
        what = "nothing was handed over" if self.handed_over is None else f"handed over {shown(given)}"
        return Verdict(float(is_right), f"{what}, expected {shown(self.expected)}", parts)


class MultiStep(Environment[SynonymsTask, HandedOverLists]):
    """The policy looks up the values of a word's synonyms one by one, and hands them over in order."""

    pattern = "multi-step"
    scoring = "the last extract call's list, in order"

    def generate(self, rng: random.Random, index: int) -> SynonymsTask:
        """Draws a word and synonyms with different values, because the order of equal values could not be checked."""
        word = rng.choice(list(THESAURUS))
        by_value = {value_of(synonym): synonym for synonym in THESAURUS[word]}
        synonyms = list(by_value.values())
        return SynonymsTask(
            word=word, synonyms=tuple(rng.sample(synonyms, rng.randint(FEWEST, min(MOST, len(synonyms)))))
        )

    def setup(self, task: SynonymsTask, episode: Episode) -> HandedOverLists:
        """Makes the state with the lists of the calls in the task's messages. These calls are not made again."""
        return HandedOverLists(task.lists_handed_over())

    def opening(self, task: SynonymsTask, state: HandedOverLists) -> Opening:
        question = f"Word: {task.word}\nSynonyms: {', '.join(task.synonyms)}"
        return Opening(messages={"policy": question}, system={"policy": RULES})

    @tool()
    def get_synonym_value(self, state: HandedOverLists, caller: Participant, synonym: str) -> SynonymValue:
        """Look up the value of one synonym."""
        return SynonymValue(synonym=synonym, value=value_of(synonym))

    @tool()
    def extract_synonym_values(
        self,
        state: HandedOverLists,
        caller: Participant,
        synonym_values: Annotated[list[int], Field(description="The values, in the order of the synonyms.")],
    ) -> Extracted:
        """Hand over the values of all synonyms. A later call takes the place of an earlier one."""
        state.lists.append(synonym_values)
        return Extracted(received=synonym_values)

    async def score(self, state: HandedOverLists, episode: Episode) -> Score:
        task: SynonymsTask = episode.task
        return await LastList(state.lists[-1] if state.lists else None, task.expected_values()).score(episode)

    def perfect(self, task: SynonymsTask) -> Mapping[str, Player]:
        earlier = sum(message.role == "tool" for message in task.messages)

        def player(request: CompletionRequest, rng: random.Random) -> Message:
            """Asks for the value of each synonym, and hands over the values that the tool gave."""
            answers = [message.content for message in request.messages if message.role == "tool"]
            results = [json.loads(answer) for answer in answers[earlier:]]
            values = [result["value"] for result in results if "value" in result]
            call_id = f"call_{len(results)}"
            if len(values) < len(task.synonyms):
                synonym = task.synonyms[len(values)]
                return tool_call_message("get_synonym_value", {"synonym": synonym}, call_id)
            if len(results) == len(values):
                return tool_call_message("extract_synonym_values", {"synonym_values": values}, call_id)
            return Message("assistant", "Done.")

        return {"policy": player}
