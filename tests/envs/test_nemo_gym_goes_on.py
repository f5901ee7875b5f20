"""Checks that an episode whose worker died resumes with the same session on the server, which stays open for it."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from pathlib import Path

import pytest
from nemo_double import NemoDouble
from nemo_playing import add, adds, counter_row, playing
from playing_tasks import reward_of, says, stage_of

from ray_gym import Message
from ray_gym.config.sections import GroupsSection, LimitsSection
from ray_gym.envs.nemo_gym import NemoGym
from ray_gym.envs.nemo_gym.row import NemoRow
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.journal.history import HistoryReader, fence
from ray_gym.journal.journal import Journal
from ray_gym.models.base import CompletionRequest
from ray_gym.models.player import Player as Policy
from ray_gym.play.play import Played
from ray_gym.run.lease import Lease
from ray_gym.run.worker.player import LeasePlayer

ROUTES = {"/close_session": False}
SPEC = EpisodeSpec("e", "g", "t", 0, 7, NemoRow.model_validate(counter_row()).model_dump_json())


async def attempt(
    environment: NemoGym, folder: Path, policy: Policy, number: int, adopted: tuple[str, ...] = ()
) -> Played:
    journal = Journal(folder / f"1-{number}.journal", "run", flush=False)
    stage = stage_of(environment, {"policy": policy}, LimitsSection(), None, {})
    player = LeasePlayer(stage, GroupsSection(), journal, HistoryReader(folder))
    return await player.play(Lease(replace(SPEC, attempt=number), adopted))


async def die(environment: NemoGym, folder: Path, policy: Policy, reached: asyncio.Event) -> str:
    """Play until something is reached, stop as a worker stops, and give the name of its journal."""
    playing_it = asyncio.create_task(attempt(environment, folder, policy, 0))
    waiting = asyncio.create_task(reached.wait())
    await asyncio.wait([playing_it, waiting], return_when=asyncio.FIRST_COMPLETED)
    assert not playing_it.done(), playing_it.result()
    playing_it.cancel()
    await asyncio.wait([playing_it])
    return fence(folder / "1-0.journal", "run").name


def stuck_after(messages: list[Message], reached: asyncio.Event) -> Policy:
    async def policy(request: CompletionRequest, rng: random.Random) -> Message:
        if messages:
            return messages.pop(0)
        reached.set()
        await asyncio.sleep(60)
        raise AssertionError("unreachable")

    return policy


async def test_it_goes_on_with_the_session_that_it_had(tmp_path: Path) -> None:
    reached = asyncio.Event()
    async with NemoDouble(paths=ROUTES) as double:
        async with playing(double.url) as first:
            left = await die(first, tmp_path, stuck_after([add(3), add(1, "b")], reached), reached)
        assert double.closed == [], "an episode that is only interrupted keeps its session"
        async with playing(double.url) as second:
            played = await attempt(second, tmp_path, says(add(3, "c"), "Done."), 1, (left,))
    assert reward_of(played) == 1
    assert [call.body for call in double.called("/increment_counter")] == [{"count": 3}, {"count": 1}, {"count": 3}]
    assert {call.session for call in double.calls} == {"s1"} and len(double.called("/seed_session")) == 1
    assert double.closed == ["s1"] and played.episode.calls.log.replayed > 0
    assert [event.content for event in played.episode.events if event.kind == "tool_result"] == [
        '{"success": true}'
    ] * 3


@pytest.mark.parametrize(("when_lost", "ends"), [("fail", ("failed", 6)), ("retry", ("completed", 9))])
async def test_a_call_that_was_under_way_follows_the_rule(
    tmp_path: Path, when_lost: str, ends: tuple[str, int]
) -> None:
    """The server has carried it out: with `retry` it does so twice."""
    async with NemoDouble(paths=ROUTES) as double:
        double.fail("/increment_counter", "late")
        async with playing(double.url, when_lost=when_lost) as first:
            left = await die(first, tmp_path, adds(3), double.stuck)
        async with playing(double.url, when_lost=when_lost) as second:
            played = await attempt(second, tmp_path, says("Done."), 1, (left,))
    assert (played.status, double.counters["s1"]) == ends
    if when_lost == "fail":
        assert played.failure is not None and played.failure.kind == "infra"
        assert "nobody knows whether it was made" in played.failure.message


async def test_a_verdict_is_asked_for_once(tmp_path: Path) -> None:
    """Cut after the verdict, before the session was closed."""
    async with NemoDouble(paths=ROUTES) as double:
        double.fail("/close_session", "hang")
        async with playing(double.url) as first:
            left = await die(first, tmp_path, adds(7), double.stuck)
        async with playing(double.url) as second:
            played = await attempt(second, tmp_path, says("never asked"), 1, (left,))
    assert reward_of(played) == 1 and len(double.called("/verify")) == 1 and double.closed == ["s1"]
