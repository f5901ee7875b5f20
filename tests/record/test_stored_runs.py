"""Runs that were written under each version of the record load, show and export, and go on where they were interrupted.

`versions/N/finished` and `versions/N/interrupted` were written by real commands: the small model under vLLM (in version
5 an endpoint that gives token ids, under a price), and scripted players whose driver was killed while some episodes
were committed and others half played. They are never written again: who raises the version adds two.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from conftest import ray_gym

from ray_gym.cli import main
from ray_gym.errors import UserError
from ray_gym.load import load
from ray_gym.plugins import find_environment
from ray_gym.record.schema import SCHEMA, VERSION
from ray_gym.record.versions import READERS, version_of
from ray_gym.run.directory.posix_storage import PosixStorage
from ray_gym.run.driver.tally import Tally
from ray_gym.service.pages import find_episode, read_episodes, read_groups
from ray_gym.stream.group import FinishedGroup, GroupReader

VERSIONS = Path(__file__).parent / "versions"
STORED = sorted(int(folder.name) for folder in VERSIONS.iterdir())
EPISODES = {"finished": 4, "interrupted": 6}
"""Planned ones, in every version."""
Copy = Callable[[str, int], Path]
Command = Callable[..., tuple[int, str]]


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    """A stored run in a place where it may be changed."""

    def made(name: str, version: int) -> Path:
        return Path(shutil.copytree(VERSIONS / str(version) / name, tmp_path / name))

    return made


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """`ray-gym` in this process; gives its exit code and what it said."""

    def run(*arguments: str) -> tuple[int, str]:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["ray-gym", *arguments])
            patch.setattr(sys, "path", list(sys.path))
            with pytest.raises(SystemExit) as ended:
                main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out + said.err

    return run


def rows_of(run: Path) -> list[dict[str, Any]]:
    return load(run).episodes.to_pylist()


def versions_of(run: Path) -> list[int]:
    files = sorted((run / "episodes").iterdir())
    return [version_of(pq.read_metadata(file).metadata, file.name) for file in files]


def test_every_version_has_stored_runs() -> None:
    """A new version needs two more stored runs."""
    assert sorted(READERS) == STORED and STORED[-1] == VERSION
    for version in STORED:
        assert all(set(versions_of(VERSIONS / str(version) / name)) == {version} for name in EPISODES), version


@pytest.mark.parametrize("version", STORED)
def test_summaries_are_read_under_todays_keys(copy: Copy, version: int) -> None:
    run = copy("finished", version)
    recovery = (load(run).summary or {})["recovery"]
    assert (
        {"episodes_resumed", "episodes_retried", "calls_replayed"}
        <= set(recovery)
        <= set(Tally(0).summary()["recovery"])
    )
    assert load(copy("interrupted", version)).summary is None
    (run / "summary.json").write_text("[")
    with pytest.raises(UserError, match=r"summary\.json: it is damaged"):
        _ = load(run).summary


@pytest.mark.parametrize("version", STORED)
@pytest.mark.parametrize("name", EPISODES)
def test_it_loads(name: str, version: int) -> None:
    run = load(VERSIONS / str(version) / name)
    assert run.episodes.schema.equals(SCHEMA)
    rows = run.episodes.to_pylist()
    assert 0 < len(rows) <= EPISODES[name] and {row["status"] for row in rows} == {"completed"}
    assert all((row["tools_shown"] is None) == (version == 1) for row in rows)
    assert all((row["cost"] is None) == (version < 5 or name == "interrupted") for row in rows)
    samples = run.samples.to_pylist()
    assert bool(samples) == (name == "finished")
    for sample in samples:
        assert len(sample["token_ids"]) == len(sample["logprobs"]) and sum(sample["loss_mask"]) > 0


@pytest.mark.parametrize("version", STORED)
def test_it_is_shown(version: int, command: Command) -> None:
    run = VERSIONS / str(version) / "finished"
    first = rows_of(run)[0]
    code, listed = command("show", str(run))
    assert code == 0 and listed.count("completed") == EPISODES["finished"]
    code, shown = command("show", str(run), first["episode_id"])
    assert code == 0 and "policy calls make_move(" in shown and "sample of policy" in shown
    assert ("tools shown to policy: make_move" in shown) == (version > 1)


@pytest.mark.reading
@pytest.mark.parametrize("version", STORED)
def test_it_is_exported_in_each_form(version: int, command: Command, tmp_path: Path) -> None:
    run, out = VERSIONS / str(version) / "finished", tmp_path / "out.jsonl"

    def export(form: str, *options: str) -> tuple[int, str]:
        return command(
            "export", str(run), "--to", "nemo-rl", "--form", form, *options, "--out", str(out), "--overwrite"
        )

    def lines() -> list[dict[str, Any]]:
        return [json.loads(line) for line in out.read_text().splitlines()]

    rows = {row["episode_id"]: row for row in rows_of(run)}
    assert export("sft", "--min-reward", "0")[0] == 0
    conversations = lines()
    assert {line["episode_id"] for line in conversations} == set(rows)
    today = [find_environment("tic_tac_toe").tools["make_move"].schema.as_openai()]
    for line in conversations:
        recorded = rows[line["episode_id"]]["tools_shown"]
        assert line["tools"] == (json.loads(recorded)["policy"] if recorded else today)
    assert export("rollouts")[0] == 0
    groups = lines()
    assert [len(group["completions"]) for group in groups] == [2, 2]
    apart = [group for group in groups if len({one["reward"] for one in group["completions"]}) == 2]
    code, said = export("preference")
    if apart:
        assert code == 0 and len(lines()) == len(apart)
    else:
        assert code == 2 and "nothing was written: pairs whose rewards are too close: 2" in said


@pytest.mark.parametrize("version", STORED)
def test_its_pages_are_read_by_the_service(version: int) -> None:
    run = VERSIONS / str(version) / "finished"
    pages = read_episodes(str(run), None, 10)
    assert [one.row for one in pages] == rows_of(run)
    assert find_episode(str(run), pages[-1].row["episode_id"]) == pages[-1].row
    assert len(read_groups(str(run), None, 10, samples=False)) >= 1


@pytest.mark.parametrize("version", STORED)
def test_its_groups_are_read_by_a_stream(version: int) -> None:
    storage = PosixStorage.of(VERSIONS / str(version) / "finished")
    name = storage.committed()[0]
    group = GroupReader(storage).read_group(FinishedGroup(0, "g", "t", 1, name, 0, 2, 2, 0))
    assert group.episodes.schema.equals(SCHEMA) and group.samples.num_rows >= 2


@pytest.mark.ray
@pytest.mark.parametrize("version", STORED)
def test_it_goes_on_where_it_was_interrupted(version: int, copy: Copy, cluster: dict[str, str]) -> None:
    run = copy("interrupted", version)
    before = {path: path.read_bytes() for path in (run / "episodes").iterdir()}
    committed = {row["episode_id"]: row for row in rows_of(run)}
    done = ray_gym("rollout", "--resume", str(run), environment=cluster)
    assert done.returncode == 0, done.stderr + done.stdout
    assert {path: path.read_bytes() for path in before} == before
    assert set(versions_of(run)) == {version, VERSION}
    rows = rows_of(run)
    assert len(rows) == len({row["episode_id"] for row in rows}) == EPISODES["interrupted"]
    for row in rows:
        if row["episode_id"] in committed:
            assert row == committed[row["episode_id"]]
        else:
            assert row["status"] == "completed" and row["try"] == 0, "no replay diverged"
            assert set(json.loads(row["tools_shown"])) == {"policy", "user"}
    killed_at = max(row["ended_at"] for row in committed.values())
    began = [row["started_at"] for row in rows if row["episode_id"] not in committed]
    assert min(began) < killed_at, "the journal says when it began; without that it would have begun today"
