"""Real resources servers play their own example rows: the reward is what a client that knows nothing of ours is given."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from nemo_playing import failure_of, playing
from nemo_servers import Server, drive_steps, drive_tools, running
from playing_tasks import call_of, play_task, reward_of, says

from ray_gym import Message
from ray_gym.envs import nemo_gym
from ray_gym.envs.nemo_gym.row import NemoRow

pytestmark = pytest.mark.environments

Row = dict[str, Any]
Script = Callable[[Row], list[Message]]


def say(text: str) -> Message:
    return Message("assistant", text)


def call(name: str, call_id: str = "c", **arguments: Any) -> Message:
    return call_of(name, json.dumps(arguments), call_id)


def counts(row: Row) -> list[Message]:
    wanted = row["expected_count"] - row["initial_count"]
    return [call("increment_counter", count=wanted), call("get_counter_value", "d"), say("Done.")]


def miscounts(row: Row) -> list[Message]:
    return [call("increment_counter", count="many"), call("increment_counter", "d", count=1), say("Done.")]


def extracts(row: Row) -> list[Message]:
    looks = [
        call("get_synonym_value", f"c{number}", synonym=one) for number, one in enumerate(row["expected_synonyms"])
    ]
    return [*looks, call("extract_synonym_values", "z", synonym_values=row["expected_synonym_values"]), say("Done.")]


def extracts_wrongly(row: Row) -> list[Message]:
    return [call("extract_synonym_values", synonym_values=[1, 2]), say("Done.")]


def answers(row: Row) -> list[Message]:
    return [say(f"It is \\boxed{{{row['expected_answer']}}}.")]


def answers_wrongly(row: Row) -> list[Message]:
    return [say("It is \\boxed{Z}.")]


def chats(row: Row) -> list[Message]:
    return [*(say(f"Well, {number}.") for number, _ in enumerate(row["follow_ups"])), say(row["expected_answer"])]


def chats_idly(row: Row) -> list[Message]:
    return [say(f"Well, {number}.") for number in range(len(row["follow_ups"]) + 1)]


@dataclass(frozen=True)
class Case:
    server: str
    well: Script
    badly: Script
    by_steps: bool = False


CASES = [
    Case("example_session_state_mgmt", counts, miscounts),
    Case("example_multi_step", extracts, extracts_wrongly),
    Case("mcqa", answers, answers_wrongly),
    Case("example_multi_turn_gymnasium", chats, chats_idly, by_steps=True),
]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: str(case.server))
def started(request: pytest.FixtureRequest) -> Iterator[tuple[Case, Server]]:
    with running(request.param.server) as server:
        yield request.param, server


async def test_the_reward_is_that_of_a_client_by_hand(started: tuple[Case, Server]) -> None:
    case, server = started
    async with playing(server.url) as environment:
        for row in server.rows:
            rewards = []
            for script in (case.well, case.badly):
                task = NemoRow.model_validate(row)
                played = await play_task(environment, task, {"policy": says(*script(row))}, limits={"max_turns": 30})
                drive = drive_steps if case.by_steps else drive_tools
                reward, told = drive(server, row, script(row))
                assert reward_of(played) == reward
                later = ("tool_result", "relay")
                assert [event.content for event in played.episode.events if event.kind in later] == told
                rewards.append(reward)
            assert rewards[0] > rewards[1], "each row tells good from bad"


async def test_the_example_rows_of_ours_are_taken(started: tuple[Case, Server]) -> None:
    case, server = started
    if case.server != "example_session_state_mgmt":
        pytest.skip("they are that server's")
    lines = Path(nemo_gym.__file__).with_name("example.jsonl").read_text().splitlines()
    assert len(lines) == 5
    async with playing(server.url) as environment:
        for row in map(json.loads, lines):
            for script, reward in ((counts, 1.0), (miscounts, 0.0)):
                played = await play_task(environment, NemoRow.model_validate(row), {"policy": says(*script(row))})
                assert (played.failure, reward_of(played)) == (None, reward), row


async def test_sessions_that_run_at_once_keep_to_their_own(started: tuple[Case, Server]) -> None:
    case, server = started
    rows = server.rows * 4
    scripts = [case.well if number % 2 else case.badly for number in range(len(rows))]
    async with playing(server.url) as environment:
        plays = [
            play_task(
                environment, NemoRow.model_validate(row), {"policy": says(*script(row))}, limits={"max_turns": 30}
            )
            for row, script in zip(rows, scripts, strict=True)
        ]
        rewards = [reward_of(played) for played in await asyncio.gather(*plays)]
    assert min(rewards[1::2]) > max(rewards[0::2])


async def test_a_row_that_the_server_refuses_says_so_in_its_words(started: tuple[Case, Server]) -> None:
    """Checks the servers whose rows need fields of their own."""
    case, server = started
    missing = {"example_session_state_mgmt": "initial_count", "example_multi_step": "id"}
    if case.server not in missing:
        pytest.skip(f"{case.server} takes any row")
    row = {name: value for name, value in server.rows[0].items() if name != missing[case.server]}
    async with playing(server.url) as environment:
        played = await play_task(environment, NemoRow.model_validate(row), {"policy": says(say("Hello."))})
    kind, message = failure_of(played)
    assert kind == "data" and missing[case.server] in message
