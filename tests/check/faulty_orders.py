"""Defines a tiny sound environment, and variants of it with one fault each."""

from __future__ import annotations

import asyncio
import datetime
import json
import math
import os
import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.cookiejar import CookieJar
from typing import Any, ClassVar

from pydantic import BaseModel

from ray_gym import (
    Environment,
    Episode,
    Message,
    Opening,
    Participant,
    Score,
    Task,
    Tool,
    ToolCall,
    ToolError,
    ToolSchema,
    Turn,
    tool,
    tool_by_schema,
)
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.graders import Judge, Library
from ray_gym.models.base import CompletionRequest
from ray_gym.models.player import Player

SECRET = "Your budget is {budget} coins, and the seller must not learn that."


class OrderTask(Task):
    wares: list[str]
    budget: int


@dataclass
class Order:
    wanted: list[str]
    sold: list[str] = field(default_factory=list)


class Sound(Environment[OrderTask, Order]):
    """Lets the policy sell what the user asks for."""

    participants = ("policy", "user")

    def generate(self, rng: random.Random, index: int) -> OrderTask:
        wares = rng.sample(["apples", "bread", "candles", "dates", "eggs", "figs", "grapes", "honey"], 3)
        return OrderTask(wares=wares, budget=rng.randint(10, 10_000))

    def setup(self, task: OrderTask, episode: Episode) -> Order:
        return Order(list(task.wares))

    def opening(self, task: OrderTask, state: Order) -> Opening:
        secret = SECRET.format(budget=task.budget)
        system = {"policy": "You sell what you are asked for.", "user": f"You buy what you need.\n{secret}"}
        return Opening(system=system, messages={"policy": f"Good day, I want {', '.join(state.wanted)}."})

    @tool(participants=("policy",))
    def sell(self, state: Order, caller: Participant, ware: str) -> str:
        """Hand over something that is wanted."""
        if ware not in state.wanted:
            raise ToolError("that is not wanted")
        state.wanted.remove(ware)
        state.sold.append(ware)
        return f"sold: {ware}"

    @tool(participants=("user",))
    def count_coins(self, state: Order, caller: Participant) -> str:
        """Count the coins that are left."""
        return f"{100 - len(state.sold)} coins"

    def finished(self, state: Order, episode: Episode) -> str | None:
        return None if state.wanted else "all is sold"

    def score(self, state: Order, episode: Episode) -> Score | float:
        return len(state.sold) / len(episode.task.wares)

    def perfect(self, task: OrderTask) -> Mapping[str, Player]:
        def seller(request: CompletionRequest, rng: random.Random) -> Message:
            done = sum(message.role == "tool" for message in request.messages)
            arguments = json.dumps({"ware": task.wares[min(done, len(task.wares) - 1)]})
            return Message("assistant", tool_calls=(ToolCall(f"call_{done}", "sell", arguments),))

        def buyer(request: CompletionRequest, rng: random.Random) -> Message:
            return Message("assistant", "Go on, please.")

        return {"policy": seller, "user": buyer}


class NoGenerator(Sound):
    generate = Environment.generate


class SharedState(Sound):
    ledger: list[str] = []  # noqa: RUF012

    def relay(self, state: Order, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        self.ledger.append(turn.text)
        return f"Entry {len(self.ledger)} of today's book." if listener.name != turn.speaker else None


class UnseededRandomness(Sound):
    def relay(self, state: Order, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        return random.choice(["Well?", "And?", "So?"]) if listener.name != turn.speaker else None


class OrderOfASet(Sound):
    def opening(self, task: OrderTask, state: Order) -> Opening:
        of_many = "".join(set("abcdefghijkl"))  # a few wares may come in the same order by chance
        return Opening(messages={"policy": f"I want {', '.join(set(task.wares))}, in box {of_many}."})


class ReadsTheClock(Sound):
    def opening(self, task: OrderTask, state: Order) -> Opening:
        return Opening(messages={"policy": f"It is the year {1970 + int(time.time() // 31_556_952)}. Sell!"})


class WritesTheDate(Sound):
    def opening(self, task: OrderTask, state: Order) -> Opening:
        began = time.strftime("%Y", time.gmtime(0))
        return Opening(messages={"policy": f"From {began} to {time.strftime('%Y')}: {', '.join(state.wanted)}."})


class KeepsCookies(Sound):
    def relay(self, state: Order, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        CookieJar().clear_expired_cookies()
        return super().relay(state, episode, turn, listener)


class HasAStopwatch(Sound):
    def finished(self, state: Order, episode: Episode) -> str | None:
        return None if state.wanted and time.monotonic() > 0 else "all is sold"


class ReadsTheClockInAThread(Sound):
    @tool(participants=("policy",), blocking=True)
    def sell(self, state: Order, caller: Participant, ware: str) -> str:
        """Hand over something that is wanted."""
        return f"{Sound.sell(self, state, caller, ware)}, {datetime.date.today().year}"


class CountsItsReplays(Sound):
    """Asks something else in a replay than in a live run."""

    async def run(self, episode: Episode) -> None:
        while not episode.stopped:
            await episode.turn("policy")
            if not episode.stopped:
                episode.tell("policy", "live" if episode.calls.log.replayed == 0 else "again")


class WrongParticipant(Sound):
    async def run(self, episode: Episode) -> None:
        """Makes every call as the policy, even the user's."""
        while not episode.stopped:
            await episode.turn("policy")
            thread = episode.open_thread("user")
            episode.tell(thread, "What do you want?")
            said = await episode.reply(thread)
            for call in said.tool_calls:
                await episode.call("policy", call)
            episode.tell("policy", said.content or "Go on.")


class WrongParticipantUnderANewId(WrongParticipant):
    async def run(self, episode: Episode) -> None:
        while not episode.stopped:
            await episode.turn("policy")
            thread = episode.open_thread("user")
            episode.tell(thread, "What do you want?")
            said = await episode.reply(thread)
            for call in said.tool_calls:
                await episode.call("policy", ToolCall(episode.new_id(), call.name, call.arguments))
            episode.tell("policy", said.content or "Go on.")


class NeverHeardOfPairs(Sound):
    """Scores a group as if it had one member."""

    async def score_group(self, episodes: Sequence[Episode]) -> Sequence[float]:
        return [self.score(episodes[0].state, episodes[0])]


class TellsASecret(Sound):
    def relay(self, state: Order, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        if listener.name == turn.speaker:
            return None
        return f"{turn.text}\n(They were told: {SECRET.format(budget=episode.task.budget)})"


class TellsWhatAToolSaid(Sound):
    """Its own tools are no secret to the user; that of the policy is."""

    @tool(participants=("policy",))
    def sell(self, state: Order, caller: Participant, ware: str) -> str:
        """Hand over something that is wanted."""
        return f"{Sound.sell(self, state, caller, ware)}, which we had bought for 2 coins"

    def relay(self, state: Order, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        return "\n".join([turn.text, *turn.tool_results]) if listener.name != turn.speaker else None


class TellsAShortAnswer(Sound):
    def relay(self, state: Order, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        return "\n".join(turn.tool_results) or turn.text if listener.name != turn.speaker else None


class TellsALimit(TellsAShortAnswer):
    @tool(participants=("user",))
    def count_coins(self, state: Order, caller: Participant) -> str:
        """Count the coins that are left."""
        return "SECRET: the limit is 5"

    @tool()
    def sell(self, state: Order, caller: Participant, ware: str) -> str:
        """Hand over something that is wanted."""
        return Sound.sell(self, state, caller, ware)


class TellsWithinALine(TellsALimit):
    def relay(self, state: Order, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        told = f"Oh, {' and '.join(turn.tool_results)}; so be it." if turn.tool_results else turn.text
        return told if listener.name != turn.speaker else None


class SaysWhatIsSoldInOtherWords(TellsWhatAToolSaid):
    def relay(self, state: Order, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        return turn.text or f"By now you have {len(state.sold)} wares." if listener.name != turn.speaker else None


class NeverScored(Sound):
    """Its judge is asked for a word that no stand-in says."""

    auxiliary = ("judge",)

    async def score(self, state: Order, episode: Episode) -> float:  # type: ignore[override]
        word = await episode.ask("judge", "Was it polite?")
        if word != "polite":
            raise EpisodeFailure(FailureKind.JUDGE, "judge", f"no verdict: {word!r}")
        return 1.0


class FailsBehindItsJudge(Sound):
    """Its judge is asked for one of two labels, of which stand-ins say one when they are asked again."""

    auxiliary = ("judge",)

    async def score(self, state: Order, episode: Episode) -> float:  # type: ignore[override]
        await Judge("Was it polite? [[YES]] or [[NO]]", {"[[YES]]": 1.0, "[[NO]]": 0.0}).verdict(episode)
        return 1 / 0


class AsksAJudge(Sound):
    """Its judge alone decides, and has no perfect player."""

    auxiliary = ("judge",)

    async def score(self, state: Order, episode: Episode) -> float:  # type: ignore[override]
        question = f"Was it polite? [[YES]] or [[NO]] {episode.answer}"
        return (await Judge(question, {"[[YES]]": 1.0, "[[NO]]": 0.0}).verdict(episode)).value


class AsksAJudgeOnly(AsksAJudge):
    def perfect(self, task: OrderTask) -> Mapping[str, Player]:
        return {}


class ScoredByABrokenFunction(Sound):
    async def score(self, state: Order, episode: Episode) -> float:  # type: ignore[override]
        return (await Library("json:loads", ("{",)).verdict(episode)).value


class SellsWhileItScores(Sound):
    """Its score is another one when it is asked again."""

    def score(self, state: Order, episode: Episode) -> float:
        state.sold.append("a receipt")
        return min(1.0, len(state.sold) / (len(episode.task.wares) + 2))


class OutOfRange(Sound):
    def score(self, state: Order, episode: Episode) -> float:
        return len(state.sold) / len(episode.task.wares) - 0.5


class LogsIn(Sound):
    class Options(BaseModel):
        token: str = ""

    def score(self, state: Order, episode: Episode) -> float:
        raise ValueError(f"bad login {self.options.token!r}")


class OthersOutOfRange(Sound):
    def score(self, state: Order, episode: Episode) -> Score:
        return Score(len(state.sold) / len(episode.task.wares), others={"user": 17.0})


class NoNumber(Sound):
    def score(self, state: Order, episode: Episode) -> float:
        return len(state.sold) / len(episode.task.wares) if state.sold else math.nan


class BlockingTool(Sound):
    @tool(participants=("policy",))
    def sell(self, state: Order, caller: Participant, ware: str) -> str:
        """Hand over something that is wanted."""
        if ware == "figs":
            time.sleep(0.12)
        return Sound.sell(self, state, caller, ware)


class TellsOwnWords(Sound):
    def relay(self, state: Order, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        own = [event.content for event in episode.events if (event.kind, event.thread) == ("message", listener.name)]
        return "\n".join([*own[-1:], turn.text])


class TellsATranscript(Sound):
    def relay(self, state: Order, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        return "\n".join(f"[{event.thread}: {event.content!r}]" for event in episode.events if event.kind == "message")


class TellsOwnWordsWithinALine(Sound):
    def relay(self, state: Order, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        own = [event.content for event in episode.events if (event.kind, event.thread) == ("message", listener.name)]
        return f"The one said: ({' '.join(own[-1:])}) ok, and the other: {turn.text or 'Well?'}"


class AgreesInTheSameWords(Sound):
    """Has no fault: the user says what it was told once more, in a line of its own, which is told in a frame."""

    def perfect(self, task: OrderTask) -> Mapping[str, Player]:
        def buyer(request: CompletionRequest, rng: random.Random) -> Message:
            return Message("assistant", f"Fine, {request.messages[-1].content} it is, if you please")

        return {**Sound.perfect(self, task), "user": buyer}

    def relay(self, state: Order, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        return (
            f"So ({turn.text.strip()}) it goes." if turn.text and listener.name != turn.speaker else turn.text and None
        )


class TellsQuotes(Sound):
    """Has no fault: the user itself quotes what it was told, after a colon."""

    def perfect(self, task: OrderTask) -> Mapping[str, Player]:
        def buyer(request: CompletionRequest, rng: random.Random) -> Message:
            return Message("assistant", f"You said: {request.messages[-1].content}")

        return {**Sound.perfect(self, task), "user": buyer}

    def relay(self, state: Order, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        return turn.text and f"{turn.speaker}: {turn.text}"


class AsciiOnly(Sound):
    def relay(self, state: Order, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        return turn.text.encode("ascii").decode() or "Well?" if listener.name != turn.speaker else None


class AsciiOnlyTool(Sound):
    @tool(participants=("policy",))
    def sell(self, state: Order, caller: Participant, ware: str) -> str:
        """Hand over something that is wanted."""
        return Sound.sell(self, state, caller, ware.encode("ascii").decode())


class ToolForNobody(Sound):
    @tool(participants=("policy", "nobody"))
    def sweep(self, state: Order, caller: Participant) -> str:
        """Clean the floor."""
        return "clean"


class BroughtForNobody(Sound):
    def tools_for(self, task: OrderTask, state: Order) -> list[Tool]:
        schema = ToolSchema("sweep", "Clean the floor.", {"type": "object", "properties": {}})
        return [tool_by_schema(schema, self.sweep, participants=("nobody",))]

    def sweep(self, state: Order, caller: Participant, name: str, arguments: dict[str, Any]) -> str:
        return "clean"


class ForNothing(Sound):
    def score(self, state: Order, episode: Episode) -> float:
        return 1.0


class ChangedTask(Sound):
    def setup(self, task: OrderTask, episode: Episode) -> Order:
        return Order(task.wares)

    def score(self, state: Order, episode: Episode) -> float:
        return len(state.sold) / 3


class FewTasks(Sound):
    def generate(self, rng: random.Random, index: int) -> OrderTask:
        return OrderTask(wares=["bread", "figs"], budget=rng.randint(1, 20))


class GeneratorThatRemembers(Sound):
    made = 0

    def generate(self, rng: random.Random, index: int) -> OrderTask:
        type(self).made += 1
        return OrderTask(wares=["bread", "figs"], budget=self.made)


class OddOutcome(Sound):
    def finished(self, state: Order, episode: Episode) -> Any:
        return None if state.wanted else True


class NarrowsToNoSchema(Sound):
    def narrow(self, tool: ToolSchema, state: Order, caller: Participant) -> ToolSchema:
        tool.parameters["minProperties"] = "all"
        return tool


class TellsNobody(Sound):
    def opening(self, task: OrderTask, state: Order) -> Opening:
        return Opening()


class BadPicture(Sound):
    def render(self, state: Order, episode: Episode) -> Any:
        return f"<b>{state.wanted}</b>"


class BadEnd(Sound):
    async def close(self) -> None:
        raise ConnectionError("nobody is there")


async def _wait_for_ever() -> None:
    await asyncio.Event().wait()


class WaitsInSetup(Sound):
    async def setup(self, task: OrderTask, episode: Episode) -> Order:  # type: ignore[override]
        await _wait_for_ever()
        return Order([])


class WaitsInRun(Sound):
    async def run(self, episode: Episode) -> None:
        await super().run(episode)
        await _wait_for_ever()


class WaitsInATool(Sound):
    @tool(participants=("policy",))
    async def sell(self, state: Order, caller: Participant, ware: str) -> str:
        """Hand over something that is wanted."""
        await _wait_for_ever()
        return ""


class WaitsInScore(Sound):
    async def score(self, state: Order, episode: Episode) -> float:  # type: ignore[override]  # type: ignore[override]
        await _wait_for_ever()
        return 0.0


class WaitsInClose(Sound):
    async def close(self) -> None:
        await _wait_for_ever()


class WaitsForTheOther(Sound):
    """Sessions at the same time wait for one another: who has the first lock wants the second."""

    def __init__(self, options: Any = None) -> None:
        super().__init__(options)
        self.is_taken = False

    async def run(self, episode: Episode) -> None:
        if self.is_taken:
            await _wait_for_ever()
        self.is_taken = True
        await super().run(episode)
        self.is_taken = False


class WaitsElsewhere(Sound):
    """Waits for ever in a process with another hash seed than the checking process has."""

    async def run(self, episode: Episode) -> None:
        if os.environ.get("PYTHONHASHSEED") in ("1", "2"):
            await _wait_for_ever()
        await super().run(episode)


class SticksElsewhere(Sound):
    def finished(self, state: Order, episode: Episode) -> str | None:
        while os.environ.get("PYTHONHASHSEED") in ("1", "2"):
            time.sleep(0.1)
        return super().finished(state, episode)


class Connected(Sound):
    """Sound, as long as each instance that was used is closed."""

    open: ClassVar[set[int]] = set()

    def setup(self, task: OrderTask, episode: Episode) -> Order:
        self.open.add(id(self))
        return super().setup(task, episode)

    async def close(self) -> None:
        self.open.discard(id(self))


class ShyBuyer(Sound):
    def perfect(self, task: OrderTask) -> Mapping[str, Player]:
        def buyer(request: CompletionRequest, rng: random.Random) -> Message:
            return Message("assistant", request.messages[-1].content.encode("ascii").decode()[:20])

        return {**super().perfect(task), "user": buyer}


def sleep_for_ever() -> None:
    while True:
        time.sleep(1)


def search_for_ever() -> None:
    """Searches without ever giving the GIL back."""
    re.search(r"(a+)+$", "a" * 60 + "!")
