"""Plays one episode in process, with a policy that says given texts and a grader that scores them."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ray_gym import Environment, Episode, Message, Opening, Participant, Task
from ray_gym.config.sections import LimitsSection, ParticipantSection
from ray_gym.engines.scripted_model import ScriptedModel
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.errors import EpisodeFailure, Failure
from ray_gym.graders import Grader
from ray_gym.models.base import Completion, CompletionRequest, FinishReason, Model
from ray_gym.models.player import Player
from ray_gym.play.play import Played, play
from ray_gym.tools.runner import ToolRunner

Makes = Callable[[Episode], Grader]


class Graded(Environment[Task, None]):
    """The policy speaks as often as it has something to say; then the grader that `makes` gives is asked."""

    auxiliary = ("judge", "second", "reward_model")

    def __init__(self, makes: Makes, turns: int) -> None:
        super().__init__()
        self._makes, self._turns = makes, turns

    def setup(self, task: Task, episode: Episode) -> None:
        return None

    def opening(self, task: Task, state: None) -> Opening:
        return Opening(messages={"policy": "Begin."})

    async def run(self, episode: Episode) -> None:
        for turn in range(self._turns):
            if turn:
                episode.tell("policy", "Go on.")
            await episode.turn("policy")

    async def score(self, state: None, episode: Episode) -> Any:
        return await self._makes(episode).score(episode)


@dataclass
class Says:
    """Imitates a model that says these texts in order (the last one again and again), and keeps what it was asked."""

    texts: Sequence[str]
    requests: list[list[Message]] = field(default_factory=list)

    def __call__(self, request: CompletionRequest, rng: random.Random) -> Message:
        self.requests.append(list(request.messages))
        return Message("assistant", self.texts[min(len(self.requests), len(self.texts)) - 1])


@dataclass
class Ends:
    """Imitates a model whose answers end with given reasons, or that fails; it keeps what it was asked."""

    answers: Sequence[tuple[str, FinishReason] | EpisodeFailure]
    requests: list[list[Message]] = field(default_factory=list)

    async def complete(self, request: CompletionRequest) -> Completion:
        self.requests.append(list(request.messages))
        answer = self.answers[len(self.requests) - 1]
        if isinstance(answer, EpisodeFailure):
            raise answer
        return Completion(Message("assistant", answer[0]), answer[1])

    async def close(self) -> None:
        return None


async def graded(
    grader: Grader | Makes,
    *said: str,
    limits: Mapping[str, Any] | None = None,
    runner: ToolRunner | None = None,
    task: Task | None = None,
    **others: Player | Ends,
) -> Played:
    """Plays an episode that a grader scores. `others`: the players of the judges."""
    makes: Makes = (lambda episode: grader) if isinstance(grader, Grader) else grader
    environment, section = Graded(makes, len(said)), LimitsSection(**(limits or {}))
    names = (*environment.participants, *environment.auxiliary)
    cast = {name: Participant.from_config(name, ParticipantSection(model=name), section) for name in names}
    players: dict[str, Player | Ends] = {name: Says(["I was not to be asked"]) for name in names}
    players |= {"policy": Says(said), **others}
    models: dict[str, Model] = {
        name: player if isinstance(player, Ends) else ScriptedModel(player, {}, 0) for name, player in players.items()
    }
    stage = Stage(environment, cast, models, section, runner or ToolRunner())
    return await play(EpisodeSpec("episode", "group", "task", 0, 0, (task or Task()).model_dump_json()), stage)


async def value(grader: Grader | Makes, *said: str, **others: Any) -> float:
    played = await graded(grader, *said, **others)
    assert played.status == "completed" and played.score is not None, played.failure
    return played.score.reward


def verdicts(played: Played) -> list[tuple[float | None, str]]:
    """Returns the verdicts of graders in the record, in order."""
    return [(event.reward, event.content) for event in played.episode.events if event.kind == "verdict"]


def failure_of(played: Played) -> Failure:
    assert played.status == "failed" and played.score is None
    assert played.failure is not None
    return played.failure
