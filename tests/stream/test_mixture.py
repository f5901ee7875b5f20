"""Two environments are played in one mixture on a real Ray cluster: shares, models, versions and the cursor."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
import yaml
from conftest import REPOSITORY

from ray_gym.errors import UserError
from ray_gym.stream import Group, Mixture, open_mixture

pytestmark = [pytest.mark.ray, pytest.mark.runs]


@pytest.fixture(scope="module", autouse=True)
def joined() -> Iterator[None]:
    """Starts a cluster of this process: that of other tests wants a token, which is read when Ray is imported."""
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


def written(folder: Path, name: str, environment: str = "Ask", **changes: Any) -> Path:
    """Writes the config of a source, and returns its path."""
    toy = {"engine": "held_engine:HeldEngine", "weights": str(folder / "weights"), "delay_s": 0.02}
    config = {
        "run": {"name": name},
        "environment": {"id": f"lucky_questions:{environment}"},
        "tasks": {"generate": 100, "repeats": 2},
        "models": {"toy": toy},
        "participants": {"policy": {"model": "toy"}},
        "fanout": {"workers": 1, "concurrency": 8},
        "output": {"dir": str(folder / "runs"), "roll_s": 0.1},
        **changes,
    }
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.fixture
def shares(tmp_path: Path) -> dict[str | Path, float]:
    """Gives two environments, of which the second takes longer."""
    both = {"policy": {"model": "toy"}, "user": {"model": "toy"}}
    return {written(tmp_path, "once"): 0.7, written(tmp_path, "twice", "AskBoth", participants=both): 0.3}


async def take(mixture: Mixture, count: int) -> list[Group]:
    return [await anext(mixture) for _ in range(count)]


def told(groups: list[Group]) -> list[tuple[str | None, int]]:
    return [(group.source, group.number) for group in groups]


async def test_shares_hold_and_a_cursor_goes_on_exactly(shares: dict[str | Path, float]) -> None:
    async with open_mixture(shares, max_open_groups=60) as mixture:
        groups = await take(mixture, 40)
        assert Counter(group.source for group in groups) == {"once": 28, "twice": 12}
        for group in groups:
            completed = group.episodes.column("status").to_pylist().count("completed")
            assert group.samples.num_rows == completed * {"once": 1, "twice": 2}[group.source or ""]
        mixture.acknowledge(*groups[:20])
        saved = json.loads(json.dumps(mixture.cursor))
        mixture.acknowledge(*groups[20:30])
        status = await mixture.status()
        assert status["once"]["share"] == pytest.approx(0.7) and status["twice"]["acknowledged"] == 9
        with pytest.raises(ValueError, match="group 0 is of other, which is no source"):
            mixture.acknowledge(Group(0, "0-", "t", None, groups[0].episodes, source="other"))
    async with open_mixture(shares, cursor=saved, max_open_groups=60) as mixture:
        again = await take(mixture, 20)
        assert told(again) == told(groups[20:]), "the same groups in the same order"
        mixture.acknowledge(*again)
        later = await take(mixture, 10)
        assert not set(told(later)) & set(told(groups))
        mixture.acknowledge(*later)
        assert await mixture.remove_before(mixture.cursor) > 0
    total = Counter(group.source for group in groups + later)
    assert total == {"once": 35, "twice": 15}


async def test_shares_hold_though_one_source_is_stale_more_often(
    shares: dict[str | Path, float], tmp_path: Path
) -> None:
    """The weights change while groups are played, so that those of the slower source are dropped more often."""
    bounds = {"max_staleness": 0, "groups_per_version": 5}
    seen: Counter[str | None] = Counter()
    async with open_mixture(shares, version=0, **bounds) as mixture:
        for version in range(1, 9):
            batch = await take(mixture, 5)
            assert all(group.version == mixture.version == version - 1 for group in batch)
            seen.update(group.source for group in batch)
            mixture.acknowledge(*batch)
            (tmp_path / "weights").write_text(str(version))
            mixture.advance(version)
        with pytest.raises(ValueError, match="versions grow"):
            mixture.advance(3)
        status = await mixture.status()
    assert seen == {"once": 28, "twice": 12}
    assert sum(one["stale"] for one in status.values()) > 0
    assert {name: one["version"] for name, one in status.items()} == {"once": 8, "twice": 8}


def test_a_trainer_without_an_event_loop_mixes_to_the_end(shares: dict[str | Path, float], tmp_path: Path) -> None:
    evaluation = written(tmp_path, "evaluation", tasks={"generate": 4})
    with open_mixture(shares, ["tasks.generate=20"], epochs=1, max_open_groups=60) as mixture:
        assert mixture.sources.keys() == {"once", "twice"}
        held = mixture.weights("toy")
        assert held.version == 0 and mixture.evaluate(evaluation, name="now")["episodes"] == 4
        with pytest.raises(UserError, match=r"models\.tyo: the stream has no such model up; it has toy"):
            mixture.weights("tyo")
        groups = []
        for group in mixture:
            groups.append(group)
            mixture.acknowledge(group)
    seen = Counter(group.source for group in groups)
    assert seen["once"] == 20, "it ends where the shares can't hold any more"
    assert seen["twice"] in (8, 9)


def test_sources_that_do_not_fit_are_refused(shares: dict[str | Path, float], tmp_path: Path) -> None:
    first = next(iter(shares))

    def refused(reason: str, more: dict[str | Path, float], *overrides: str, **options: Any) -> None:
        async def opened() -> None:
            async with open_mixture({first: 1.0, **more}, overrides, **options):
                pass

        with pytest.raises(UserError, match=reason):
            asyncio.run(opened())

    toy = {"engine": "lucky_questions:VersionedEngine", "weights": "elsewhere"}
    other = written(tmp_path, "other", models={"toy": toy})
    refused(r"other\.yaml: models\.toy: it is another one than in .*once\.yaml; make the sections equal", {other: 1.0})
    refused(r"run\.name: same is that of .*once\.yaml, too", {written(tmp_path, "x"): 1.0}, "run.name=same")
    refused(r"run\.name: a source of a mixture needs one", {written(tmp_path, "no", run={}): 1.0})
    refused("shares: 0 for x", {tmp_path / "x.yaml": 0.0})
    big = written(tmp_path, "big", fanout={"workers": 5, "cpus_per_worker": 1})
    refused("fanout: the workers of all sources ask for 5 CPUs .* but the cluster has 4", {big: 1.0})
    foreign = {"stream": "f" * 16}
    cursor = {"sources": {"once": foreign}, "shares": {"once": 1.0}, "acknowledged": {}}
    refused("once: it was saved with a stream|saved with a stream that is not at", {}, cursor=cursor)
