"""Isolated calls that wait for one of a worker's processes: all of its pools share them, and the wait is nobody's time."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from playing import Alone, Reply, ScriptModel, calls

from ray_gym import Episode, Participant, tool
from ray_gym.config.sections import LimitsSection, ParticipantSection
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.play.play import Played, play
from ray_gym.stop import StopReason
from ray_gym.tools.isolated import process_slots
from ray_gym.tools.library import Libraries
from ray_gym.tools.runner import ToolRunner

NAP_S = 0.2


class Sleepy(Alone):
    """Sleeps in an isolated tool, and in a library while it is scored."""

    @tool(isolated=True)
    def nap(self, state: Any, caller: Participant) -> str:
        """Sleep."""
        time.sleep(NAP_S)
        return "slept"

    async def score(self, state: Any, episode: Episode) -> float:
        slept = await episode.isolated("time:sleep", NAP_S, deadline_s=30)
        return float(slept.error is None)


async def play_one(environment: Sleepy, runner: ToolRunner, *said: Reply, **limits: Any) -> Played:
    section = LimitsSection(max_steps_per_turn=2, **limits)
    cast = {"policy": Participant.from_config("policy", ParticipantSection(model="m"), section)}
    stage = Stage(environment, cast, {"m": ScriptModel(list(said))}, section, runner)
    return await play(EpisodeSpec("e", "g", "t", 0, 0, "{}"), stage)


@pytest.mark.clock
async def test_waiting_for_a_process_is_not_the_time_of_an_episode() -> None:
    """One episode waits in its play, and one while it is scored, both longer than their limits.

    Then their processes are started.
    """
    environment, runner, limits = Sleepy(), ToolRunner(processes=1), {"episode_deadline_s": 3, "score_deadline_s": 3}
    nap = calls("nap"), "done"
    try:
        async with runner.processes:
            playing = asyncio.create_task(play_one(environment, runner, *nap, **limits))
            scoring = asyncio.create_task(play_one(environment, runner, "done", **limits))
            await asyncio.sleep(4)
            assert not playing.done() and not scoring.done()
        for played in (await playing, await scoring):
            assert played.episode.stop and played.episode.stop.reason == StopReason.COMPLETED
            assert played.score and played.score.reward == 1
    finally:
        await runner.close()


async def test_a_call_that_has_its_process_is_the_episodes_time() -> None:
    runner = ToolRunner(processes=1)
    try:
        played = await play_one(Sleepy(), runner, "done", score_deadline_s=0.05)
    finally:
        await runner.close()
    assert played.failure is not None and played.failure.message.endswith("no result within score_deadline_s (0.05 s)")


@pytest.mark.clock
async def test_libraries_share_the_processes() -> None:
    libraries = Libraries(process_slots(1))
    naps = [("time:sleep", f"[{NAP_S}]"), ("select:select", f"[[], [], [], {NAP_S}]")] * 3
    try:
        await asyncio.gather(*(libraries.call(function, given, 30, None) for function, given in naps[:2]))
        began = time.monotonic()
        given = await asyncio.gather(*(libraries.call(function, given, 30, None) for function, given in naps))
        assert time.monotonic() - began >= NAP_S * len(naps)
    finally:
        await libraries.close()
    assert [why for _, why in given] == [None] * len(naps)
