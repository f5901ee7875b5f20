"""Checks that a session rebuilt from its journal shows all that a caller was told before."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from captured_agent import HELLO
from captured_agent import cuts as cuts_of_agent
from captured_agent import opened as opened_for_agent
from market import Market, Voices, cuts, opened

from ray_gym import Participant, tool
from ray_gym.journal.replay import Diverged, Replay
from ray_gym.journal.stillness import Stillness
from ray_gym.play.commands import CallTool, Command, Say
from ray_gym.service.sessions import views


class Slow(Market):
    @tool()
    async def walk(self, state: dict[str, Any], caller: Participant) -> str:
        await asyncio.sleep(0.2)
        state["bought"].append("shoes")
        return "there"


@pytest.mark.parametrize("last", [Say("policy", "Too much"), CallTool("policy", "c", "walk", "{}")])
async def test_it_is_there_only_when_all_that_was_told_is_there_again(tmp_path: Path, last: Command) -> None:
    """Checks this also for a tool call that takes time to be carried out again."""
    first = await opened(tmp_path, environment=Slow())
    await first.drive([CallTool("policy", "b", "buy", '{"item": "bread"}'), last])
    told = views.info("e", "market", first.session)
    nobody = Voices(release=asyncio.Event())
    again = await opened(tmp_path, cuts(first.file)[-1], environment=Slow(), model=nobody, settled=False)
    assert views.info("e", "market", again.session) == told and nobody.calls == 0


async def test_an_agents_answer_is_there_again(tmp_path: Path) -> None:
    first = await opened_for_agent(tmp_path)
    await first.say(HELLO)
    told = views.info("e", "shop", first.session)
    again = await opened_for_agent(tmp_path, cuts_of_agent(first.file)[-1])
    assert views.info("e", "shop", again.session) == told and not again.model.asked


async def test_a_model_that_had_not_answered_is_not_waited_for(tmp_path: Path) -> None:
    first = await opened(tmp_path, model=Voices(release=asyncio.Event()))
    saying = asyncio.create_task(first.session.perform("s", Say("policy", "Well?")))
    await first.model.asked.wait()
    again = await opened(tmp_path, cuts(first.file)[-1], model=Voices(release=asyncio.Event()), settled=False)
    await again.model.asked.wait()
    assert again.session.given == 1
    for driven in (first, again):
        await driven.session.close()
    await asyncio.wait([saying])


async def test_what_takes_long_in_all_is_waited_for_as_long_as_it_moves() -> None:
    replay, moves = Replay([], Stillness(), patience_s=0.2), 0
    waiting = asyncio.create_task(replay.wait_until(lambda: moves == 6, "t", 0))
    for moves in range(1, 7):  # noqa: B007
        await asyncio.sleep(0.1)
        replay.look_again()
    await waiting
    with pytest.raises(Diverged):
        await replay.wait_until(lambda: False, "t", 0)
