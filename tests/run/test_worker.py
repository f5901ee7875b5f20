"""Checks what a worker does for its environment beside playing it."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ray_gym import Environment, Episode, Opening, Task
from ray_gym.config.sections import FanoutSection, GroupsSection, LimitsSection, OutputSection
from ray_gym.episode.participant import Participant
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.errors import RunFailed
from ray_gym.models.base import Sampling
from ray_gym.run.directory.posix_storage import PosixStorage
from ray_gym.run.lease import Lease
from ray_gym.run.worker.report import Report
from ray_gym.run.worker.watchdog import Charge, Watchdog
from ray_gym.run.worker.worker import GATHER_S, GATHER_TIMES, HEARTBEAT_S, Worker, WorkerSetup
from ray_gym.tools.blocking import BlockingPool


class Connected(Environment[Task, Any]):
    closed = 0

    async def close(self) -> None:
        self.closed += 1


def setup_of(
    tmp_path: Path,
    environment: Environment[Any, Any],
    engines: dict[str, Any],
    concurrency: int,
    groups: GroupsSection = GroupsSection(),  # noqa: B008
) -> WorkerSetup:
    storage = PosixStorage.of(tmp_path / "run")
    storage.create()
    (tmp_path / "run" / storage.staging).mkdir()
    fanout = FanoutSection(concurrency=2 * concurrency)
    sections = (LimitsSection(), groups, fanout, OutputSection())
    policy = Participant("policy", "narrow", Sampling(), True, 1, 1)
    return WorkerSetup("run", "env", environment, {"policy": policy}, engines, *sections, storage, None)


def make_worker(
    tmp_path: Path, environment: Environment[Any, Any], engines: dict[str, Any], concurrency: int
) -> Worker:
    return Worker("w", setup_of(tmp_path, environment, engines, concurrency), concurrency)


async def test_a_worker_that_ends_closes_its_environment(tmp_path: Path) -> None:
    environment = Connected()
    worker = make_worker(tmp_path, environment, {}, 1)
    await worker.hello()
    assert environment.closed == 0
    await worker.close()
    assert environment.closed == 1


CLOSES = next(
    number for number, line in enumerate(Path(__file__).read_text().splitlines(), 1) if line.endswith("# closes")
)


class Unclosable(Connected):
    async def close(self) -> None:
        raise ZeroDivisionError("no")  # closes


async def test_a_close_that_raises_is_named_with_its_line(tmp_path: Path) -> None:
    worker = make_worker(tmp_path, Unclosable(), {}, 1)
    await worker.hello()
    with pytest.raises(RunFailed) as told:
        await worker.close()
    assert str(told.value) == (
        f"Unclosable.close failed: ZeroDivisionError: no (test_worker.py:{CLOSES}); the episodes and their rows are kept"
    )
    assert (await worker.cancel()).finished == [], "what was played is told all the same"


def block() -> None:
    time.sleep(3)


class StartsItsServer(Environment[Task, Any]):
    async def prepare_worker(self) -> None:
        block()


@pytest.mark.runs
async def test_a_worker_may_be_prepared_by_code_that_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    charges: list[Charge] = []
    monkeypatch.setattr(Watchdog, "_end", lambda self, charge: charges.append(charge))
    setup = setup_of(tmp_path, StartsItsServer(), {}, 1)
    worker = Worker("w", replace(setup, fanout=setup.fanout.model_copy(update={"stuck_after_s": 1.5})), 1)
    try:
        await worker.hello()
        assert charges == []
        block()
        assert charges and charges[0].reason == "stuck", "it is watched as usual from then on"
    finally:
        await worker.close()


class Held(Environment[Task, Any]):
    """Its episodes last until they may end."""

    def __init__(self) -> None:
        super().__init__(None)
        self.playing = 0
        self.may_end = asyncio.Event()

    def setup(self, task: Task, episode: Episode) -> None:
        return None

    def opening(self, task: Task, state: None) -> Opening:
        return Opening()

    async def run(self, episode: Episode) -> None:
        self.playing += 1
        await self.may_end.wait()

    def score(self, state: Any, episode: Episode) -> float:
        return 0.0


class Narrow:
    """This engine is its own model, with room for so many conversations, of which this worker has half."""

    is_gated = True

    def __init__(self, most: int) -> None:
        self.most = most
        self.asked: list[float] = []

    def connect(self) -> Narrow:
        return self

    async def room(self, conversations: float) -> float:
        self.asked.append(conversations)
        return max(0, self.most - conversations)

    async def close(self) -> None:
        return None


@pytest.mark.runs
async def test_new_episodes_wait_until_the_models_have_room(tmp_path: Path) -> None:
    environment, model = Held(), Narrow(6)
    worker = make_worker(tmp_path, environment, {"narrow": model}, 8)
    await worker.hello()
    group = [Lease(EpisodeSpec(str(number), "group", "task", number, 0, "{}")) for number in range(8)]
    report = await worker.exchange([tuple(group)], ())
    while model.asked.count(6) < 2 and not report.over:
        report = await worker.exchange((), ())
    assert not report.over and environment.playing == 3, "this worker's half of six"
    environment.may_end.set()
    while environment.playing < 8:
        await worker.exchange((), ())
    await worker.close()


async def test_a_worker_fills_its_places_in_several_turns_of_the_event_loop(tmp_path: Path) -> None:
    environment, model = Held(), Narrow(1)
    model.is_gated = False
    worker = make_worker(tmp_path, environment, {"narrow": model}, 64)
    await worker.hello()
    group = [Lease(EpisodeSpec(str(number), "group", "task", number, 0, "{}")) for number in range(64)]
    exchange = asyncio.create_task(worker.exchange([tuple(group)], ()))
    before, most = 0, 0
    while environment.playing < 64:
        await asyncio.sleep(0)
        before, most = environment.playing, max(most, environment.playing - before)
    assert most == 8
    environment.may_end.set()
    await exchange
    await worker.close()


class EndsWhenTold(Held):
    """Each of its episodes may end alone."""

    def __init__(self) -> None:
        super().__init__()
        self.ends = {name: asyncio.Event() for name in "abcdef"}

    async def run(self, episode: Episode) -> None:
        self.playing += 1
        await self.ends[episode.spec.episode_id].wait()


@pytest.mark.parametrize("turns", range(12))
async def test_a_surplus_episode_that_is_about_to_begin_is_cut_off_too(tmp_path: Path, turns: int) -> None:
    environment, model = EndsWhenTold(), Narrow(1)
    model.is_gated = False
    worker = Worker("w", setup_of(tmp_path, environment, {"narrow": model}, 4, GroupsSection(extra=2)), 4)
    await worker.hello()
    leases = [Lease(EpisodeSpec(name, f"of {name}", "task", 0, 0, "{}")) for name in "abcdef"]
    exchange = asyncio.create_task(worker.exchange([tuple(leases[:3]), tuple(leases[3:])], ()))
    while environment.playing < 4:  # noqa: ASYNC110
        await asyncio.sleep(0)
    environment.ends["a"].set()  # makes the first group, so there is room for e and f
    for _ in range(turns):
        await asyncio.sleep(0)
    environment.ends["d"].set()  # makes the second
    over = {key.episode_id for key in (await asyncio.wait_for(exchange, 20)).over}
    async with asyncio.timeout(20):
        while len(over) < 6:
            over |= {key.episode_id for key in (await worker.exchange((), ())).over}
            await asyncio.sleep(0)
    await worker.close()


class OneEnds(Held):
    """The first of its episodes ends at once."""

    async def run(self, episode: Episode) -> None:
        self.playing += 1
        if self.playing > 1:
            await self.may_end.wait()


async def test_an_exchange_is_in_no_hurry_while_episodes_wait_at_the_worker(tmp_path: Path) -> None:
    environment, model = OneEnds(), Narrow(1)
    model.is_gated = False
    worker = make_worker(tmp_path, environment, {"narrow": model}, 1)
    await worker.hello()
    groups = [(Lease(EpisodeSpec(str(number), f"g{number}", "task", 0, 0, "{}")),) for number in range(3)]
    began = asyncio.get_running_loop().time()
    report = await worker.exchange(groups, ())
    took_s = asyncio.get_running_loop().time() - began
    assert [key.episode_id for key in report.over] == ["0"] and environment.playing == 2
    assert GATHER_S * GATHER_TIMES * 0.9 < took_s < HEARTBEAT_S, "the third one waits, so that no place is free"
    environment.may_end.set()
    while environment.playing < 3:
        await worker.exchange((), ())
    await worker.close()


@dataclass(frozen=True)
class SlowStorage(PosixStorage):
    """Imitates a storage that takes its time for each file, or is full."""

    is_asked: threading.Event = field(default_factory=threading.Event)
    may_stage: threading.Event = field(default_factory=threading.Event)
    is_full: threading.Event = field(default_factory=threading.Event)

    def stage(self, name: str, table: pa.Table) -> str:
        self.is_asked.set()
        assert self.may_stage.wait(60)
        if self.is_full.is_set():
            raise OSError("no space left")
        return super().stage(name, table)


def each_row_is_a_file(tmp_path: Path, stuck_after_s: float = 30) -> tuple[Worker, SlowStorage]:
    environment, model = Held(), Narrow(1)
    model.is_gated = False
    environment.may_end.set()
    setup = setup_of(tmp_path, environment, {"narrow": model}, 1)
    disk = setup.storage
    storage = SlowStorage(location=disk.location, filesystem=disk.filesystem, root=disk.root)
    fanout = setup.fanout.model_copy(update={"stuck_after_s": stuck_after_s})
    setup = replace(setup, storage=storage, fanout=fanout, output=OutputSection(roll_rows=1))
    return Worker("w", setup, 1), storage


def groups_of_one(*names: str) -> list[tuple[Lease, ...]]:
    return [(Lease(EpisodeSpec(name, f"group of {name}", "task", 0, 0, "{}")),) for name in names]


async def staging(worker: Worker, storage: SlowStorage) -> None:
    """Episode a is over, and the write of its file has begun."""
    report = await worker.exchange(groups_of_one("a"), ())
    assert [key.episode_id for key in report.over] == ["a"] and not report.staged
    assert await asyncio.to_thread(storage.is_asked.wait, 60)


def files_of(report: Report) -> list[list[str]]:
    return [[key.episode_id for key in file.episodes] for file in report.staged]


async def answers_within(answer: asyncio.Task[Report], seconds: float) -> bool:
    done, _ = await asyncio.wait({answer}, timeout=seconds)
    return bool(done)


async def test_a_worker_plays_more_while_a_file_is_staged_and_the_next_file_waits(tmp_path: Path) -> None:
    worker, storage = each_row_is_a_file(tmp_path)
    await worker.hello()
    await staging(worker, storage)
    second = asyncio.create_task(worker.exchange(groups_of_one("b"), ()))
    assert not await answers_within(second, 1.5 * HEARTBEAT_S), "rows of two files at most are held"
    storage.may_stage.set()
    staged = files_of(await second)
    while len(staged) < 2:
        staged += files_of(await worker.exchange((), ()))
    assert staged == [["a"], ["b"]]
    await worker.close()


@pytest.mark.runs
async def test_exchanges_go_on_while_a_file_is_staged_until_its_write_seems_to_hang(tmp_path: Path) -> None:
    """The driver gives a worker up that doesn't answer."""
    worker, storage = each_row_is_a_file(tmp_path, stuck_after_s=2.5 * HEARTBEAT_S)
    await worker.hello()
    await staging(worker, storage)
    assert not (await worker.exchange((), ())).staged
    answers = 1
    while await answers_within(hanging := asyncio.create_task(worker.exchange((), ())), 2.5 * HEARTBEAT_S):
        answers += 1
        assert answers < 5, "the write was not waited for"
    storage.may_stage.set()
    assert files_of(await hanging) == [["a"]], "it only was slow"
    await worker.close()


async def test_the_last_file_is_staged_before_a_worker_finishes(tmp_path: Path) -> None:
    worker, storage = each_row_is_a_file(tmp_path)
    await worker.hello()
    await staging(worker, storage)
    finish = asyncio.create_task(worker.finish())
    storage.may_stage.set()
    assert files_of(await finish) == [["a"]]
    await worker.close()


@pytest.mark.parametrize("ask", ["exchange", "another file", "finish", "cancel", "leave"])
async def test_a_file_that_could_not_be_staged_is_told_with_whatever_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ask: str
) -> None:
    worker, storage = each_row_is_a_file(tmp_path)
    await worker.hello()
    await staging(worker, storage)
    storage.is_full.set()
    storage.may_stage.set()
    if ask == "leave":
        monkeypatch.setattr(BlockingPool, "is_exhausted", property(lambda blocking: True))
    with pytest.raises(OSError, match="no space left"):
        if ask in ("finish", "cancel"):
            await getattr(worker, ask)()
        else:
            await worker.exchange(groups_of_one("b") if ask == "another file" else (), ())
    await worker.close()
