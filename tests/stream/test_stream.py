"""Reads a stream on a real Ray cluster: bounded, never stale, and exactly once for a trainer that saves its cursor."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
import yaml
from conftest import REPOSITORY
from lucky_questions import Question

from ray_gym.errors import RunFailed, UserError
from ray_gym.stream import Group, Stream, open_models, open_stream

pytestmark = pytest.mark.ray
GREEDY = "participants.policy.sampling.temperature=0"


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


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(config_of(tmp_path)))
    return path


def config_of(folder: Path, **changes: Any) -> dict[str, Any]:
    return {
        "run": {"name": "stream"},
        "environment": {"id": "lucky_questions:Ask"},
        "tasks": {"generate": 100, "repeats": 2},
        "models": {
            "toy": {
                "engine": "lucky_questions:VersionedEngine",
                "weights": str(folder / "weights"),
                "delay_s": 0.02,
            }
        },
        "participants": {"policy": {"model": "toy"}},
        "fanout": {"workers": 1, "concurrency": 8},
        "output": {"dir": str(folder / "runs"), "roll_s": 0.1},
        **changes,
    }


async def take(stream: Stream, count: int) -> list[Group]:
    return [await anext(stream) for _ in range(count)]


async def until(stream: Stream, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Waits until a stream's counts meet a condition, and returns them. Errors: TimeoutError."""
    async with asyncio.timeout(60):
        while not condition(counts := await stream.status()):  # noqa: ASYNC110  another process's state
            await asyncio.sleep(0.02)
        return counts


def numbers(groups: list[Group]) -> list[int]:
    return [group.number for group in groups]


@pytest.mark.runs
async def test_groups_come_whole_once_and_again_until_they_are_acknowledged(config: Path) -> None:
    async with open_stream(config) as stream:
        groups = await take(stream, 6)
        for group in groups:
            assert set(group.episodes.column("group_id").to_pylist()) == {group.group_id}
            assert group.episodes.num_rows == 2
            completed = group.episodes.column("status").to_pylist().count("completed")
            assert group.samples.num_rows == completed and group.samples.column("token_ids").combine_chunks()
        stream.acknowledge(*groups[:4])
        with pytest.raises(ValueError, match="acknowledged already"):
            stream.acknowledge(groups[0])
        saved = json.loads(json.dumps(stream.cursor))
        stream.acknowledge(*groups[4:])
    async with open_stream(config, cursor=saved) as stream:
        again = await take(stream, 4)
        assert numbers(again)[:2] == numbers(groups)[4:], "the cursor is from before they were acknowledged"
        assert again[0].episodes.equals(groups[4].episodes)
        assert not set(numbers(again)) & set(numbers(groups)[:4])
    async with open_stream(config) as stream:
        from_the_start = await take(stream, 6)
        assert numbers(from_the_start) == numbers(groups)
        stream.acknowledge(*from_the_start)
        while not await stream.remove_before(stream.cursor):
            stream.acknowledge(await anext(stream))
        later = stream.cursor
    with pytest.raises(UserError, match=f"cursor: next {saved['next']}, but files of groups before"):
        async with open_stream(config, cursor=saved):
            pass
    async with open_stream(config, cursor=later) as stream:
        assert not set(numbers(await take(stream, 2))) & set(numbers(groups))


@pytest.mark.runs
def test_a_trainer_without_an_event_loop_gets_the_same(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open_stream(config, epochs=1, max_open_groups=200) as stream:
        first, second = next(stream), next(stream)
        assert first.tensors().token_ids.shape[0] == first.samples.num_rows
        with pytest.raises(ValueError, match="never delivered"):
            stream.acknowledge(Group(99, "99-", "t", None, first.episodes))
        stream.acknowledge(first)
        stream.advance(7)
        assert stream.status()["acknowledged"] == 1 and stream.version == 7
        saved = stream.cursor
    with open_stream(config, epochs=1, max_open_groups=200, cursor=saved, version=7) as stream:
        rest = list(stream)
    assert second.number in numbers(rest) and first.number not in numbers(rest)
    assert len(rest) == 99, "an epoch has an end, and so has the loop over it"
    assert "note" not in capsys.readouterr().err
    with pytest.raises(UserError, match="another's cursor"), open_stream(config, cursor={"stream": "x"}):
        pass
    with pytest.raises(UserError, match="plays something else"), open_stream(config, [GREEDY]):
        pass
    assert "note: participants.policy.sampling.temperature: 0, so the 2 episodes" in capsys.readouterr().err


def lucky(folder: Path, tasks: int, changes: dict[str, Any], **options: Any) -> Path:
    """Writes a config whose episodes are rewarded by chance, with `tasks` tasks in an epoch."""
    found = config_of(folder, tasks={"generate": tasks, "repeats": 2}, **changes)
    found["environment"] |= options
    (folder / "lucky.yaml").write_text(yaml.safe_dump(found))
    return folder / "lucky.yaml"


@pytest.mark.runs
async def test_given_tasks_are_played_now_and_models_stay(
    config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is called on a running event loop, as in a notebook."""
    tasks = [{"number": 14}, {"number": 3}, Question(number=21)]
    with open_models(config, [GREEDY]) as models:
        groups = models.play(tasks, repeats=3)
        assert "note: participants.policy.sampling.temperature: 0, so the 3 episodes" in capsys.readouterr().err
        (tmp_path / "weights").write_text("4")
        again = models.play(tasks[:1])
        asks = {"responses_create_params": {"input": "Hi.", "temperature": 0.3}, "number": 3}
        models.play([asks])
        assert "note: tasks: temperature of its own, which are not used" in capsys.readouterr().err
        same = [models.play(tasks[:1], repeats=4, seed=seed) for seed in (1, 1, 2)]
        with pytest.raises(UserError, match=r"tasks\[1\]: number: "):
            models.play([{"number": 1}, {"number": "one"}])
        with pytest.raises(UserError, match="tasks: none were given"):
            models.play([])
        with pytest.raises(UserError, match=r"models\.toy: its weights can't be changed from here"):
            models.weights("toy")
    assert [json.loads(group.episodes.column("task")[0].as_py())["number"] for group in groups] == [14, 3, 21]
    assert [group.episodes.num_rows for group in groups] == [3, 3, 3] and again[0].episodes.num_rows == 2
    assert [group.version for group in groups] == [0, 0, 0] and again[0].version == 4
    rewards = [set(group.episodes.column("reward").to_pylist()) - {None} for group in groups]
    assert rewards == [{1.0}, {0.0}, {1.0}]
    ids = [
        set(group.episodes.column("episode_id").to_pylist())
        for group in (groups[0], again[0], *(one[0] for one in same))
    ]
    assert ids[2] == ids[3] and not ids[0] & ids[1] and not ids[1] & ids[2] and not ids[2] & ids[4]


@pytest.mark.runs
async def test_groups_without_spread_are_replaced_until_the_epoch_is_full(tmp_path: Path) -> None:
    config = lucky(tmp_path, 12, {"groups": {"spread": "replace"}}, luck=0.4)
    seen: list[Group] = []
    async with open_stream(config, epochs=1) as stream:
        seen += await take(stream, 5)
        stream.acknowledge(*seen)
        await until(stream, lambda counts: counts["flat"] > 0)
        saved = json.loads(json.dumps(stream.cursor))
    async with open_stream(config, epochs=1, cursor=saved) as stream:
        async for group in stream:
            seen.append(group)
            stream.acknowledge(group)
        assert (await stream.status())["begun"] > 0
    rewards = [set(group.episodes.column("reward").to_pylist()) - {None} for group in seen]
    assert len(set(numbers(seen))) == len(seen) == 12 and all(len(found) == 2 for found in rewards)
    assert max(numbers(seen)) > 12, "new tasks took the place of those without spread"


@pytest.mark.runs
async def test_the_first_to_complete_make_the_group_and_the_rest_are_kept_as_surplus(tmp_path: Path) -> None:
    changes = config_of(tmp_path)["models"]
    changes["toy"]["delay_s"] = 0.3
    config = lucky(tmp_path, 100, {"models": changes, "groups": {"extra": 2}}, luck=0.5)
    async with open_stream(config, min_group_size=2, max_open_groups=12) as stream:
        groups = await take(stream, 12)
        counted = (await stream.status())["surplus"]
    surplus = ended = 0
    for group in groups:
        rows = group.episodes.to_pylist()
        kept = [row for row in rows if row["status"] == "completed"]
        rest = [row for row in rows if row["status"] == "cancelled"]
        assert len(rows) == 4 and len(kept) == 2 == rows[0]["group_size"] == rows[0]["group_completed"]
        assert group.samples.num_rows == 2 and group.advantages().shape == (2,)
        assert all(row["reward"] is None and not any(one["trainable"] for one in row["samples"]) for row in rest)
        ended += len(rest)
        cut = [row for row in rest if row["stop_reason"] == "surplus"]
        assert all("Is " in row["events"][0]["content"][0]["text"] for row in cut if row["events"]), (
            "what was said is kept"
        )
        surplus += len(cut)
        assert max(row["ended_at"] for row in rows) - max(row["ended_at"] for row in kept) < 0.25, (
            "nobody waits for them"
        )
    assert surplus >= 12 and counted >= ended


@pytest.mark.runs
async def test_a_sampler_plays_the_same_tasks_again_after_a_restart(tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text("".join(f'{{"task_id": "t{n}", "number": {n}}}\n' for n in range(21)))
    changes = {
        "tasks": {"path": "tasks.jsonl", "repeats": 2, "sampler": {"shares": {"easy": 0.5, "middle": 0.1, "hard": 0.4}}}
    }
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config_of(tmp_path, **changes)))
    tasks: dict[int, str] = {}
    async with open_stream(tmp_path / "config.yaml") as stream:
        for _ in range(160):
            group = await anext(stream)
            tasks[group.number] = group.task_id
            if group.number < 40:
                saved = stream.cursor
            stream.acknowledge(group)
        pools = (await stream.status())["pools"]
    assert pools["easy"]["tasks"] == 3 and pools["hard"]["tasks"] >= 15, "every seventh number is lucky"
    late = [int(task[1:]) % 7 == 0 for number, task in tasks.items() if number >= 96]
    assert 0.4 < sum(late) / len(late) < 0.65, "an eighth of the tasks has half of the groups"
    async with open_stream(tmp_path / "config.yaml", cursor=saved) as stream:
        for _ in range(60):
            group = await anext(stream)
            stream.acknowledge(group)
            assert tasks.get(group.number, group.task_id) == group.task_id


@pytest.mark.runs
async def test_a_stream_without_any_spread_ends_and_says_so(tmp_path: Path) -> None:
    config = lucky(tmp_path, 100, {"groups": {"spread": "drop", "max_without_spread": 5}}, luck=0.0)
    with pytest.raises(RunFailed, match=r"6 groups in a row had no spread .*in the last one 0;"):
        async with open_stream(config) as stream:
            await anext(stream)


async def test_a_stream_whose_episodes_all_fail_ends_and_says_why(tmp_path: Path) -> None:
    config = lucky(tmp_path, 100, {}, breaks=True)
    with pytest.raises(
        RunFailed, match=r"4 groups in a row had no trainable sample .*nothing can be scored, on purpose"
    ):
        async with open_stream(config, max_barren_groups=3) as stream:
            await anext(stream)


async def test_tokens_of_a_model_that_tells_no_version_have_the_one_that_was_told(tmp_path: Path) -> None:
    changes = config_of(tmp_path)["models"]
    changes["toy"]["tells_versions"] = False
    config = lucky(tmp_path, 100, {"models": changes}, luck=0.5)
    bounds = {"max_staleness": 0, "groups_per_version": 4, "min_group_size": 2}
    with pytest.raises(UserError, match=r"models\.toy: it does not tell the version .*version=0.*stream\.advance"):
        async with open_stream(config, **bounds):
            pass
    async with open_stream(config, version=3, **bounds) as stream:
        versions = []
        for version in (3, 4, 5):
            batch = await take(stream, 4)
            versions += [
                {span["version"] for spans in group.samples.column("versions").to_pylist() for span in spans}
                for group in batch
            ]
            stream.acknowledge(*batch)
            stream.advance(version + 1)
        assert versions == [{3}] * 4 + [{4}] * 4 + [{5}] * 4
        assert (await stream.status())["stale"] == 0


@pytest.mark.runs
async def test_each_model_counts_its_own_versions(tmp_path: Path) -> None:
    toy = {**config_of(tmp_path)["models"]["toy"], "tells_versions": False}
    models = {"policy": toy, "user": {**toy, "delay_s": 0.01}}
    participants = {"policy": {"model": "policy"}, "user": {"model": "user", "trainable": True}}
    config = lucky(
        tmp_path, 100, {"models": models, "participants": participants}, id="lucky_questions:AskBoth", luck=0.5
    )
    bounds = {"max_staleness": 0, "groups_per_version": 4, "min_group_size": 2}
    known = [{"policy": 0, "user": 0}, {"policy": 1}, {"policy": 2, "user": 1}, {"policy": 3}]
    async with open_stream(config, version=0, **bounds) as stream:
        for told in known:
            stream.advance(told)
            batch = await take(stream, 4)
            samples = [sample for group in batch for sample in group.samples.to_pylist()]
            found = {(one["model"], span["version"]) for one in samples for span in one["versions"]}
            assert found == set(stream.versions.items()), "each has its own, and both of them train"
            stream.acknowledge(*batch)
        assert stream.versions == {"policy": 3, "user": 1} and stream.version == 1
        assert (await stream.status())["stale"] == 0
        with pytest.raises(ValueError, match="version 0, but the weights of user are at 1 already; versions grow"):
            stream.advance({"policy": 4, "user": 0})
        with pytest.raises(UserError, match=r"models\.tyo: no such model is trained; policy, user"):
            stream.advance({"tyo": 4})
        saved = json.loads(json.dumps(stream.cursor))
    async with open_stream(config, cursor=saved, **bounds) as stream:
        assert stream.versions == {"policy": 3, "user": 1}
        stream.advance(5)
        assert stream.versions == {"policy": 5, "user": 5}


@pytest.mark.runs
async def test_withheld_tokens_are_out_of_the_mask_and_in_the_table(config: Path, tmp_path: Path) -> None:
    async with open_stream(config, max_staleness=0, stale="withhold") as stream:
        first = await anext(stream)
        (tmp_path / "weights").write_text("1")
        stream.advance(1)
        groups = [first]
        for _ in range(20):
            stream.acknowledge(groups[-1])
            groups += await take(stream, 1)
        old = [group for group in groups if group.version == 0 and group is not first]
        assert old, "what was begun with the old weights is delivered"
        for group in old:
            samples = group.samples.to_pylist()
            withheld = sum(sample["withheld_tokens"] for sample in samples)
            recorded = [
                sum(sample["loss_mask"])
                for row in group.episodes.to_pylist()
                if row["status"] == "completed"
                for sample in row["samples"]
            ]
            assert withheld > 0 and sum(recorded) == withheld + sum(sum(sample["loss_mask"]) for sample in samples)


@pytest.mark.runs
async def test_a_trainer_that_does_nothing_holds_the_fan_out_back(config: Path) -> None:
    async with open_stream(config, max_open_groups=3) as stream:
        counts = await until(stream, lambda counts: counts["waiting"] + counts["small"] == counts["begun"] >= 3)
        assert counts["waiting"] == 3 == counts["open"] and not counts["playing"]
        groups = await take(stream, 3)
        assert (await stream.status())["begun"] == counts["begun"], "delivered is not acknowledged"
        stream.acknowledge(groups[0])
        await until(stream, lambda now: now["begun"] > counts["begun"] and now["open"] == 3)


async def test_whoever_is_cancelled_while_he_waits_loses_no_group(config: Path) -> None:
    async with open_stream(config, max_open_groups=2) as stream:
        first = await take(stream, 2)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await anext(stream)
        stream.acknowledge(*first)
        assert sorted(numbers(first) + numbers(await take(stream, 2))) == [0, 1, 2, 3]


@pytest.mark.runs
async def test_what_is_too_old_is_dropped_for_good(config: Path, tmp_path: Path) -> None:
    async with open_stream(config, max_staleness=1, max_open_groups=6) as stream:
        await until(stream, lambda counts: counts["waiting"] == 6)
        (tmp_path / "weights").write_text("2")
        stream.advance(2)
        groups = await take(stream, 3)
        assert all(group.version == 2 for group in groups)
        counts = await stream.status()
        assert counts["stale"] == 6 and counts["stalest"] == 0
        stream.acknowledge(*groups)
        saved = stream.cursor
        stream.advance(2)
        with pytest.raises(ValueError, match="versions grow"):
            stream.advance(1)
    dropped = [json.loads(path.read_text()) for path in (tmp_path / "runs" / "stream" / "dropped").iterdir()]
    assert [one["reason"] for one in dropped if one["reason"] == "stale"] == ["stale"] * 6
    for cursor in (saved, {**saved, "next": 0, "beyond": [], "commit": 0, "version": 0}):
        async with open_stream(config, cursor=cursor) as stream:
            again = await take(stream, 3)
            assert not {group.group_id for group in again} & {one["group_id"] for one in dropped}


@pytest.mark.runs
async def test_no_more_is_begun_than_the_versions_allow(config: Path) -> None:
    async with open_stream(config, max_staleness=1, groups_per_version=2, max_open_groups=50) as stream:
        groups = await take(stream, 2)
        stream.acknowledge(*groups)
        counts = await until(stream, lambda counts: counts["waiting"] == 2)
        assert counts["begun"] == 4 + counts["small"] and counts["ahead"] == 4
        stream.advance(1)
        counts = await until(stream, lambda counts: counts["waiting"] == 4)
        assert counts["begun"] == 6 + counts["small"] and counts["stale"] == 0


@pytest.mark.runs
async def test_the_version_is_what_the_models_serve(tmp_path: Path) -> None:
    made, path = config_of(tmp_path), tmp_path / "config.yaml"
    made["models"]["toy"] |= {"engine": "held_engine:HeldEngine", "weights_version": 3}
    path.write_text(yaml.safe_dump(made))
    (tmp_path / "weights").write_text("3")
    async with open_stream(path, max_staleness=0) as stream:
        assert stream.version == 3 == await asyncio.to_thread(lambda: stream.weights("toy").version)
        stream.acknowledge(*await take(stream, 2))
        saved = stream.cursor
        with pytest.raises(UserError, match=r"models\.tyo: the stream has no such model up; it has toy"):
            stream.weights("tyo")
    older, newer = (["models.toy.weights_version=2"], ["models.toy.weights_version=5"])
    with pytest.raises(
        UserError, match=r"models\.toy: it serves version 2, and the cursor was taken at 3; open the stream with"
    ):
        async with open_stream(path, older, cursor=saved):
            pass
    async with open_stream(path, older, cursor=saved, version=2) as stream:
        assert stream.version == 2
    async with open_stream(path, newer, cursor=saved, max_staleness=1) as stream:
        assert stream.version == 5
        await until(stream, lambda counts: counts["stale"] > 0)


@pytest.mark.runs
async def test_weights_that_are_changed_elsewhere_are_not_changed_here(config: Path) -> None:
    async with open_stream(config) as stream:
        with pytest.raises(UserError, match="its weights can't be changed from here"):
            stream.weights("toy")


@pytest.mark.runs
async def test_epochs_end_and_every_group_was_delivered_or_dropped(tmp_path: Path) -> None:
    rows = tmp_path / "tasks.jsonl"
    rows.write_text("".join(json.dumps({"number": number}) + "\n" for number in range(20)))
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(config_of(tmp_path, tasks={"path": str(rows), "repeats": 2})))
    groups = []
    async with open_stream(path, epochs=2, min_group_size=2) as stream:
        async for group in stream:
            groups.append(group)
            stream.acknowledge(group)
        counts = await stream.status()
        assert stream.cursor["next"] == 40 and not stream.cursor["beyond"]
    assert counts["small"] > 0 and all(group.samples.num_rows == 2 for group in groups)
    small = {int(path.stem) for path in (tmp_path / "runs" / "stream" / "dropped").iterdir()}
    assert sorted([*numbers(groups), *small]) == list(range(40))
    assert len(small) == counts["small"]


@pytest.mark.runs
async def test_an_evaluation_goes_first(config: Path, tmp_path: Path) -> None:
    """While one of its episodes waits for a worker no group of the stream is begun, though the trainer has room."""
    evaluation = tmp_path / "evaluation.yaml"
    evaluation.write_text(
        yaml.safe_dump(config_of(tmp_path, tasks={"generate": 24}, fanout={"workers": 1, "concurrency": 2}))
    )
    async with open_stream(config) as stream:
        stream.acknowledge(*await take(stream, 2))
        trainer = asyncio.create_task(acknowledge_all(stream))
        playing = asyncio.create_task(stream.evaluate(evaluation, name="evaluation-1"))
        held = await until(stream, lambda counts: counts["held_for"] > 0)
        still = await until(stream, lambda counts: 0 < counts["held_for"] < held["held_for"])
        assert still["begun"] == held["begun"]
        summary = await playing
        assert summary["episodes"] == 24 and Path(summary["location"]).name == "evaluation-1"
        await until(stream, lambda counts: counts["begun"] > held["begun"])
        assert await stream.evaluate(evaluation, name="evaluation-1"), "again under its name: it is done"
        other = config_of(tmp_path)
        other["models"]["toy"]["delay_s"] = 1.0
        evaluation.write_text(yaml.safe_dump(other))
        with pytest.raises(UserError, match=r"models\.toy: it is another one than the stream's"):
            await stream.evaluate(evaluation, name="evaluation-2")
        trainer.cancel()


async def acknowledge_all(stream: Stream) -> None:
    """Takes groups for as long as the stream has some, so that the stream always has room."""
    async for group in stream:
        stream.acknowledge(group)


@pytest.mark.runs
async def test_a_generator_that_breaks_ends_the_stream(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(config_of(tmp_path, environment={"id": "lucky_questions:Ask", "breaks_at": 9})))
    with pytest.raises(UserError, match="the generator failed on task 9"):
        async with open_stream(path) as stream:
            async for group in stream:
                stream.acknowledge(group)
