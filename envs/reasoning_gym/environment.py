"""Asks questions of the library Reasoning Gym, each answered in one message and scored by the library itself."""

from __future__ import annotations

import difflib
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from ray_gym import Environment, Episode, EpisodeFailure, FailureKind, Message, Opening, Score, Task
from ray_gym import Options as EnvironmentOptions
from ray_gym.errors import UserError
from ray_gym.graders import Library, first_of, last_boxed, tagged, whole
from ray_gym.installed.extras import not_installed
from ray_gym.models.base import CompletionRequest
from ray_gym.models.player import Player

MODULE = "ray_gym.envs.reasoning_gym.items"
PROMPT = """Solve the problem. Think about it as long as you need, then write the final answer, and nothing but the answer, \
between <answer> and </answer>, in exactly the form that the problem asks for."""

_answer = first_of(tagged("answer"), last_boxed, whole)
_ONLY_A_BOX = re.compile(r"(?:[\s$*]|\\[(\[])*\\(?:boxed|fbox)\s*\{(.*)\}(?:[\s$*.]|\\[)\]])*", re.DOTALL)


class ReasoningGymTask(Task):
    """A task is an item of a dataset; `seed` decides which."""

    dataset: str
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    seed: Annotated[int, Field(ge=0, lt=2**31)]


class Part(BaseModel):
    """A part is one dataset of a mixture."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dataset: str
    """Name of the dataset in the library."""
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    """Settings of the dataset."""
    weight: Annotated[float, Field(gt=0)] = 1.0
    """Weight with which the dataset is drawn."""

    @model_validator(mode="after")
    def _check_dataset(self) -> Part:
        _check(self.dataset, self.settings)
        return self


class ReasoningGymOptions(EnvironmentOptions):
    """Chooses the datasets that `generate` draws from: one dataset, or several. Rows of a file name their own."""

    dataset: str | None = None
    """Name of the only dataset; None if there is a mixture."""
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    """Settings of the only dataset."""
    mixture: tuple[Part, ...] = ()
    """Datasets of a mixture."""
    deadline_s: Annotated[float, Field(gt=0)] = 30.0
    """Seconds for making an item, and for scoring its answer."""

    @model_validator(mode="after")
    def _check_parts(self) -> ReasoningGymOptions:
        if self.dataset is not None and self.mixture:
            raise ValueError("dataset and mixture: give one of both")
        if self.settings and self.dataset is None:
            raise ValueError("settings: there is no dataset that they are for")
        if self.dataset is not None:
            _check(self.dataset, self.settings)
        return self

    @property
    def parts(self) -> tuple[Part, ...]:
        """Returns the datasets to draw from, with their settings and weights; empty if the config names none."""
        if self.dataset is None:
            return self.mixture
        return (Part.model_construct(dataset=self.dataset, settings=self.settings, weight=1.0),)


@dataclass(frozen=True, slots=True)
class Item:
    """An item holds a question, and the data with which the library scores its answer."""

    question: str
    packed: str
    """The library's whole item, pickled and in base64, for the scorer."""


class ReasoningGym(Environment[ReasoningGymTask, Item]):
    """Asks a question out of a dataset of the library Reasoning Gym."""

    pattern = "single-step"
    scoring = "the library's scorer, 0 to 1"
    Options = ReasoningGymOptions

    def generate(self, rng: random.Random, index: int) -> ReasoningGymTask:
        parts = self.options.parts
        if not parts:
            raise UserError("environment.dataset: name a dataset (or a mixture) to generate tasks from")
        (part,) = rng.choices(parts, [part.weight for part in parts])
        return ReasoningGymTask(dataset=part.dataset, settings=part.settings, seed=rng.randrange(2**31))

    def check(self, task: ReasoningGymTask) -> None:
        _check(task.dataset, task.settings)

    async def setup(self, task: ReasoningGymTask, episode: Episode) -> Item:
        """Makes the item off the event loop, because some take seconds. A replay gets the same item.

        Errors: EpisodeFailure (data) if the library fails to make it, or takes too long.
        """
        arguments = (task.dataset, task.settings, task.seed)
        made = await episode.isolated(f"{MODULE}:make", *arguments, deadline_s=self.options.deadline_s)
        if made.error is not None:
            raise EpisodeFailure(FailureKind.DATA, f"item of {task.dataset}", made.error)
        return Item(*made.value)

    def opening(self, task: ReasoningGymTask, state: Item) -> Opening:
        return Opening(system={"policy": PROMPT}, messages={"policy": state.question})

    def perfect(self, task: ReasoningGymTask) -> Mapping[str, Player]:
        """Returns a policy that knows the answer. Returns an empty mapping if the library knows no answer, or if this
        process may make another item from the same seed.
        """
        items = _items()
        if items.depends_on_hashes(task.dataset, task.settings):
            return {}
        answer = items.oracle(items.entry(task.dataset, task.settings, task.seed))
        if answer is None:
            return {}

        def player(request: CompletionRequest, rng: random.Random) -> Message:
            return Message("assistant", f"<answer>{answer}</answer>")

        return {"policy": player}

    async def score(self, state: Item, episode: Episode) -> Score:
        task = episode.task
        arguments = (task.dataset, task.settings, task.seed, state.packed, answer_in(episode.answer))
        return await Library(f"{MODULE}:score", arguments, self.options.deadline_s).score(episode)


def answer_in(text: str) -> str | None:
    """Returns the answer in a text: what stands between the last tags, else in the last box, else all of it. A box that is
    all of what stands between the tags is opened.
    """
    answer = _answer(text)
    box = None if answer is None else _ONLY_A_BOX.fullmatch(answer)
    return answer if box is None or answer is None or last_boxed(answer) != box[1].strip() else box[1].strip()


def _items() -> ModuleType:
    """Imports the module `items`, only now because that takes a second or two, and returns it. Errors: NotInstalled if
    the library can't be imported.
    """
    try:
        from ray_gym.envs.reasoning_gym import items
    except ImportError as error:
        raise not_installed(f"its library ({error})", "adapters", "environment.id: reasoning_gym") from None
    return items


def _check(dataset: str, settings: Mapping[str, Any]) -> None:
    """Checks a dataset's name and settings. Errors: ValueError for an unknown name, or settings that the dataset does
    not take; NotInstalled if the library can't be imported.
    """
    items = _items()
    if dataset not in items.names():
        close = difflib.get_close_matches(dataset, items.names(), n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are: {', '.join(items.names())}"
        raise ValueError(f"dataset: there is no dataset {dataset!r}; {hint}")
    items.check(dataset, settings)
