"""Recorded episodes are scored again with what was changed, and nothing else of them changes."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from adding_up import CALLED, Sums, hangs_later, judge, lenient, mumbling, off_by, sends, slow_and_varied
from conftest import REPOSITORY
from recorded_runs import Tokens, again, comparable, config_of, record, rewrite, rows_of, without_rewards

from ray_gym.errors import UserError
from ray_gym.models.player import Player
from ray_gym.rescoring import record_log

THREE = [{"policy": off_by(0)}, {"policy": off_by(1)}, {"policy": off_by(2)}]


def recorded(folder: Path, casts: list[dict[str, Player]] = THREE, tokens: Tokens = "ids", /, **options: Any) -> Path:
    sections = {key: options.pop(key) for key in ("limits", "groups", "participants") if key in options}
    config = config_of(folder, "adding_up:Sums", options, **sections)
    return asyncio.run(record(config, casts, tokens))


def changed(before: Path, after: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    pairs = zip(rows_of(before), rows_of(after), strict=True)
    return [(old, new) for old, new in pairs if comparable(old) != comparable(new)]


def test_with_one_option_changed_only_the_episodes_that_it_changes_differ(tmp_path: Path) -> None:
    run = recorded(tmp_path)
    made = again(run, "again", "environment.tolerance=1")
    differ = changed(run, made.location)
    assert len(differ) == made.counts.changed == 2
    for old, new in differ:
        assert (old["repeat"], old["reward"], new["reward"]) == (1, 0.0, 1.0)
        for name in ("samples", "rewards"):
            assert old.pop(name) != new.pop(name)
        assert comparable({**old, "reward": None}) == comparable({**new, "reward": None})
    old, new = rows_of(run)[0]["samples"][0], rows_of(made.location)[0]["samples"][0]
    assert {**old, "reward": None} == {**new, "reward": None} and old["token_ids"]


def test_a_judge_is_not_asked_again_what_it_was_asked(tmp_path: Path) -> None:
    run = recorded(tmp_path, judge=True)
    rewrite(run, without_rewards)
    made = again(run)
    assert (made.counts.asked_record, made.counts.asked_live) == (6, 0)
    assert {row["reward"] for row in rows_of(made.location)} == {0.0, 1.0}
    assert made.summary["scored_from"]["judge_calls_from_record"] == 6


@pytest.mark.reading
@pytest.mark.parametrize(
    "override", ["environment.question=Sure?", "participants.judge.sampling.temperature=0.5", "models.judge.player=a:b"]
)
def test_another_question_and_another_judge_are_asked_live(override: str, tmp_path: Path) -> None:
    run = recorded(tmp_path, judge=True)
    made = again(run, "again", override, models={"judge": lenient})
    assert (made.counts.asked_record, made.counts.asked_live) == (0, 6)
    rows = rows_of(made.location)
    assert {row["reward"] for row in rows} == {1.0}
    verdicts = [event for event in rows[0]["events"] if event["kind"] == "verdict"]
    assert [verdict["reward"] for verdict in verdicts] == [1.0]
    assert [sample["thread"] for sample in rows[0]["samples"]] == ["policy"]  # the new judge gave no tokens


@pytest.mark.reading
def test_a_judge_may_be_added_and_taken_away(tmp_path: Path) -> None:
    run = recorded(tmp_path)
    model = ("models.j.engine=scripted", "models.j.player=adding_up:judge")
    more = ("environment.judge=true", "participants.judge.model=j", *model)
    made = again(run, "judged", *more, models={"judge": judge})
    assert made.counts.asked_live == 6
    without = again(Path(made.location), "back", "environment.judge=false")
    assert [comparable(row) for row in rows_of(without.location)] == [comparable(row) for row in rows_of(run)]


def test_only_failed_judges(tmp_path: Path) -> None:
    casts: list[dict[str, Player]] = [{}, {"judge": mumbling}, {"policy": off_by(1)}]
    run = recorded(tmp_path, casts, judge=True, groups={"incomplete": "drop"})
    assert [sorted(row["status"] for row in rows_of(run))] == [["dropped"] * 4 + ["failed"] * 2]
    made = again(run, only_failed=True, models={"judge": lenient})
    rows = rows_of(made.location)
    assert {row["status"] for row in rows} == {"completed"} and {row["group_completed"] for row in rows} == {3}
    assert (made.counts.scored, made.counts.copied, made.counts.asked_live) == (2, 4, 2)
    assert all(row["reward"] == 1.0 and row["failure"] is None for row in rows if row["repeat"] == 1)
    assert all(row["samples"][0]["trainable"] for row in rows)
    for old, new in zip(rows_of(run), rows, strict=True):
        if old["repeat"] != 1:
            assert comparable(old)["events"] == comparable(new)["events"] and old["reward"] == new["reward"]


@pytest.mark.reading
def test_a_judge_that_still_fails(tmp_path: Path) -> None:
    run = recorded(tmp_path, [{}, {"judge": mumbling}], judge=True)
    assert not changed(run, again(run).location)  # what it said then decides, and it is not asked
    made = again(run, "mended", "limits.retries.judge=1", only_failed=True, models={"judge": mumbling})
    failed = [row for row in rows_of(made.location) if row["status"] == "failed"]
    assert len(failed) == 2 and {row["failure"]["kind"] for row in failed} == {"judge"}
    assert made.counts.asked_live == 4  # a new try, and one retry
    assert any("the episode is scored again" in str(event["content"]) for event in failed[0]["events"])


def test_a_tampered_result_of_a_tool_is_named(tmp_path: Path) -> None:
    run = recorded(tmp_path)
    bad = rows_of(run)[0]["episode_id"]

    def tamper(row: dict[str, Any]) -> None:
        for event in row["events"]:
            if row["episode_id"] == bad and event["kind"] == "tool_result":
                event["content"] = [{"type": "text", "text": "12345"}]

    rewrite(run, tamper)
    with pytest.raises(
        UserError, match=rf"episode {bad} can't be played again: it diverges at event 2: content of .*12345"
    ):
        again(run)
    assert not (tmp_path / "again").exists()


@pytest.mark.reading
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda row: row["events"].pop(3), "event 3: a stop was recorded, and policy is asked now"),
        (
            lambda row: row["events"][1]["tool_calls"][0].update(arguments='{"first": 1, "second": 1}'),
            "event 2: content",
        ),
        (lambda row: row.update(tools_shown="{}"), "is shown other tools"),
        (lambda row: row.update(task='{"first": 1, "second": 1}'), "event 0: content of an opening of policy"),
        (
            lambda row: row["events"].insert(3, {**row["events"][2], "seq": 3}),
            "event 3: a tool_result of policy was recorded, and does not",
        ),
    ],
)
def test_other_differences(change: Any, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_log, "ALONE_S", 0.2)
    run = recorded(tmp_path)
    rewrite(run, change)
    with pytest.raises(UserError, match=why):
        again(run)


def test_an_option_that_changes_what_was_played(tmp_path: Path) -> None:
    run = recorded(tmp_path)
    with pytest.raises(UserError, match="diverges at event 0: content of an opening of policy was 'Add"):
        again(run, "again", "environment.greeting=Sum up")


def test_a_run_that_did_not_mask_how_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is what runs of earlier versions recorded."""
    monkeypatch.setattr(Sums, "finished", lambda self, state, episode: "as Please add" if episode.turns else None)
    monkeypatch.setenv("WORDS", "Please add")
    run = recorded(tmp_path, greeting="Please add")
    made = again(run, "again", "environment.greeting=${oc.env:WORDS}")
    assert made.counts.scored == 6
    monkeypatch.setattr(Sums, "finished", lambda self, state, episode: "as You add" if episode.turns else None)
    with pytest.raises(UserError, match=r"content of a stop was 'as \$\{oc.env:WORDS\}', and is 'as You add'"):
        again(run, "changed", "environment.greeting=${oc.env:WORDS}")


def test_effects(tmp_path: Path) -> None:
    run = recorded(tmp_path, [{"policy": sends}])
    calls = list(CALLED)
    made = again(run)
    assert calls == CALLED and not changed(run, made.location)
    (tmp_path / "outside").mkdir()
    outside = recorded(tmp_path / "outside", way="outside")
    with pytest.raises(UserError, match=r"Sums does something outside of the episode \(look\)"):
        again(outside)


@pytest.mark.reading
def test_threads_that_were_asked_at_once(tmp_path: Path) -> None:
    run = recorded(tmp_path, [{"policy": slow_and_varied}] * 8, way="drafts")
    assert not changed(run, again(run).location)
    orders = {tuple(event["thread"] for event in row["events"] if event["model"]) for row in rows_of(run)}
    assert len(orders) > 1


@pytest.mark.environments
@pytest.mark.parametrize("tokens", ["ids", "counts"])
@pytest.mark.parametrize(
    ("policy", "way", "limits", "reason"),
    [
        (hangs_later, "long", {"episode_deadline_s": 0.5}, "deadline"),
        (off_by(0), "turn", {"token_budget": 60}, "token_budget"),
        (slow_and_varied, "long", {"max_turns": 3}, "max_turns"),
    ],
)
def test_limits(policy: Player, way: str, limits: dict[str, Any], reason: str, tokens: Tokens, tmp_path: Path) -> None:
    run = recorded(tmp_path, [{"policy": policy}], tokens, way=way, limits=limits)
    assert {row["stop_reason"] for row in rows_of(run)} == {reason}
    assert not changed(run, again(run).location)


@pytest.mark.reading
def test_the_policys_own_fault(tmp_path: Path) -> None:
    run = recorded(tmp_path, way="blame")
    assert {row["failure"]["kind"] for row in rows_of(run)} == {"policy"}
    assert not changed(run, again(run).location)


@pytest.mark.reading
def test_episodes_that_failed_after_their_end_are_copied(tmp_path: Path) -> None:
    run = recorded(tmp_path, way="break")
    made = again(run)
    assert made.counts.copied_because == {"failed (environment)": 6} and not changed(run, made.location)


def test_a_grader_that_broke_is_mended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Sums, "score", lambda self, state, episode: 1 / 0)
        run = recorded(tmp_path)
    assert {row["failure"]["kind"] for row in rows_of(run)} == {"environment"}
    made = again(run)
    assert [row["status"] for row in rows_of(made.location)] == ["completed"] * 6
    assert made.summary["mean_reward"] == pytest.approx(1 / 3)


@pytest.mark.reading
def test_a_group_in_several_files(tmp_path: Path) -> None:
    run = recorded(tmp_path)
    first = sorted((run / "episodes").iterdir())[0]
    table = pq.read_table(first)
    pq.write_table(table.slice(0, 1), first)
    pq.write_table(table.slice(1), run / "episodes" / "part-99999999-w.parquet")
    made = again(run)
    assert not changed(run, made.location) and made.summary["episodes"] == 6


@pytest.mark.reading
def test_an_agents_calls_from_outside(tmp_path: Path) -> None:
    run = recorded(tmp_path)
    rewrite(run, lambda row: row["events"][2].update(kind="tool_call"))
    with pytest.raises(UserError, match=r"it was played from outside \(event 2"):
        again(run)


@pytest.mark.reading
def test_episodes_that_were_not_played_to_their_end_are_copied(tmp_path: Path) -> None:
    run = recorded(tmp_path)
    failure = {"kind": "user", "where": "user", "message": "silent"}

    def fail(row: dict[str, Any]) -> None:
        row["group_completed"] = 2
        if row["repeat"] == 0:
            row.update(status="failed", stop_reason="failed", failure=failure, reward=None, rewards=[])

    rewrite(run, fail)
    made = again(run)
    assert made.counts.copied_because == {"failed (user)": 2}
    copied = [row for row in rows_of(made.location) if row["repeat"] == 0]
    assert [comparable(row) for row in copied] == [comparable(row) for row in rows_of(run) if row["repeat"] == 0]


@pytest.mark.reading
@pytest.mark.parametrize("version", ["1", "2", "3"])
def test_runs_of_earlier_versions(version: str, tmp_path: Path) -> None:
    for name, interrupted in (("finished", False), ("interrupted", True)):
        run = tmp_path / name
        shutil.copytree(REPOSITORY / "tests" / "record" / "versions" / version / name, run)
        made = again(run, f"{name}-again")
        assert not changed(run, made.location) and made.summary["interrupted"] is interrupted
