"""Reads a run by place: in commit order, each row once, wherever one goes on."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from committed_run import CommittedRun, row

from ray_gym.openai_api.refused import Refused
from ray_gym.record.schema import as_table
from ray_gym.run.directory.commit_order import name_when_committed
from ray_gym.service import pages
from ray_gym.service.pages import find_episode, find_last_commit, has_more, read_episodes, read_groups


@pytest.fixture
def run(tmp_path: Path) -> CommittedRun:
    return CommittedRun(tmp_path / "run")


def test_pages_of_any_size_give_every_episode_once_in_commit_order(run: CommittedRun) -> None:
    for commit in range(1, 12):
        run.commit([f"{commit}a", f"{commit}b"], [f"{commit}c"])
    whole = [f"{commit}{letter}" for commit in range(1, 12) for letter in "abc"]
    assert run.ids(None, 100) == whole
    for size in (1, 2, 4, 33):
        seen, cursor = [], None
        while page := read_episodes(run.location, cursor, size):
            assert len(page) == size or len(seen) + len(page) == len(whole)
            seen += [one.row["episode_id"] for one in page]
            cursor = page[-1].cursor
        assert seen == whole


def test_groups_are_whole_and_a_place_within_one_leads_to_its_start(run: CommittedRun) -> None:
    run.commit(["a1", "a2", "a3"], ["b1"], ["c1", "c2"])
    run.commit(["d1"])
    assert run.groups(None, 2) == [("1.3", ["a1", "a2", "a3"]), ("1.4", ["b1"])]
    assert run.groups("1.3", 9) == [("1.4", ["b1"]), ("1.6", ["c1", "c2"])], "of one file at a time"
    assert run.groups("1.6", 9) == [("2.1", ["d1"])]
    assert run.groups("2.1", 9) == []
    assert run.groups("1.1", 1) == [("1.3", ["a1", "a2", "a3"])], "also a cursor of the pages of episodes"
    assert read_groups(run.location, None, 1)[0].task_id == "t-a1"


def test_whoever_has_seen_everything_goes_on_with_what_comes(run: CommittedRun) -> None:
    assert run.ids(None, 9) == [] and run.ids("0.0", 9) == [] and find_last_commit(run.location) == 0
    run.commit(["a"])
    assert run.ids("0.0", 9) == ["a"] and run.ids("1.1", 9) == []
    run.commit(["b"])
    assert run.ids("1.1", 9) == ["b"] and find_last_commit(run.location) == 2


@pytest.mark.parametrize("cursor", ["", "1", "1.", "a.b", "-1.0", "1.2.3", "٣.1", "9.0", "1.2", "0.1", "1" * 99 + ".0"])
def test_a_cursor_that_no_answer_gave_is_refused(run: CommittedRun, cursor: str) -> None:
    run.commit(["a"])
    for read in (read_episodes, read_groups, lambda location, cursor, _: has_more(location, cursor)):
        with pytest.raises(Refused, match="is no place in this run") as refused:
            read(run.location, cursor, 1)
        assert (refused.value.status, refused.value.param) == (422, "cursor")


def test_a_page_ends_with_a_file_when_it_is_large_enough(run: CommittedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    run.commit(["a"], ["b"])
    run.commit(["c"])
    assert run.ids(None, 9) == ["a", "b", "c"]
    monkeypatch.setattr(pages, "PAGE_BYTES", 1)
    assert run.ids(None, 9) == ["a", "b"] and run.ids("1.2", 9) == ["c"]
    assert [has_more(run.location, cursor) for cursor in (None, "1.1", "1.2", "2.1")] == [True, True, True, False]


def test_rows_are_json_also_where_numbers_are_not_finite(run: CommittedRun) -> None:
    numbers = [-1.5, math.nan, -math.inf]
    sample = {"thread": "policy", "token_ids": [1, 2, 3], "logprobs": numbers, "reward": math.inf}
    run.commit_rows([row("a", "a", reward=math.nan, samples=[sample], usage={"model_calls": 2})])
    (found,) = read_episodes(run.location, None, 1)
    read = json.loads(json.dumps(found.row, allow_nan=False))
    assert read["reward"] is None and read["samples"][0]["reward"] is None
    assert read["samples"][0]["logprobs"] == [-1.5, None, None] and read["samples"][0]["token_ids"] == [1, 2, 3]
    assert read["usage"]["model_calls"] == 2 and read["task"] == "{}"


def test_samples_are_left_out_if_nobody_wants_them(run: CommittedRun) -> None:
    run.commit(["a"])
    (without,) = read_episodes(run.location, None, 1, samples=False)
    (whole,) = read_episodes(run.location, None, 1)
    assert whole.row == {**without.row, "samples": []} and "samples" not in without.row


def test_paging_over_a_file_reads_it_once_and_earlier_ones_not_at_all(run: CommittedRun, tmp_path: Path) -> None:
    for commit in range(3):
        run.commit(*([f"{commit}-{n}"] for n in range(10)))
    (tmp_path / "run" / "episodes" / name_when_committed(1, "part-1-0-00000.parquet")).write_bytes(b"not looked into")
    before = pages._read_table.cache_info().misses
    for at in range(9):
        assert run.ids(f"2.{at}", 1) == [f"1-{at}"]
        assert run.groups(f"2.{at}", 1) == [(f"2.{at + 1}", [f"1-{at}"])]
    assert pages._read_table.cache_info().misses == before + 1


def test_an_episode_is_found_by_its_id_and_the_newest_row_counts(run: CommittedRun) -> None:
    run.commit(["a"], ["b"])
    run.commit_rows([row("a", "a", turns=7), row("c", "c")])
    found = find_episode(run.location, "a")
    assert found is not None and found["turns"] == 7
    assert find_episode(run.location, "b") is not None and find_episode(run.location, "d") is None


def test_files_of_older_versions_have_no_place(run: CommittedRun) -> None:
    run.storage.stage("part-1-0-00000.parquet", as_table([row("old", "old")]))
    run.storage.publish("part-1-0-00000.parquet", "part-1-0-00000.parquet")
    run.commit(["new"])
    assert run.ids(None, 9) == ["new"]


def test_of_an_episode_whose_file_is_known_no_other_is_opened(run: CommittedRun) -> None:
    for name in "abc":
        run.commit([name])
    for other in (1, 3):
        run.file_of(other).write_bytes(b"not looked into")
    found = find_episode(run.location, "b", run.file_of(2).name)
    assert found is not None and found["episode_id"] == "b"
    assert find_episode(run.location, "a", run.file_of(2).name) is None


@pytest.mark.parametrize("harm", ["missing", "unreadable", "cut short"])
def test_a_file_that_is_lost_is_told_and_never_passed_over(
    run: CommittedRun, harm: str, caplog: pytest.LogCaptureFixture
) -> None:
    for name in "abc":
        run.commit([name])
    lost = run.file_of(2)
    if harm == "missing":
        lost.unlink()
    else:
        lost.write_bytes(b"nonsense" if harm == "unreadable" else lost.read_bytes()[:-20])
    assert run.ids(None, 1) == ["a"] and run.groups(None, 1) == [("1.1", ["a"])]
    for read in (
        lambda: run.ids(None, 9),
        lambda: run.ids("1.1", 9),
        lambda: run.groups("1.1", 9),
        lambda: run.ids("2.1", 9),
        lambda: find_episode(run.location, "b", lost.name),
    ):
        with pytest.raises(Refused, match="commit 2 are lost or damaged") as refused:
            read()
        assert (refused.value.status, refused.value.code) == (500, "damaged_episodes")
        assert run.location not in str(refused.value) and lost.name not in str(refused.value)
    assert f"{run.location}: the file of commit 2 " in caplog.text
    assert "the cursor 3.0 leaves them out" in str(refused.value) and run.ids("3.0", 9) == ["c"]


def test_the_last_file_is_missed_too_by_whoever_knows_that_it_was_committed(run: CommittedRun) -> None:
    run.commit(["a"])
    run.commit(["b"])
    run.file_of(2).unlink()
    assert [one.cursor for one in read_episodes(run.location, None, 1, commits=2)] == ["1.1"]
    for read in (read_episodes, read_groups):
        with pytest.raises(Refused, match=r"the cursor 3\.0 leaves them out"):
            read(run.location, "1.1", 9, commits=2)
    with pytest.raises(Refused, match="commit 2"):
        has_more(run.location, "1.1", commits=2)
    assert read_episodes(run.location, "3.0", 9, commits=2) == []


def test_several_groups_are_read_at_once_unless_they_are_large(
    run: CommittedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.commit(["a"], ["b"], ["c"])
    assert len(run.groups(None, 9)) == 3
    monkeypatch.setattr(pages, "GROUPS_BYTES", 1)
    assert [run.groups(cursor, 9)[0][1] for cursor in (None, "1.1", "1.2")] == [["a"], ["b"], ["c"]]
    assert len(run.groups(None, 9)) == 1
