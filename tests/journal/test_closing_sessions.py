"""Checks a session that is closed while commands wait or are under way, and one in which too many wait."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from market import Driven, Market, Voices, cuts, opened

from ray_gym import Message, Participant, ToolCall, tool
from ray_gym.journal.history import HistoryReader
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.play import session as session_module
from ray_gym.play.agent_call import AgentCall, command_of
from ray_gym.play.commands import CallTool, Close, Command, End, Say, TakeTurn, Tell
from ray_gym.play.entrance import TooManyWaiting
from ray_gym.stop import Closed, EpisodeOver

WITHIN_S = 10


class Workshop(Market):
    """Has tools that take their time. `held`: the tools that wait for `gate`."""

    def __init__(self, *held: str, is_quick: bool = False) -> None:
        super().__init__()
        self.held = held
        self.turns = 1 if is_quick else 100  # of the event loop: less, or more, than a replay takes for rest
        self.begun: list[str] = []
        self.news = asyncio.Event()
        self.gate = asyncio.Event()

    async def _take_time(self, what: str) -> None:
        self.begun.append(what)
        self.news.set()
        for _ in range(self.turns):
            await asyncio.sleep(0)
        if what in self.held:
            await self.gate.wait()

    @tool()
    async def wrap(self, state: dict[str, Any], caller: Participant) -> str:
        await self._take_time("wrap")
        return "wrapped"

    @tool(effect="fail")
    async def ship(self, state: dict[str, Any], caller: Participant) -> str:
        await self._take_time("ship")
        return "shipped"

    @tool()
    async def stubborn(self, state: dict[str, Any], caller: Participant) -> str:
        self.begun.append("stubborn")
        self.news.set()
        while not self.gate.is_set():
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                continue
        raise RuntimeError("it breaks in the end")


@dataclass
class Script(Voices):
    """Does what the script says, call by call, and then only speaks. `held`: the number of the call that is not answered."""

    tools: Sequence[str] = ()
    held: int = 0
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def complete(self, request: CompletionRequest) -> Completion:
        self.calls += 1
        number = self.calls
        self.news.set()
        if number == self.held:
            await asyncio.get_running_loop().create_future()
        if number <= len(self.tools):
            return Completion(Message("assistant", tool_calls=(ToolCall("c", self.tools[number - 1], "{}"),)))
        return Completion(Message("assistant", f"answer {number}"))


async def until(news: asyncio.Event, condition: Any) -> None:
    async with asyncio.timeout(WITHIN_S):
        while not condition():
            news.clear()
            await news.wait()


@dataclass(frozen=True)
class Cut:
    """Says what is under way when the session is closed, and waits until it has come so far."""

    commands: tuple[Command, ...]
    tools: tuple[str, ...] = ()
    held_call: int = 0
    held_tool: str = ""

    async def has_come(self, model: Script, environment: Workshop) -> None:
        if self.held_tool:
            await until(environment.news, lambda: self.held_tool in environment.begun)
        if self.held_call:
            await until(model.news, lambda: model.calls >= self.held_call)


CUTS = {
    "first call": Cut((Say("policy", "Hello"),), held_call=1),
    "call after a tool": Cut((TakeTurn("policy"),), ("wrap",), held_call=2),
    "call after an effect": Cut((TakeTurn("policy"),), ("ship",), held_call=2),
    "slow tool": Cut((TakeTurn("policy"),), ("wrap",), held_tool="wrap"),
    "effect": Cut((TakeTurn("policy"),), ("ship",), held_tool="ship"),
    "side by side": Cut(
        (CallTool("policy", "a", "wrap", "{}"), CallTool("user", "b", "ship", "{}")), held_tool="ship"
    ),
    "judge": Cut((End(),), held_call=1),
}  # fmt: skip


async def within(step: Any) -> Any:
    async with asyncio.timeout(WITHIN_S):
        return await step


async def closed(folder: Path, cut: Cut) -> tuple[Driven, list[BaseException | Any], Workshop]:
    """Closes a session twice at once, while some commands are under way and others wait."""
    model, environment = Script(tools=cut.tools, held=cut.held_call), Workshop(cut.held_tool)
    driven = await opened(folder, model=model, environment=environment)
    session = driven.session
    await session.perform("before", Tell("policy", "Buy something."))
    given = [asyncio.create_task(session.perform(f"{n}", one)) for n, one in enumerate(cut.commands)]
    await cut.has_come(model, environment)
    waiting: list[Command] = [
        Say("policy", "I wait"),
        TakeTurn("user"),
        CallTool("policy", "w", "buy", '{"item": "x"}'),
    ]
    given += [asyncio.create_task(session.perform(f"w{n}", one)) for n, one in enumerate(waiting)]
    given.append(asyncio.create_task(session.perform("0", cut.commands[0])))
    await asyncio.sleep(0)
    one, other = await within(
        asyncio.gather(session.perform("close", Close("enough")), session.perform("idle", Close("silence")))
    )
    assert one is other
    return driven, await within(asyncio.gather(*given, return_exceptions=True)), environment


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS.keys())
async def test_closing_cuts_what_is_under_way_and_what_waits_and_is_replayed(tmp_path: Path, cut: Cut) -> None:
    driven, results, _ = await closed(tmp_path, cut)
    assert [type(result) for result in results] == [Closed] * len(results)
    row = driven.row
    assert (row["status"], row["stop_reason"], row["stop_text"]) == ("cancelled", "closed", "enough")
    assert row["reward"] is None and row["failure"] is None
    [*_, last] = names = cuts(driven.file)
    recorded = HistoryReader(tmp_path).read("e", [last]).commands
    assert [one.key for one in recorded] == ["before", *map(str, range(len(cut.commands))), "close"]

    model, environment = Script(tools=cut.tools), Workshop(is_quick=bool(cut.held_tool))  # nothing is held now
    again = await opened(tmp_path, last, model=model, environment=environment)
    assert again.row == row and model.calls == 0 and environment.begun.count("ship") == 0
    with pytest.raises(EpisodeOver):
        await again.session.perform("0", cut.commands[0])
    twice = await opened(tmp_path, last, cuts(again.file)[-1], model=model, environment=Workshop())
    assert twice.row == row and model.calls == 0

    unclosed = [one for one in names if HistoryReader(tmp_path).read("e", [one]).commands[-1:] != recorded[-1:]]
    before = await opened(tmp_path, unclosed[-1], model=Script(tools=cut.tools), environment=Workshop())
    if "ship" in cut.held_tool:
        assert before.row["failure"]["kind"] == "infra", "nobody knows whether it was made"
    else:
        assert before.session.played is None or before.row["status"] == "completed", "nobody had closed it yet"


@pytest.mark.parametrize("last", [Close("enough"), End()])
async def test_what_came_in_the_same_moment_has_begun_before_it_is_cut(tmp_path: Path, last: Command) -> None:
    """A replay begins it too."""
    driven = await opened(tmp_path, model=Script(held=1))
    session, call = driven.session, AgentCall((Message("user", "Hello"),), b"Hello")
    asked = asyncio.create_task(session.perform("a", lambda: command_of(call, "policy", session)))
    await within(asyncio.create_task(session.perform("last", last)))
    with pytest.raises(EpisodeOver):
        await asked
    await within(session.settle())
    assert "Hello" in [event["content"][0]["text"] for event in driven.row["events"] if event["content"]]
    again = await opened(tmp_path, cuts(driven.file)[-1], model=Script())
    assert again.row == driven.row


async def test_a_command_that_was_cut_stays_cut_when_it_is_given_again(tmp_path: Path) -> None:
    driven, _, _ = await closed(tmp_path, CUTS["slow tool"])
    again = await opened(tmp_path, cuts(driven.file)[-1], model=Script(), environment=Workshop())
    for session in (driven.session, again.session):
        with pytest.raises(Closed):
            await session.perform("0", TakeTurn("policy"))
        with pytest.raises(EpisodeOver):
            await session.perform("new", TakeTurn("policy"))


async def test_closing_waits_no_longer_than_a_while_for_code_that_does_not_let_itself_be_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_module, "CUT_S", 0.05)
    environment = Workshop()
    driven = await opened(tmp_path, environment=environment)
    call = asyncio.create_task(driven.session.perform("0", CallTool("policy", "c", "stubborn", "{}")))
    await until(environment.news, lambda: environment.begun)
    await within(driven.session.perform("close", Close("enough")))
    with pytest.raises(Closed):
        await call
    row = driven.row
    assert row["status"] == "cancelled"
    environment.gate.set()
    await within(driven.session.settle())
    assert driven.row == row, "what becomes of it then changes nothing"


async def test_no_more_commands_wait_than_may_and_what_is_refused_is_recorded_nowhere(tmp_path: Path) -> None:
    model = Voices(release=asyncio.Event())
    driven = await opened(tmp_path, model=model, most_waiting=3)
    session = driven.session

    def ask(key: str) -> Any:
        call = AgentCall((Message("user", "Hello"),), key.encode())
        return session.perform(key, lambda: command_of(call, "policy", session))

    first = asyncio.create_task(session.perform("first", TakeTurn("policy")))
    await model.asked.wait()
    size = driven.file.stat().st_size
    waiting = [asyncio.create_task(session.perform("first", TakeTurn("policy")))]  # it asks again
    waiting.append(asyncio.create_task(session.perform("second", Tell("user", "psst"))))
    waiting.append(asyncio.create_task(ask("asked")))
    await asyncio.sleep(0)
    for refused in (
        session.perform("third", TakeTurn("user")),
        session.perform("first", TakeTurn("policy")),
        ask("more"),
    ):
        with pytest.raises(TooManyWaiting, match="3 commands wait"):
            await refused
    assert driven.file.stat().st_size == size and session.given == 1
    assert model.release is not None
    model.release.set()
    await within(asyncio.gather(first, *waiting))
    await session.perform("third", TakeTurn("user"))
    recorded = HistoryReader(tmp_path).read("e", [cuts(driven.file)[-1]]).commands
    assert [one.key for one in recorded] == ["first", "second", "asked", "third"]


async def test_a_command_that_nobody_waits_for_any_more_gives_its_place_back(tmp_path: Path) -> None:
    model = Voices(release=asyncio.Event())
    driven = await opened(tmp_path, model=model, most_waiting=1)
    first = asyncio.create_task(driven.session.perform("first", TakeTurn("policy")))
    await model.asked.wait()
    for number in range(5):
        waiting = asyncio.create_task(driven.session.perform(f"gone {number}", TakeTurn("user")))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        assert waiting.cancelled()
    assert model.release is not None
    model.release.set()
    await within(first)
    assert driven.session.given == 1, "what was not begun is not carried out"


async def test_calls_side_by_side_do_not_wait(tmp_path: Path) -> None:
    environment = Workshop("wrap")
    driven = await opened(tmp_path, environment=environment, most_waiting=1)
    calls = [
        asyncio.create_task(driven.session.perform(f"{n}", CallTool("policy", f"{n}", "wrap", "{}"))) for n in range(20)
    ]
    await until(environment.news, lambda: len(environment.begun) == 20)
    environment.gate.set()
    for done in await within(asyncio.gather(*calls)):
        assert "wrapped" in [event.content for event in done.events]
