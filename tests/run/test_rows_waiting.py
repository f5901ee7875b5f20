"""Checks rows that wait for their file: they are made a few at a time, and come out in their order, whatever one of
them holds.
"""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from pathlib import Path

import numpy as np
import pytest

from ray_gym import Environment, Episode, Message, Opening, Task
from ray_gym.config.sections import LimitsSection, ParticipantSection
from ray_gym.episode.participant import Participant
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.errors import Failure, FailureKind
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.play.play import Played, play
from ray_gym.record.rows import row_of
from ray_gym.record.schema import SCHEMA
from ray_gym.run.directory.receipt import receipt_of
from ray_gym.run.worker.rows import AT_ONCE, EVENTS_AT_ONCE, Rows, take_batch
from ray_gym.stop import Stop, StopReason


class Alone(Environment[Task, None]):
    participants = ("policy",)

    def setup(self, task: Task, episode: Episode) -> None:
        return None

    def opening(self, task: Task, state: None) -> Opening:
        return Opening(messages={"policy": "Say it."})

    def score(self, state: None, episode: Episode) -> float:
        return 1.0


class Model:
    def __init__(self, text: str) -> None:
        self._text = text

    async def complete(self, request: CompletionRequest) -> Completion:
        ids, logprobs = np.array([1, 2], np.int32), np.array([-0.5], np.float32)
        return Completion(Message("assistant", self._text), prompt_ids=ids, token_ids=ids[:1] + 2, logprobs=logprobs)

    async def close(self) -> None:
        return None


async def played(number: int, text: str = "It.") -> Played:
    limits = LimitsSection()
    policy = Participant.from_config("policy", ParticipantSection(model="m"), limits)
    stage = Stage(Alone(), {"policy": policy}, {"m": Model(text)}, limits)
    return await play(EpisodeSpec(f"e{number}", "g", "t", 0, number, "{}"), stage)


async def test_rows_come_out_as_their_episodes_went_in() -> None:
    episodes = [await played(number) for number in range(5)]
    rows = Rows("run", "env")
    receipts = rows.add(episodes[:3]) + rows.add(episodes[3:])
    table = rows.table()
    assert table.schema.equals(SCHEMA) and len(rows) == table.num_rows == 5
    assert table.to_pylist() == [row_of(one, "run", "env") for one in episodes]
    assert table.column("samples")[4].as_py()[0]["token_ids"] == [1, 2, 3]
    assert [receipt.episode for receipt in receipts] == rows.keys
    assert table.column("episode_id").to_pylist() == [key.episode_id for key in rows.keys]


async def test_a_batch_is_of_fewer_episodes_the_longer_they_are() -> None:
    short, long = await played(0), await played(1)
    long.episode.events.extend(short.episode.events * EVENTS_AT_ONCE)
    assert sizes_of_batches([short] * (AT_ONCE + 5)) == [AT_ONCE, 5]
    assert sizes_of_batches([long, long, short, short, long, short]) == [1, 1, 3, 1]


def sizes_of_batches(episodes: list[Played]) -> list[int]:
    ended, batches = deque(episodes), []
    while ended:
        batches.append(take_batch(ended))
    assert [played for batch in batches for played in batch] == episodes and take_batch(ended) == []
    return list(map(len, batches))


async def test_many_that_came_alone_are_joined_and_keep_their_order() -> None:
    rows, episodes = Rows("run", "env"), [await played(number) for number in range(3)]
    for number in range(3 * AT_ONCE):
        rows.add([episodes[number % 3]])
    assert rows.table().column("seed").to_pylist() == [0, 1, 2] * AT_ONCE
    assert rows.table().column("seed").num_chunks < AT_ONCE


async def test_one_that_cannot_be_recorded_is_a_failed_row_among_the_others() -> None:
    episodes = [await played(number) for number in range(3)]
    episodes[1].episode.events[-1].role = 5  # type: ignore[assignment]
    rows = Rows("run", "env")
    receipts = rows.add(episodes)
    assert [receipt.status for receipt in receipts] == ["completed", "failed", "completed"]
    first, failed, last = rows.table().to_pylist()
    assert failed["failure"]["where"] == "record" and "expected text, got int" in failed["failure"]["message"]
    assert failed["seed"] == 1 and (first["samples"][0]["token_ids"], last["status"]) == ([1, 2, 3], "completed")


async def test_receipts_say_what_the_rows_say() -> None:
    """Receipts equal rows also for text that can't be written as it is: summaries are made of receipts, and of rows
    when a run is resumed.
    """
    one = await played(0)
    one.episode.stop = Stop(StopReason.FINISHED, "guessed a\ud83d")
    one.status, one.failure = "failed", Failure(FailureKind.ENVIRONMENT, "x", "bad \ud83d")
    rows = Rows("run", "env")
    [receipt] = rows.add([one])
    assert receipt == receipt_of(rows.table().to_pylist()[0])
    assert (receipt.stop_text, receipt.failure) == ("guessed a?", "environment in x: bad ?")


async def test_receipts_say_which_verdicts_are_undecided() -> None:
    one, other = await played(0), await played(1)
    one.episode.undecided = ["v:equal: ValueError: \ud83d (v.py:3)"]
    receipts = Rows("run", "env").add([one, other])
    assert [receipt.undecided for receipt in receipts] == [("v:equal: ValueError: ? (v.py:3)",), ()]


async def test_receipts_name_the_weights_of_what_a_trainer_can_use_alone() -> None:
    good, failed, unscored = await played(0), await played(1), await played(2)
    failed.status, failed.failure = "failed", Failure(FailureKind.ENVIRONMENT, "x", "bad")
    unscored.score = None
    receipts = Rows("run", "env").add([good, failed, unscored])
    assert [receipt.versions for receipt in receipts] == [(("m", 0),), (), ()]


@pytest.mark.parametrize("count", [1, 4])
async def test_rows_weigh_what_they_take_in_memory(count: int) -> None:
    rows = Rows("run", "env")
    rows.add([await played(number, "x" * 5000) for number in range(count)])
    assert count * 5000 < rows.bytes < count * 10_000


def test_rows_need_nothing_that_takes_long_to_import() -> None:
    """It would be imported when the first episodes end, and hold up the event loop for a tenth of a second.

    Where pandas is installed, pyarrow imports both with its first array of a list, which a worker makes in a thread before
    it plays.
    """
    script = f"""
import asyncio, sys
import pyarrow as pa
pa.array([])
before = set(sys.modules)
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_rows_waiting import Rows, played
rows = Rows("run", "env")
rows.add([asyncio.run(played(0))])
assert rows.table().column("samples")[0].as_py()[0]["spans"][-1]["sampling"]["temperature"] == 1.0
sys.exit(bool({{"pandas", "pyarrow.compute"}} & (set(sys.modules) - before)))
"""
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0
