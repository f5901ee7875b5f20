"""Checks that an author may compare a participant with its name, and that no setting of it gets into a text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from playing import Talk, play_script

from ray_gym import Episode, Participant
from ray_gym.models.base import Sampling

POLICY = Participant("policy", "m", Sampling(), True, 5, 5, system_prompt="SECRET")


def test_its_name_stands_for_it() -> None:
    assert POLICY == "policy" and POLICY != "user" and POLICY in {"policy": 1} and POLICY in ("user", "policy")
    assert f"{POLICY} booked" == "policy booked" and str(POLICY) == "policy"


def test_two_that_equal_one_name_equal_each_other() -> None:
    other = replace(POLICY, max_turns=6)
    assert (
        other == POLICY
        and len({POLICY, other}) == len({"policy", POLICY, other}) == len({other, POLICY, "policy"}) == 1
    )
    assert replace(POLICY, name="user") != POLICY and POLICY != 5


async def test_a_relay_that_asks_for_the_name() -> None:
    class Private(Talk):
        def relay(self, state: Any, episode: Episode, turn: Any, listener: Participant) -> str | None:
            return None if listener == "user" else turn.text

    game = await play_script(Private(), ["secret"], ["hi"], policy={"max_turns": 1})
    assert not any("secret" in message.content for message in game.episode.messages_of("user"))
