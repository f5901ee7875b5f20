"""A stream on a real Ray cluster: bounded, never stale, and exactly once for a trainer that saves its cursor."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
import yaml
from conftest import REPOSITORY

from ray_gym.errors import UserError
from ray_gym.stream import Stream, open_stream

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module", autouse=True)
def joined() -> Iterator[None]:
    """A cluster of this process: that of other tests wants a token, which is read when Ray is imported."""
    ray.init(
        address="local",
        num_cpus=4,
        include_dashboard=False,
        object_store_memory=150 * 2**20,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": str(REPOSITORY)}},
    )
    yield
    ray.shutdown()


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(config_of(tmp_path)))
    return path


def config_of(folder: Path, **changes: Any) -> dict[str, Any]:
    return {
        "run": {"name": "stream"},
        "environment": {"id": "benchmarks.trainer_stream.play:Ask"},
        "tasks": {"generate": 100, "repeats": 2},
        "models": {
            "toy": {
                "engine": "benchmarks.trainer_stream.play:VersionedEngine",
                "weights": str(folder / "weights"),
                "delay_s": 0.02,
            }
        },
        "participants": {"policy": {"model": "toy"}},
        "fanout": {"workers": 1, "concurrency": 8},
        "output": {"dir": str(folder / "runs"), "roll_s": 0.1},
        **changes,
    }


async def take(stream: Stream, count: int) -> list[Any]:
    return [await anext(stream) for _ in range(count)]


async def test_groups_come_whole_and_the_cursor_goes_on(config: Path) -> None:
    async with open_stream(config) as stream:
        groups = await take(stream, 6)
        for group in groups:
            assert set(group.episodes.column("group_id").to_pylist()) == {group.group_id}
            assert group.episodes.num_rows == 2 and group.samples.num_rows <= 2
        stream.acknowledge(*groups[:4])
        saved = json.loads(json.dumps(stream.cursor))
    async with open_stream(config, cursor=saved) as stream:
        again = await take(stream, 4)
    numbers = [group.number for group in groups]
    assert [group.number for group in again][:2] == numbers[4:], "what was not acknowledged comes again, in its order"
    assert not {group.number for group in again} & set(numbers[:4])
