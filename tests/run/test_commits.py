"""Checks whether a worker that died had made progress: if many in a row had not, the run gives up."""

from __future__ import annotations

from pathlib import Path

import pytest

from ray_gym.config.sections import RunConfig
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.journal.journal import Journal
from ray_gym.journal.records import SETUP, Over, Tried
from ray_gym.record.schema import as_table, failed_row
from ray_gym.run.directory.directory import create, plan_directory
from ray_gym.run.directory.receipt import Receipt
from ray_gym.run.driver.commits import Commits
from ray_gym.run.driver.dispatcher import Dispatcher
from ray_gym.run.driver.fences import Fences
from ray_gym.run.driver.first_tries import FIRST_STUCK
from ray_gym.run.driver.suspects import SUSPECT_AFTER, SuspectSessions
from ray_gym.run.driver.tally import Tally
from ray_gym.run.lease import EpisodeKey
from ray_gym.run.worker.report import Report, StagedFile

SPECS = [EpisodeSpec(f"e{n}", f"g{n}", "t", 0, 0, "{}") for n in range(3)]


@pytest.fixture
def commits(tmp_path: Path) -> Commits:
    config = {
        "environment": {"id": "tic_tac_toe"},
        "tasks": {"generate": 1},
        "models": {"m": {"engine": "scripted"}},
        "participants": {"policy": {"model": "m"}},
        "output": {"dir": str(tmp_path)},
    }
    directory = plan_directory(RunConfig.model_validate(config), Path("mine.yaml"))
    create(directory)
    return Commits(directory, Dispatcher.of(SPECS), Fences(None, "run"), Tally(3), lambda *_: None)


async def test_a_committed_row_is_something_done_also_of_an_episode_that_is_charged(commits: Commits) -> None:
    """A committed row counts as progress even if its episode is charged. Otherwise a few environments that kill their
    workers would end a run in which every death takes one of them out.
    """
    commits.dispatcher.lease("a", 2)
    row = failed_row(SPECS[0], "run", "env", "charged")
    commits.directory.storage.stage("part.parquet", as_table([row]))
    key = EpisodeKey("e0", 0)
    receipt = Receipt(key, "failed", "failed", "", "charged", None, 0, 0, 0)
    await commits.take("a", Report([key], [receipt], [StagedFile("part.parquet", (key,))]))
    assert await commits.lose("a", "crash"), "it committed a row"
    commits.dispatcher.lease("b", 2)
    assert not await commits.lose("b", "crash")
    assert commits.tally.by_status == {"failed": 1} and commits.tally.workers_lost == 2


async def test_a_session_that_is_charged_is_something_done(commits: Commits, tmp_path: Path) -> None:
    """A charged session counts as progress. Otherwise many that kill their workers would bring down their run of sessions, and be
    tried again in the next one.
    """
    commits.fences, commits.dispatcher.sessions = Fences(tmp_path, "run"), SuspectSessions()
    done = []
    for attempt in range(SUSPECT_AFTER):
        worker = f"1-{attempt}"
        commits.dispatcher.lease(worker, 3)
        Journal(tmp_path / f"{worker}.journal", "run", flush=False).append(Tried("e0", 0, attempt, SETUP, False))
        done.append(await commits.lose(worker, "crash"))
    assert done == [False, False, True]
    commits.dispatcher.lease("1-9", 3)
    Journal(tmp_path / "1-9.journal", "run", flush=False).append(Tried("e1", 0, 0, SETUP, True))
    assert await commits.lose("1-9", "crash"), "a session was set up"
    commits.dispatcher.lease("1-10", 3)
    assert not await commits.lose("1-10", "crash")


async def test_an_episode_that_is_over_again_before_each_loss_is_nothing_done(commits: Commits, tmp_path: Path) -> None:
    """Workers would be replaced for ever: the replay of an episode that ends them may be over before."""
    commits.fences = Fences(tmp_path, "run")
    done = []
    for attempt in range(3):
        commits.dispatcher.lease(worker := f"1-{attempt}", 3)
        Journal(tmp_path / f"{worker}.journal", "run", flush=False).append(Over("e0", attempt))
        done.append(await commits.lose(worker, "crash"))
    assert done == [True, False, False]


STACKS = 'Thread 0x1 (most recent call first):\n  File "/home/me/game.py", line 7 in score\n'


async def lose_stalled(commits: Commits, folder: Path, worker: str) -> bool:
    """Loses a worker that holds one episode, whose code held the interpreter's lock. A charged one is accepted before."""
    [[lease]] = begun = commits.dispatcher.lease(worker, 1)
    if lease.charged:
        assert commits.dispatcher.accept(worker, [lease.key])
        begun = commits.dispatcher.lease(worker, 1)
    commits.tally.first_tries.begin(begun)
    (folder / f"{worker}.stall").write_text(STACKS)
    return await commits.lose(worker, "it did not answer")


async def test_three_episodes_whose_code_holds_the_interpreters_lock_end_a_run(
    commits: Commits, tmp_path: Path
) -> None:
    """Each of them is lost once beside others, and then alone."""
    commits.fences = Fences(tmp_path, "run")
    for attempt in range(FIRST_STUCK):
        assert not await lose_stalled(commits, tmp_path, f"1-{2 * attempt}")
        assert not commits.tally.is_hopeless and commits.tally.first_tries.losses == attempt
        assert await lose_stalled(commits, tmp_path, f"1-{2 * attempt + 1}"), "it is known whose doing it was"
    assert commits.tally.is_hopeless and commits.last_charge.endswith(commits.last_loss)
    assert "it did not answer; its code held the interpreter's lock in score (game.py:7)" in commits.last_charge
    (tmp_path / "1-9.stall").write_text("")
    await commits.lose("1-9", "it was killed")
    assert commits.last_loss == "it was killed" and commits.fences.last_place_of("1-9") is None


async def test_one_episode_that_is_lost_again_and_again_ends_no_run(commits: Commits, tmp_path: Path) -> None:
    commits.fences = Fences(tmp_path, "run")
    for worker in ("1-0", "1-1"):
        await lose_stalled(commits, tmp_path, worker)
    for worker in ("1-2", "1-3", "1-4"):  # with its charge, for other reasons
        [[charged]] = commits.dispatcher.lease(worker, 1)
        assert charged.spec.episode_id == "e0" and charged.charged
        await commits.lose(worker, "the node went away")
    assert commits.tally.first_tries.losses == 1 and not commits.tally.is_hopeless


async def test_episodes_that_end_their_workers_for_no_known_reason_end_a_run_later(commits: Commits) -> None:
    for attempt in range(SUSPECT_AFTER):
        [[_]] = commits.dispatcher.lease(f"1-{attempt}", 1)
        assert not await commits.lose(f"1-{attempt}", "crash")
    [[alone]] = commits.dispatcher.lease("1-9", 1)
    assert alone.alone and await commits.lose("1-9", "crash"), "it is charged"
    assert commits.tally.first_tries.losses == 1 and "only episode there: crash" in commits.last_charge
