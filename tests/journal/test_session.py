"""Drives sessions from outside: commands have numbers, and each is carried out once, whatever dies between them."""

from __future__ import annotations

import asyncio
import itertools
import os
from pathlib import Path
from typing import Any

import pytest
from market import SPEC, Market, Voices, cuts, opened
from playing import bare

from ray_gym import Episode, Opening, Task
from ray_gym.config.sections import LimitsSection, ParticipantSection
from ray_gym.episode.participant import Participant as Cast
from ray_gym.episode.stage import Stage
from ray_gym.journal.call_log import CallLog
from ray_gym.journal.history import HistoryReader, fence
from ray_gym.journal.records import SETUP
from ray_gym.play.commands import CallTool, Command, End, OpenThread, Reply, TakeTurn, Tell
from ray_gym.play.session import CommandSession, LetGo
from ray_gym.stop import EpisodeOver

numbers = itertools.count()
"""Counter for the names of copies of journals."""


def steps(file: Path) -> tuple[set[int], set[int]]:
    """Returns the commands that a journal says are being carried out now, and those that have been."""
    path = file.with_name(f"2-{next(numbers)}.journal")
    path.write_bytes(file.read_bytes())
    found = fence(path, "run").episodes["e"]
    return found.trying, found.survived


COMMANDS: list[Command] = [
    TakeTurn("policy"),
    Tell("user", "psst"),
    TakeTurn("user"),
    OpenThread("policy"),
    Tell("policy/1", "think"),
    Reply("policy/1"),
    CallTool("user", "u", "buy", '{"item": "bread"}'),
    CallTool("user", "u", "pay", "{}"),
    CallTool("policy", "p", "buy", '{"price": 1}'),
    End(),
]


async def test_cut_at_every_record_it_goes_on_and_its_row_is_the_same(tmp_path: Path) -> None:
    first = await opened(tmp_path)
    await first.drive(COMMANDS)
    assert first.session.played is not None and first.row["status"] == "completed" and first.model.calls == 5
    for name in (every := cuts(first.file)):
        again = await opened(tmp_path, name)
        recorded = HistoryReader(tmp_path).read("e", [name])
        assert again.session.given == len(recorded.commands)
        await again.drive(COMMANDS)
        assert again.row == first.row
        assert again.session.episode.calls.log.replayed == len(recorded.calls)
        assert again.model.calls == 5 - sum(not call.thread.startswith("effect") for call in recorded.calls)
        twice = await opened(tmp_path, name, cuts(again.file)[-1])
        assert twice.row == first.row and twice.model.calls == 0, "what was made again is recorded too"
    assert len(every) == 2 + len(COMMANDS) + 5 + 2 + 2 * (1 + len(COMMANDS)), (
        "its head, its beginning, commands, calls, an effect's intent and answer, and the begin and end of every step"
    )


async def test_a_journal_says_what_was_being_carried_out_and_what_no_worker_died_of(tmp_path: Path) -> None:
    model = Voices(release=asyncio.Event())
    driven = await opened(tmp_path, model=model)
    await driven.session.perform("0", Tell("policy", "hello"))
    assert steps(driven.file) == (set(), {SETUP, 0})
    caller = asyncio.create_task(driven.session.perform("1", TakeTurn("policy")))
    await model.asked.wait()
    assert steps(driven.file) == ({1}, {SETUP, 0})
    await driven.session.close()
    assert steps(driven.file) == ({1}, {SETUP, 0}), "it was let go of, and goes on elsewhere"
    with pytest.raises(LetGo):
        await caller
    again = await opened(tmp_path, name := cuts(driven.file)[-1])
    assert steps(again.file) == (set(), {1}), "only that is tried again"
    third = await opened(tmp_path, name, cuts(again.file)[-1])
    assert steps(third.file) == (set(), set())
    await third.session.perform("2", End())
    assert steps(third.file) == (set(), {2})


async def test_what_fails_has_not_ended_its_worker(tmp_path: Path) -> None:
    driven = await opened(tmp_path)
    await driven.session.perform("0", CallTool("user", "c", "buy", '{"item": "air"}'))
    assert driven.row["status"] == "failed" and steps(driven.file) == (set(), {SETUP, 0})


async def test_a_command_given_again_is_not_carried_out_again(tmp_path: Path) -> None:
    driven = await opened(tmp_path)
    first = await driven.session.perform("0", TakeTurn("policy"))
    assert await driven.session.perform("0", TakeTurn("policy")) is first and driven.model.calls == 2
    again = await opened(tmp_path, cuts(driven.file)[-1])
    given = await again.session.perform("0", TakeTurn("policy"))
    assert [event.content for event in given.events] == [event.content for event in first.events]
    assert again.model.calls == 0


async def test_a_command_given_again_while_it_is_carried_out_waits_for_it(tmp_path: Path) -> None:
    """The turn continues when the caller that began it disconnects."""
    model = Voices(release=asyncio.Event())
    driven = await opened(tmp_path, model=model)
    first = asyncio.create_task(driven.session.perform("0", Tell("policy", "hello")))
    await first
    caller = asyncio.create_task(driven.session.perform("1", TakeTurn("policy")))
    await model.asked.wait()
    caller.cancel()
    again = [asyncio.create_task(driven.session.perform("1", TakeTurn("policy"))) for _ in range(2)]
    await asyncio.wait([caller])
    assert caller.cancelled() and model.release is not None
    model.release.set()
    one, other = await asyncio.gather(*again)
    assert one is other and model.calls == 2 and driven.session.given == 2


async def test_what_its_caller_is_told_is_on_the_disk_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", lambda descriptor: synced.append(os.fstat(descriptor).st_size))
    driven = await opened(tmp_path, flush=True)
    for index, command in enumerate(COMMANDS):
        await driven.session.perform(str(index), command)
        assert synced[-1] == driven.file.stat().st_size


async def test_a_session_that_is_closed_gives_up_what_it_does(tmp_path: Path) -> None:
    model = Voices(release=asyncio.Event())
    driven = await opened(tmp_path, model=model)
    caller = asyncio.create_task(driven.session.perform("0", TakeTurn("policy")))
    await model.asked.wait()
    await driven.session.close()
    with pytest.raises(LetGo):
        await caller
    again = await opened(tmp_path, cuts(driven.file)[-1])
    assert again.session.given == 1, "it was begun, so it is carried out when the session is resumed"


@pytest.mark.parametrize(
    "command", [TakeTurn("polcy"), TakeTurn("judge"), Tell("polcy", ""), Reply("policy/1"), OpenThread("x")]
)
async def test_what_names_nobody_is_refused_and_harms_nothing(tmp_path: Path, command: Command) -> None:
    driven = await opened(tmp_path)
    with pytest.raises(ValueError, match=r"there is no (participant|thread) '"):
        await driven.session.perform("0", command)
    assert driven.session.played is None and driven.session.given == 0
    await driven.session.perform("0", TakeTurn("policy"))


async def test_nothing_comes_after_the_end(tmp_path: Path) -> None:
    driven = await opened(tmp_path)
    for index in range(3):
        done = await driven.session.perform(str(index), CallTool("policy", "c", "buy", '{"item": "bread"}'))
    assert done.stop is not None and done.stop.text == "sold out"
    with pytest.raises(EpisodeOver):
        await driven.session.perform("3", TakeTurn("policy"))
    done = await driven.session.perform("4", End())
    assert driven.session.played is not None and driven.row["status"] == "completed"
    assert await driven.session.perform("4", End()) is done
    for command in (End(), TakeTurn("policy")):
        with pytest.raises(EpisodeOver):
            await driven.session.perform("5", command)


async def test_after_a_stop_only_the_end_is_left(tmp_path: Path) -> None:
    driven = await opened(tmp_path, max_turns=1)
    await driven.session.perform("0", TakeTurn("policy"))
    await driven.session.perform("1", Tell("policy", "go on"))
    done = await driven.session.perform("2", TakeTurn("policy"))
    assert done.stop is not None and done.stop.reason == "max_turns"
    with pytest.raises(EpisodeOver):
        await driven.session.perform("3", Tell("policy", "please"))
    await driven.session.perform("3", End())
    assert (driven.row["status"], driven.row["stop_reason"]) == ("completed", "max_turns")


async def test_a_command_that_fails_ends_the_session_with_its_failure(tmp_path: Path) -> None:
    driven = await opened(tmp_path)
    await driven.session.perform("0", TakeTurn("policy"))
    done = await driven.session.perform("1", CallTool("user", "c", "buy", '{"item": "air"}'))
    assert done.stop is not None and done.stop.reason == "failed"
    assert driven.row["failure"] == {
        "kind": "environment", "where": "tool buy (market.py:49)", "message": "RuntimeError: there is no air"
    }  # fmt: skip
    with pytest.raises(EpisodeOver):
        await driven.session.perform("2", End())
    again = await opened(tmp_path, cuts(driven.file)[-1])
    assert again.row == driven.row


async def test_the_policys_own_fault_is_scored(tmp_path: Path) -> None:
    """The same fault is scored in an episode that its environment drives."""
    driven = await opened(tmp_path)
    done = await driven.session.perform("0", CallTool("policy", "c", "buy", '{"item": "poison"}'))
    assert done.stop is not None and done.stop.reason == "policy_failed" and driven.session.played is None
    await driven.session.perform("1", End())
    assert driven.row["status"] == "completed" and driven.row["reward"] is not None
    assert driven.row["failure"]["kind"] == "policy"


async def test_a_session_over_its_deadline_is_scored_with_what_it_has(tmp_path: Path) -> None:
    """The judge is asked after the deadline, and answers in its own time."""
    model = Voices(release=asyncio.Event())
    driven = await opened(tmp_path, model=model, episode_deadline_s=0.05)
    done = await driven.session.perform("0", TakeTurn("policy"))
    assert done.stop is not None and done.stop.reason == "deadline" and model.release is not None
    asyncio.get_running_loop().call_later(0.02, model.release.set)
    await driven.session.perform("1", End())
    assert (driven.row["status"], driven.row["stop_reason"]) == ("completed", "deadline")


async def test_setup_that_fails_is_the_sessions_failure(tmp_path: Path) -> None:
    class Closed(Market):
        def setup(self, task: Task, episode: Episode) -> dict[str, Any]:
            raise RuntimeError("closed on Sundays")

    section = LimitsSection()
    cast = {
        name: Cast.from_config(name, ParticipantSection(model="m"), section) for name in ("policy", "user", "judge")
    }
    session = CommandSession(SPEC, Stage(Closed(), cast, {"m": Voices()}, section), CallLog("e"))
    await session.open()
    assert session.played is not None and session.played.failure is not None
    assert (session.played.status, bare(session.played.failure.where)) == ("failed", "Closed.setup")
    with pytest.raises(EpisodeOver):
        await session.perform("0", TakeTurn("policy"))


@pytest.mark.runs
async def test_a_session_that_is_not_deterministic_is_found_out(tmp_path: Path) -> None:
    class Dearer(Market):
        def opening(self, task: Task, state: dict[str, Any]) -> Opening:
            return Opening(messages={"policy": "It costs more."})

    driven = await opened(tmp_path)
    await driven.drive(COMMANDS)
    again = await opened(tmp_path, cuts(driven.file)[-1], environment=Dearer())
    assert (again.row["status"], again.row["failure"]["where"]) == ("failed", "replay")
