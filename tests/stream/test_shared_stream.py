"""Ranks in processes of their own share a stream on a real Ray cluster: each group goes to one, also if one is killed."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import ray
from conftest import REPOSITORY
from sharing_rank import TASKS, WORLD_SIZE, config_of

from ray_gym.errors import UserError
from ray_gym.stream import open_stream, shared
from ray_gym.stream.cursor import Cursor

pytestmark = pytest.mark.ray

Rank = subprocess.Popen[str]


def start(folder: Path, cluster: dict[str, str], rank: int, count: int) -> Rank:
    command = [sys.executable, str(Path(__file__).with_name("sharing_rank.py")), str(folder), str(rank), str(count)]
    environment = {**cluster, "PYTHONPATH": f"{REPOSITORY}:{Path(__file__).parent}"}
    with (folder / f"rank{rank}.log").open("ab") as log:
        return subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )


def lines_of(rank: Rank, count: int | None = None) -> list[tuple[str, str]]:
    """Reads the next lines that a rank prints, `count` of them or all, each as what was done and with which group."""
    assert rank.stdout is not None
    lines = [rank.stdout.readline() for _ in range(count)] if count is not None else rank.stdout.readlines()
    return [(line.split()[0], line.split()[-1]) for line in lines]


@pytest.mark.chaos
@pytest.mark.timeout(300)
def test_each_group_goes_to_one_rank_once_though_one_is_killed(cluster: dict[str, str], tmp_path: Path) -> None:
    config_of(tmp_path)
    counts = (4, 2, 3)
    with ExitStack() as ends:
        ranks = [start(tmp_path, cluster, rank, count) for rank, count in enumerate(counts)]
        for rank in ranks:
            ends.callback(rank.wait)
            ends.callback(rank.kill)
        first = [lines_of(ranks[0], counts[0]), *(lines_of(ranks[one], counts[one] + 1) for one in (1, 2))]
        ranks[1].kill()
        assert ranks[0].stdin is not None
        print(file=ranks[0].stdin, flush=True)
        assert lines_of(ranks[0], 1) == [("saved", "saved")]
    held = [int(number) for lines in first for what, number in lines if what == "holds"]
    assert len(held) == 2, "two ranks die with a group that they have not acknowledged"

    with ExitStack() as ends:
        ranks = [start(tmp_path, cluster, rank, -1) for rank in range(WORLD_SIZE)]
        for rank in ranks:
            ends.callback(rank.wait)
            ends.callback(rank.kill)
        second = [lines_of(rank) for rank in ranks]
        assert [rank.wait(timeout=60) for rank in ranks] == [0, 0, 0], (tmp_path / "rank0.log").read_text()[-2000:]

    of_rank = [
        [int(number) for what, number in [*before, *after] if what == "acknowledged"]
        for before, after in zip(first, second, strict=True)
    ]
    dropped = [int(path.stem) for path in (tmp_path / "stream" / "dropped").glob("*.json")]
    times = Counter([*dropped, *(number for numbers in of_rank for number in numbers)])
    assert sorted(times) == list(range(TASKS)) and set(times.values()) == {1}
    assert [held[rank - 1] in of_rank[rank] for rank in (1, 2)] == [True, True], "it comes again, to the same rank"
    sizes = [len(numbers) for numbers in of_rank]
    assert max(sizes) - min(sizes) <= 1, sizes


@pytest.fixture
def joined() -> Iterator[None]:
    """Starts a cluster of this process."""
    ray.init(
        address="local",
        num_cpus=4,
        include_dashboard=False,
        object_store_memory=150 * 2**20,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": f"{REPOSITORY}:{Path(__file__).parent}"}},
    )
    yield
    ray.shutdown()


@pytest.mark.runs
async def test_ranks_that_do_not_fit_are_refused(joined: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "TAKEOVER_S", 0.5)
    config = config_of(tmp_path)

    def opened(rank: int, world_size: int = 3, **options: Any) -> Any:
        return open_stream(config, rank=rank, world_size=world_size, **options)

    async def refused(told: str, of: Callable[[], Any]) -> None:
        with pytest.raises(UserError, match=told):
            async with of():
                pass

    async with opened(0) as first, opened(1) as second:
        await refused("rank: another process is rank 0 of the stream", lambda: opened(0))
        await refused("rank: 1 has joined the stream already", lambda: opened(1))
        await refused(r"rank 2 opens the stream otherwise than rank 0 .*world_size: 3 -> 4", lambda: opened(2, 4))
        await refused(r"max_staleness: None -> 1", lambda: opened(2, max_staleness=1))
        for call in (lambda: second.advance(1), lambda: second.weights("toy")):
            with pytest.raises(UserError, match=r"rank 1: stream\.\w+ is for rank 0"):
                call()
        group, theirs = await anext(second), await anext(first)
        with pytest.raises(ValueError, match="never delivered"):
            second.acknowledge(theirs)
        first.acknowledge(theirs)
        first.advance(3)
        assert second.cursor == first.cursor and Cursor.parse(second.cursor).is_settled(theirs.number)
        assert Cursor.parse(first.cursor).version == 3
        await second.__aexit__(None, None, None)
        async with opened(1) as again:
            assert (await anext(again)).number == group.number, "it left without an acknowledgement"
            assert again.version == 3 and (await again.status())["ranks"]["joined"] == [0, 1]
    with pytest.raises(UserError, match="rank: 2, but with a world_size of 2"):
        opened(2, 2)


@pytest.mark.runs
async def test_a_rank_that_leaves_while_it_waits_loses_no_group(joined: None, tmp_path: Path) -> None:
    config = config_of(tmp_path)

    def opened(rank: int) -> Any:
        return open_stream(config, rank=rank, world_size=2, max_open_groups=2)

    async with opened(0) as first:
        async with opened(1) as second:
            mine, theirs = await anext(first), await anext(second)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await anext(second)
        async with opened(1) as second:
            again = await anext(second)
            assert again.number == theirs.number
            first.acknowledge(mine)
            second.acknowledge(again)
            assert {(await anext(first)).number, (await anext(second)).number} == {2, 3}
