"""Plays and replays episodes from their journals, and defines the environments and models that they play with."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ray_gym import (
    Environment,
    Episode,
    IdempotencyKey,
    Message,
    Opening,
    Task,
    ToolCall,
    tool,
)
from ray_gym.config.sections import GroupsSection, LimitsSection, ParticipantSection
from ray_gym.episode.participant import Participant
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.journal.frames import HEAD, Scan, frame
from ray_gym.journal.history import HistoryReader, fence
from ray_gym.journal.journal import Journal
from ray_gym.journal.records import Called, decode
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.play.play import Played
from ray_gym.record.rows import row_of
from ray_gym.record.schema import without_volatile
from ray_gym.run.lease import Lease
from ray_gym.run.worker.player import LeasePlayer

GROUPS = GroupsSection()


@dataclass
class Answering:
    """Answers from the request and its own random numbers, each time after a short random delay."""

    answer: Callable[[CompletionRequest, random.Random], Message | Completion]
    calls: list[str] = field(default_factory=list)
    jitter: random.Random = field(default_factory=random.Random)

    async def complete(self, request: CompletionRequest) -> Completion:
        await asyncio.sleep(self.jitter.random() * 0.003)
        self.calls.append(request.thread)
        answer = self.answer(request, random.Random(request.seed))
        return answer if isinstance(answer, Completion) else Completion(answer)

    async def close(self) -> None:
        return None


def words(request: CompletionRequest, rng: random.Random) -> Completion:
    """Returns text with tokens, so that ledgers are compared too."""
    said = f"{request.messages[-1].content[-20:]} {rng.random()}"
    generated = np.array([rng.randrange(1000) for _ in range(5)], dtype=np.int32)
    prompt = np.array([rng.randrange(1000) for _ in request.messages[request.known :]], dtype=np.int32)
    return Completion(
        Message("assistant", said), prompt_ids=prompt, token_ids=generated, logprobs=np.full(5, -0.25, dtype=np.float32)
    )


class Plain(Environment[Task, dict[str, Any]]):
    participants = ("policy", "user")

    def setup(self, task: Task, episode: Episode) -> dict[str, Any]:
        return {"secret": episode.rng("secret").random(), "id": episode.new_id(), "moves": [], "times": []}

    def opening(self, task: Task, state: dict[str, Any]) -> Opening:
        return Opening(messages={"policy": f"begin {state['id']} {state['secret']}"})

    def score(self, state: dict[str, Any], episode: Episode) -> Any:
        return float(len(episode.events)) + state["secret"]


class ThreeAtOnce(Plain):
    """Runs sub-agents at the same time on one state, which each changes as it hears from its model."""

    async def run(self, episode: Episode) -> None:
        async def explore(thread: str) -> None:
            for _ in range(4):
                seen = ",".join(episode.state["moves"][-3:])
                episode.tell(thread, f"so far: {seen} {episode.rng('shared').random()}")
                said = await episode.reply(thread)
                await asyncio.sleep(0)
                episode.state["moves"].append(f"{thread}:{said.content[-4:]}")

        threads = [episode.open_thread("policy") for _ in range(3)]
        await asyncio.gather(*(explore(thread) for thread in threads))
        await episode.turn("policy")


class Judged(Plain):
    auxiliary = ("judge",)

    async def score(self, state: dict[str, Any], episode: Episode) -> Any:
        verdicts = await asyncio.gather(*(episode.ask("judge", f"{n}: was it good?") for n in range(3)))
        return {f"judge_{n}": float(len(verdict.content)) for n, verdict in enumerate(verdicts)}


class Shop(Plain):
    """Has a tool whose effect is retried if its result was lost."""

    sold: list[tuple[str, str]]

    @tool(effect="retry")
    async def buy(self, state: dict[str, Any], caller: Participant, item: str, key: IdempotencyKey) -> str:
        self.sold.append((item, key))
        return f"receipt {len(self.sold)}"


def shop() -> Shop:
    environment = Shop()
    environment.sold = []
    return environment


def shopping(request: CompletionRequest, rng: random.Random) -> Message:
    if request.messages[-1].role == "tool" or not request.tools:
        return Message("assistant", f"thanks {rng.random()}")
    return Message("assistant", "", tool_calls=(ToolCall("c", "buy", json.dumps({"item": f"{rng.random():.3f}"})),))


def stage_of(environment: Environment[Any, Any], model: Any, **limits: Any) -> Stage:
    section = LimitsSection(**{"max_turns": 4, "tool_deadline_s": 0.3, **limits})
    names = (*environment.participants, *environment.auxiliary)
    cast = {name: Participant.from_config(name, ParticipantSection(model="m"), section) for name in names}
    return Stage(environment, cast, {"m": model}, section)


SPEC = EpisodeSpec("e", "g", "t", 0, 7, "{}")


@dataclass
class Attempt:
    played: Played
    file: Path
    model: Answering

    @property
    def row(self) -> dict[str, Any]:
        """Returns the row as it is read back, without the fields that may differ."""
        return without_volatile(row_of(self.played, "run", "env"))

    @property
    def answered(self) -> list[Called]:
        records = [decode(payload) for _, payload in Scan(self.file.read_bytes())]
        return [record for record in records if isinstance(record, Called)]


_attempts = itertools.count()


async def attempt(
    folder: Path, environment: Environment[Any, Any], answer: Any, adopted: Sequence[str] = (), **limits: Any
) -> Attempt:
    model = Answering(answer)
    number = next(_attempts)
    journal = Journal(folder / f"1-{number}.journal", "run", flush=False)
    player = LeasePlayer(stage_of(environment, model, **limits), GROUPS, journal, HistoryReader(folder))
    spec = replace(SPEC, attempt=len(adopted))
    played = await player.play(Lease(spec, tuple(adopted)))
    [played] = await player.close_group([played])
    return Attempt(played, journal.path, model)


def cut(first: Attempt, answers: int) -> str:
    """The name of a fenced journal that holds what was written until that many answers had come."""
    kept, count = [HEAD], 0
    for _, payload in Scan(first.file.read_bytes()):
        is_answer = isinstance(decode(payload), Called)
        if is_answer and count == answers:
            break
        count += is_answer
        kept.append(frame(payload))
    path = first.file.with_name(f"1-{next(_attempts)}.journal")
    path.write_bytes(b"".join(kept))
    return fence(path, "run").name
