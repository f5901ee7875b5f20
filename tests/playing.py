"""Plays one episode in process, with models that follow a script and tiny environments."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from msgspec.structs import replace

from ray_gym import Environment, Episode, Message, Opening, Participant, Task, ToolCall
from ray_gym.config.sections import LimitsSection, ParticipantSection
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.models.base import Completion, CompletionRequest, FinishReason, VersionSpan
from ray_gym.play.play import Played, play

Reply = str | Message | Completion | Callable[[CompletionRequest], Awaitable[Completion]]


def bare(where: str) -> str:
    """Returns the place of a failure without its file and line."""
    return where.partition(" (")[0]


def calls(name: str, text: str = "", **arguments: Any) -> Message:
    return Message("assistant", text, tool_calls=(ToolCall(f"call_{name}", name, json.dumps(arguments)),))


def with_tokens(
    text: str, prompt: list[int], generated: list[int], finish_reason: FinishReason = "stop", **fields: Any
) -> Completion:
    """Returns a completion of a model that gives token ids; its prompt's tokens all belong to the last new message."""
    return Completion(
        Message("assistant", text),
        finish_reason,
        prompt_ids=np.array(prompt, dtype=np.int32),
        token_ids=np.array(generated, dtype=np.int32),
        logprobs=np.full(len(generated), -0.5, dtype=np.float32),
        versions=(VersionSpan(7, 0, len(generated)),),
        prompt_tokens=len(prompt),
        generated_tokens=len(generated),
        **fields,
    )


@dataclass
class ScriptModel:
    """Answers its replies in order, and breaks (which fails the episode) when it is asked for more."""

    replies: list[Reply]
    requests: list[CompletionRequest] = field(default_factory=list)

    async def complete(self, request: CompletionRequest) -> Completion:
        self.requests.append(replace(request, messages=list(request.messages)))
        if not self.replies:
            raise AssertionError("the model was called once more than the script has replies")
        reply = self.replies.pop(0)
        if callable(reply):
            return await reply(request)
        if isinstance(reply, Completion):
            return reply
        return Completion(reply if isinstance(reply, Message) else Message("assistant", reply))

    async def close(self) -> None:
        return None

    def seen(self, call: int = -1) -> list[tuple[str, str]]:
        """Returns (role, text) of all that one call was shown."""
        return [(message.role, message.content) for message in self.requests[call].messages]


class Alone(Environment[Task, dict[str, Any]]):
    """One participant answers one question."""

    def setup(self, task: Task, episode: Episode) -> dict[str, Any]:
        return {}

    def opening(self, task: Task, state: dict[str, Any]) -> Opening:
        return Opening(messages={"policy": "What is 6 times 7?"})

    def score(self, state: dict[str, Any], episode: Episode) -> Any:
        return 1.0


class Talk(Alone):
    """Two participants take turns."""

    participants = ("policy", "user")


@dataclass
class Game:
    played: Played
    models: dict[str, ScriptModel]

    @property
    def episode(self) -> Episode:
        return self.played.episode

    @property
    def stop(self) -> tuple[str, str]:
        assert self.episode.stop is not None
        return self.episode.stop.reason.value, self.episode.stop.text

    def texts(self, kind: str) -> list[str]:
        return [event.content for event in self.episode.events if event.kind == kind]


async def play_script(
    environment: Environment[Any, Any],
    policy: Sequence[Reply],
    user: Sequence[Reply] | None = None,
    /,
    *,
    task: Task | None = None,
    seed: int = 0,
    limits: dict[str, Any] | None = None,
    **participants: dict[str, Any],
) -> Game:
    """Play one episode; keyword arguments are sections of `participants` in a config."""
    scripts = {"policy": list(policy), "user": list(user or [])}
    models = {name: ScriptModel(scripts.get(name, [])) for name in environment.participants}
    limits_section = LimitsSection(**(limits or {}))
    cast = {
        name: Participant.from_config(
            name, ParticipantSection(model=name, **participants.get(name, {})), limits_section
        )
        for name in environment.participants
    }
    spec = EpisodeSpec(f"episode-{seed}", "group", "task", 0, seed, (task or Task()).model_dump_json())
    return Game(await play(spec, Stage(environment, cast, models, limits_section)), models)
