"""A session of a small market, driven by a test, and ways to cut its journal."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ray_gym import Environment, Episode, IdempotencyKey, Message, Opening, Participant, Task, ToolCall, tool
from ray_gym.config.sections import MOST_WAITING, LimitsSection, ParticipantSection
from ray_gym.episode.participant import Participant as Cast
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.journal.call_log import CallLog
from ray_gym.journal.frames import HEAD, Scan, frame
from ray_gym.journal.history import HistoryReader, fence
from ray_gym.journal.journal import Journal
from ray_gym.journal.records import Begun
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.play.commands import Command
from ray_gym.play.session import CommandSession
from ray_gym.record.rows import row_of
from ray_gym.record.schema import without_volatile


class Market(Environment[Task, dict[str, Any]]):
    """The policy buys, the user haggles; a judge looks at the bill."""

    participants = ("policy", "user")
    auxiliary = ("judge",)

    def setup(self, task: Task, episode: Episode) -> dict[str, Any]:
        return {"price": episode.rng("price").randrange(100), "bought": [], "calls": 0}

    def opening(self, task: Task, state: dict[str, Any]) -> Opening:
        return Opening(messages={"policy": f"It costs {state['price']}."})

    @tool()
    def buy(self, state: dict[str, Any], caller: Participant, item: str) -> str:
        if item == "poison":
            raise EpisodeFailure(FailureKind.POLICY, "law", "it bought poison")
        if item == "air":
            raise RuntimeError("there is no air")
        state["bought"].append(item)
        return f"{len(state['bought'])} in the basket"

    @tool(effect="retry")
    async def pay(self, state: dict[str, Any], caller: Participant, key: IdempotencyKey) -> str:
        return f"paid {key}"

    def finished(self, state: dict[str, Any], episode: Episode) -> str | None:
        return "sold out" if len(state["bought"]) >= 3 else None

    async def score(self, state: dict[str, Any], episode: Episode) -> float:  # type: ignore[override]
        verdict = await episode.ask("judge", ", ".join(state["bought"]))
        return len(verdict.content) + state["price"]


@dataclass
class Voices:
    """Says the same to the same seed; counts how often it is asked."""

    calls: int = 0
    release: asyncio.Event | None = None
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def complete(self, request: CompletionRequest) -> Completion:
        self.calls += 1
        self.asked.set()
        if self.release is not None:
            await self.release.wait()
        said = f"{random.Random(request.seed).random()}"
        wants_to_buy = request.thread == "policy" and request.messages[-1].role == "user"
        calls = (ToolCall("c", "buy", json.dumps({"item": said})),) if wants_to_buy else ()
        return Completion(Message("assistant", "" if calls else said, tool_calls=calls))

    async def close(self) -> None:
        return None


SPEC = EpisodeSpec("e", "g", "t", 0, 7, "{}")
_files = itertools.count()


@dataclass
class Driven:
    session: CommandSession
    model: Voices
    file: Path

    @property
    def row(self) -> dict[str, Any]:
        assert self.session.played is not None
        return without_volatile(row_of(self.session.played, "run", "env"))

    async def drive(self, commands: Sequence[Command]) -> None:
        for index in range(self.session.given, len(commands)):
            await self.session.perform(str(index), commands[index])


async def opened(
    folder: Path,
    *adopted: str,
    model: Voices | None = None,
    environment: Market | None = None,
    flush: bool = False,
    most_waiting: int = MOST_WAITING,
    settled: bool = True,
    **limits: Any,
) -> Driven:
    """A session, resumed from fenced journals."""
    environment, section, model = environment or Market(), LimitsSection(**limits), model or Voices()
    names = (*environment.participants, *environment.auxiliary)
    cast = {name: Cast.from_config(name, ParticipantSection(model="m"), section) for name in names}
    journal = Journal(folder / f"1-{next(_files)}.journal", "run", flush=flush)
    history = HistoryReader(folder).read("e", adopted)
    spec = replace(SPEC, attempt=len(adopted))
    history.started_at = history.started_at or 1.0
    journal.append(Begun("e", 0, spec.attempt, history.started_at, adopted))
    log = CallLog("e", 0, spec.attempt, journal, history, patience_s=5)
    session = CommandSession(spec, Stage(environment, cast, {"m": model}, section), log, most_waiting)
    await session.open()
    if settled:
        await session.settle()
    return Driven(session, model, journal.path)


def cuts(file: Path) -> list[str]:
    """Names of fenced journals that hold the first records of a file: one, two, ... all."""
    records = [frame(payload) for _, payload in Scan(file.read_bytes())]
    names = []
    for count in range(1, len(records) + 1):
        path = file.with_name(f"1-{next(_files)}.journal")
        path.write_bytes(HEAD + b"".join(records[:count]))
        names.append(fence(path, "run").name)
    return names
