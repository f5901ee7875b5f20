"""Checks the session table of a worker: a caller that asks for a session waits for that one, and for no other."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ray_gym import Environment, Episode, Task
from ray_gym.config.sections import LimitsSection, ParticipantSection
from ray_gym.engines.scripted import ScriptedEngine
from ray_gym.engines.scripted_model import ScriptedOptions
from ray_gym.episode.participant import Participant
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.errors import Failure, FailureKind
from ray_gym.journal.call_log import CallLog
from ray_gym.openai_api.refused import Refused
from ray_gym.play.play import Played, bare_episode, fail_episode
from ray_gym.play.session import CommandSession
from ray_gym.service.api import MessageRequest, ToolCallRequest
from ray_gym.service.sessions import session_table
from ray_gym.service.sessions.session_table import SessionTable


class Opened:
    """Has what a session table needs of a session; its host decides whether it is let go."""

    idle_s = 0.0
    played: Played | None = None

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    async def open(self) -> None:
        return None

    async def close(self) -> None:
        return None


class LetGoAtOnce(Opened):
    @property
    def idle_s(self) -> float:  # type: ignore[override]
        raise asyncio.CancelledError


def hosted(at: SessionTable, session_id: str, session: Any = None) -> tuple[Any, asyncio.Task[Played]]:
    session = session or Opened()
    return session, asyncio.create_task(at.host(session_id, session))


async def let_go(*hosting: asyncio.Task[Played]) -> None:
    await asyncio.sleep(0)
    for one in hosting:
        one.cancel()
    await asyncio.gather(*hosting, return_exceptions=True)


async def test_all_who_wait_for_a_session_get_it_and_others_wait_on() -> None:
    at = SessionTable("market", idle_s=60)
    waiting = [asyncio.create_task(at.find("a")) for _ in range(3)]
    other = asyncio.create_task(at.find("b"))
    await asyncio.sleep(0)
    session, hosting = hosted(at, "a")
    assert await asyncio.gather(*waiting) == [session] * 3
    assert not other.done()
    second, also = hosted(at, "b")
    assert await other is second
    assert await at.find("a") is session
    await let_go(hosting, also)


async def test_a_session_that_was_let_go_before_anybody_looked_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_table, "OPENING_S", 0.05)
    at = SessionTable("market", idle_s=60)
    waiting = [asyncio.create_task(at.find("a")) for _ in range(2)]
    await asyncio.sleep(0)
    _, hosting = hosted(at, "a", LetGoAtOnce())
    await let_go(hosting)
    refused = await asyncio.gather(*waiting, return_exceptions=True)
    assert [one.status for one in refused if isinstance(one, Refused)] == [503, 503]


class Opening(Environment[Task, None]):
    """Each is set up when it may be."""

    participants = ("policy",)

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[str] = []
        self.may = {name: asyncio.Event() for name in "abc"}

    async def setup(self, task: Task, episode: Episode) -> None:  # type: ignore[override]
        self.begun.append(episode.spec.episode_id)
        await self.may[episode.spec.episode_id].wait()


def stage(environment: Environment[Any, Any]) -> Stage:
    limits = LimitsSection()
    cast = {"policy": Participant.from_config("policy", ParticipantSection(model="m"), limits)}
    model = ScriptedEngine(ScriptedOptions(player="ray_gym.envs.tic_tac_toe.players:random_player")).connect()
    return Stage(environment, cast, {"m": model}, limits)


def spec(name: str) -> EpisodeSpec:
    return EpisodeSpec(name, name, "t", 0, 7, "{}")


async def test_suspects_are_resumed_one_at_a_time_and_keep_nobody_else_waiting() -> None:
    environment, at = Opening(), SessionTable("opening", idle_s=60)
    at.suspects |= {"a", "b"}
    on = stage(environment)
    held = [hosted(at, name, CommandSession(spec(name), on, CallLog(name))) for name in "abc"]
    for event in (environment.may["c"], environment.may["b"]):
        event.set()
    await at.find("c")
    waiting = {name: asyncio.create_task(at.find(name)) for name in "ab"}
    await asyncio.sleep(0)
    assert environment.begun == ["a", "c"] and not any(one.done() for one in waiting.values())
    environment.may["a"].set()
    assert [await waiting["a"], await waiting["b"]] == [session for session, _ in held[:2]]
    assert environment.begun == ["a", "c", "b"] and not at.suspects
    await let_go(*(hosting for _, hosting in held))


async def test_whoever_waits_for_one_that_was_charged_is_told_why() -> None:
    at, on = SessionTable("opening", idle_s=60), stage(Opening())
    waiting = asyncio.create_task(at.call_tool("a", "k", ToolCallRequest(name="look", arguments={})))
    await asyncio.sleep(0)
    played = fail_episode(bare_episode(spec("a"), on), Failure(FailureKind.ENVIRONMENT, "worker", "3 workers died"))
    at.show("a", CommandSession(spec("a"), on, CallLog(), played=played))
    with pytest.raises(Refused) as refused:
        await waiting
    assert (refused.value.status, refused.value.code) == (409, "episode_is_over")
    assert refused.value.message == "the episode is over (failed: 3 workers died): it can only be scored"
    with pytest.raises(Refused, match="3 workers died"):
        await at.say("a", "other", MessageRequest(content="hello"))
    for told in (await at.info("a"), await at.begin("a"), await at.score("a", "end")):
        assert told.score is not None and told.score.failure is not None
        assert (told.score.status, told.score.failure["message"]) == ("failed", "3 workers died")
    await at.close("a")
