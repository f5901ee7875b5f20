"""A black-box agent in a session of its own, models for it to ask, and deaths for the session."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import replace

from ray_gym import Environment, Message, Opening, Participant, Task, ToolCall, tool
from ray_gym.config.sections import LimitsSection, ParticipantSection
from ray_gym.episode.participant import Participant as Cast
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.journal.call_log import CallLog
from ray_gym.journal.frames import HEAD, Scan, frame
from ray_gym.journal.history import HistoryReader, fence
from ray_gym.journal.journal import Journal
from ray_gym.journal.records import Begun
from ray_gym.messages import ToolSchema
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.openai_api.request import ApiRequest
from ray_gym.play.agent_call import AgentCall, command_of
from ray_gym.play.session import CommandSession, Done
from ray_gym.record.rows import row_of
from ray_gym.record.schema import without_volatile

SHELF = ToolSchema("take", "Take something.", {"type": "object", "properties": {"item": {"type": "string"}}})
_files = itertools.count()


class Shop(Environment[Task, list[str]]):
    """Someone else's agent buys; the clerk answers it."""

    participants = ("policy", "user")

    def setup(self, task: Task, episode: Any) -> list[str]:
        return []

    def opening(self, task: Task, state: list[str]) -> Opening:
        return Opening(messages={"policy": "What do you want?"}, system={"policy": "You are a customer."})

    @tool()
    def take(self, state: list[str], caller: Participant, item: str) -> str:
        state.append(item)
        return json.dumps({"taken": len(state)})

    def finished(self, state: list[str], episode: Any) -> str | None:
        return "full" if len(state) >= 3 else None

    def score(self, state: list[str], episode: Any) -> float:
        return len(state)


@dataclass
class Echo:
    """Thinks, and gives tokens; whoever asks for a held text is answered when that is released."""

    held: dict[str, asyncio.Event] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    news: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def complete(self, request: CompletionRequest) -> Completion:
        last = request.messages[-1].content
        async with self.news:
            self.asked.append(last)
            self.news.notify_all()
        if last in self.held:
            await self.held[last].wait()
        new = np.arange(len(request.messages) - request.known, dtype=np.int32)
        calls = (ToolCall(f"c{request.seed % 97}", "take", '{"item":  "pen", "n": 1}'),) if last == "buy" else ()
        message = Message("assistant", f"re: {last}", "I think", calls)
        ids = np.array([request.seed % 1000, 2], dtype=np.int32)
        return Completion(
            message,
            prompt_ids=new,
            prompt_lengths=(1,) * len(new),
            token_ids=ids,
            logprobs=(ids / -1000).astype(np.float32),
        )

    async def was_asked(self, text: str) -> None:
        async with self.news:
            await self.news.wait_for(lambda: text in self.asked)

    async def close(self) -> None:
        return None


class Mute(Echo):
    async def complete(self, request: CompletionRequest) -> Completion:
        return replace(await super().complete(request), message=Message("assistant", ""))


class Twice(Echo):
    """Calls two tools at once, first."""

    async def complete(self, request: CompletionRequest) -> Completion:
        answer = await super().complete(request)
        if request.messages[-1].role != "user" or request.messages[-1].content == "on":
            return answer
        calls = tuple(ToolCall(f"c{number}", "take", json.dumps({"item": number})) for number in range(2))
        return replace(answer, message=replace(answer.message, tool_calls=calls))


class Strict(Echo):
    """Its template takes system messages at the beginning only."""

    async def complete(self, request: CompletionRequest) -> Completion:
        if any(message.role == "system" for message in request.messages[1:]):
            raise EpisodeFailure(FailureKind.DATA, "chat template", "system messages come first")
        return await super().complete(request)


class Aloud(Echo):
    """Thinks in its words."""

    async def complete(self, request: CompletionRequest) -> Completion:
        return replace(await super().complete(request), message=Message("assistant", "<think>What?</think>\nYes"))


@dataclass
class Agent:
    """Makes the calls that an agent in another process would make by HTTP."""

    session: CommandSession
    model: Echo
    file: Path

    async def call(
        self,
        *messages: Message,
        again: bool = False,
        key: str = "",
        asker: str = "",
        arrives: bool = True,
        after: str | None = None,
        form: str | None = None,
        tools: Sequence[ToolSchema] = (SHELF,),
        **changes: Any,
    ) -> Done:
        """Makes a call. `asker`: the key of this very request; `arrives`: whether the agent gets the answer."""
        shown, asker = tuple(tools), asker or f"k{next(_files)}"
        asked = ApiRequest("m", messages, shown, shown, sampling=changes, response_format=form, after=after)
        call = AgentCall.of(asked, is_again=again, is_named=bool(key))
        own = key or await self.session.deliveries.key_for(call.digest, asker, again)
        try:
            done = await self.session.perform(own, lambda: command_of(call, "policy", self.session))
            self.session.deliveries.note_answered(asker)
        except asyncio.CancelledError:
            self.session.deliveries.settle(asker, False)
            raise
        self.session.deliveries.settle(asker, arrives)
        return done

    async def say(self, *messages: Message, **options: Any) -> Message:
        done: Done = await self.call(*messages, **options)
        assert done.completion is not None
        return done.completion.message

    @property
    def row(self) -> dict[str, Any]:
        assert self.session.played is not None
        return without_volatile(row_of(self.session.played, "run", "env"))

    @property
    def samples(self) -> list[tuple[str, str | None, int]]:
        """Returns each sample's thread, the reason of its fork, and how many generations it has."""
        return [
            (sample["thread"], sample["fork_reason"], sum(span["generated"] for span in sample["spans"]))
            for sample in self.row["samples"]
            if sample["participant"] == "policy"
        ]


async def opened(folder: Path, *adopted: str, model: Echo | None = None, **limits: Any) -> Agent:
    section, model = LimitsSection(**limits), model or Echo()
    cast = {name: Cast.from_config(name, ParticipantSection(model="m"), section) for name in ("policy", "user")}
    journal = Journal(folder / f"1-{next(_files)}.journal", "run", flush=False)
    history = HistoryReader(folder).read("e", adopted)
    history.started_at = history.started_at or 1.0
    spec = EpisodeSpec("e", "g", "t", 0, 7, "{}", attempt=len(adopted))
    journal.append(Begun("e", 0, spec.attempt, history.started_at, adopted))
    session = CommandSession(
        spec, Stage(Shop(), cast, {"m": model}, section), CallLog("e", 0, spec.attempt, journal, history, 5)
    )
    await session.open()
    return Agent(session, model, journal.path)


def cuts(file: Path) -> list[str]:
    """Names of fenced journals that hold the first records of a file: one, two, ... all."""
    records = [frame(payload) for _, payload in Scan(file.read_bytes())]
    names = []
    for count in range(1, len(records) + 1):
        path = file.with_name(f"1-{next(_files)}.journal")
        path.write_bytes(HEAD + b"".join(records[:count]))
        names.append(fence(path, "run").name)
    return names


SYSTEM, HELLO = Message("system", "You are a customer."), Message("user", "What do you want?")


def user(text: str) -> Message:
    return Message("user", text)


def echoed(message: Message) -> Message:
    """Returns an answer as agents send it back: without reasoning, with arguments written anew, and with other ids."""
    calls = tuple(
        replace(call, id=f"x-{call.id}", arguments=json.dumps(json.loads(call.arguments), indent=1))
        for call in message.tool_calls
    )
    return Message("assistant", message.content + " ", tool_calls=calls)
