"""Checks that redacted text and planted secrets are in no line, and that nothing else is changed."""

from __future__ import annotations

import asyncio
import copy
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from small_runs import GAMES, LIBRARY, lines_of, played_run, rows_of
from written_forms import written

from ray_gym.cli.export import make_redaction
from ray_gym.errors import UserError
from ray_gym.export.form import FORM
from ray_gym.export.redaction import REDACTED, SPELLED, Redaction
from ray_gym.export.rollouts import Rollouts
from ray_gym.export.secrets import Secrets, secrets_of
from ray_gym.export.selection import Counts
from ray_gym.export.sft import Sft
from ray_gym.export.writing import export
from ray_gym.load import load
from ray_gym.run.directory.notes import Note, Notes

NONE = Secrets((), ())
KEY = 'sk-planted/"key" \u00e4 1'
"""A secret that JSON, URLs and HTML spell otherwise than plain text."""


def redacted(row: dict[str, Any], *given: str, secrets: Secrets = NONE) -> Any:
    [[made]] = Redaction.of(given, secrets).redacted([[row]], Sft(0, None), Counts())
    return made


def test_a_match_is_replaced_however_deep_it_lies() -> None:
    arguments = json.dumps(
        {"to": ["ann@x.org", {"cc": "bob@x.org, joe"}], "ann@x.org": 1, "text": '{"a": "ann@x.org"}'}
    )
    events = [{"kind": "message", "content": [{"type": "text", "text": "I am ann@x.org!"}], "tool_calls": [arguments]}]
    made = redacted({"events": events, "task": '{"mail": "\\u0061nn@x.org"}'}, r"\w+@x\.org")
    assert made["events"][0]["content"] == [{"type": "text", "text": f"I am {REDACTED}!"}]
    [call] = made["events"][0]["tool_calls"]
    assert json.loads(call) == {
        "to": [REDACTED, {"cc": f"{REDACTED}, joe"}],
        REDACTED: 1,
        "text": json.dumps({"a": REDACTED}),
    }
    assert json.loads(made["task"]) == {"mail": REDACTED}, "an escape of JSON hides nothing"


def test_a_column_is_redacted_alone_and_a_row_without_a_match_is_the_same() -> None:
    row = {"task": '{"a":  "x1"}', "stop_text": "x1", "reward": float("nan"), "task_id": "t"}
    assert redacted(row, "task=x1") == {**row, "task": '{"a": "[redacted]"}'}
    assert redacted(row, "x2") == row, "the JSON is as it was written"
    assert redacted({"stop_text": "a=1"}, "(a=1)")["stop_text"] == REDACTED


def test_names_of_the_engine_stay_and_nothing_is_redacted_twice() -> None:
    row = {"episode_id": "ab", "status": "failed", "failure": {"kind": "policy", "message": "abc 1"}}
    made = redacted(row, "[a-z]+")
    assert made == {**row, "failure": {"kind": "policy", "message": f"{REDACTED} 1"}}
    assert Redaction.of(["[a-z]+"], NONE).line(made) == made


def test_secrets_are_replaced_in_every_spelling_and_also_in_names() -> None:
    secrets = Secrets((KEY,), ())
    texts = [KEY, json.dumps({"k": KEY}), json.dumps([json.dumps(KEY)]), f"x{KEY}y"]
    row = {"episode_id": KEY, "events": [{"kind": KEY, "content": texts}]}
    made = json.dumps(redacted(row, secrets=secrets))
    assert "planted" not in made and "sk-" not in made and made.count("[redacted]") == 6
    assert "planted" not in json.dumps(Redaction.of([], secrets).line({KEY: {"a": [KEY]}}))


def test_secrets_are_those_of_the_environment_that_the_config_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = asyncio.run(played_run(tmp_path, GAMES))
    with (folder / "run.yaml").open("a") as file:
        file.write(
            "x:\n  - {api_key_env: KEY_A, header_env: {Auth: KEY_B}}\n  - key ${oc.env:KEY_C,none} ${oc.env:KEY_D}\n"
        )
        file.write("  - ${oc.env:KEY_E}\n  - \"${oc.env:'KEY_F'}\"\n")
    for name in ("A", "B", "C", "F"):
        monkeypatch.setenv(f"KEY_{name}", f"planted-{name}")
    monkeypatch.setenv("KEY_D", "short")
    monkeypatch.delenv("KEY_E", raising=False)
    monkeypatch.delenv("RAY_GYM_TOKEN", raising=False)
    assert secrets_of(load(folder)) == Secrets(tuple(f"planted-{name}" for name in "ABCF"), ("KEY_E",))
    (folder / "run.yaml").write_text(": : [")
    broken = secrets_of(load(folder))
    assert broken.values == broken.unset == () and "ParserError" in broken.unread
    assert "so values of secrets were not looked for" in make_redaction(load(folder), [])[1][0]
    (folder / "run.yaml").unlink()
    assert secrets_of(load(folder)).unread == "it is not there"


def test_a_planted_key_is_in_no_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The key is in a call's arguments, a tool's description, the task, a note, the tokens and what was said of one
    episode.
    """
    folder = asyncio.run(played_run(tmp_path, LIBRARY))
    plant(folder)
    with (folder / "run.yaml").open("a") as file:
        file.write("note: ${oc.env:PLANTED_KEY}\n")
    monkeypatch.setenv("PLANTED_KEY", KEY)
    redaction = Redaction.of([], secrets_of(load(folder)))
    had, left_out = set(), set()
    for name in FORM.ours:
        given = {"min_reward": -1} if name == "sft" else {}
        had |= {name} if is_planted(written(folder, tmp_path / "out", name, given)[0]) else set()
        lines, counts = written(folder, tmp_path / "out", name, given, redaction=redaction)
        assert not is_planted(lines), name
        left_out |= {name} if counts.left_out[SPELLED] else set()
    assert had == set(FORM.ours), "it is there without the redaction"
    assert left_out == {"openenv", "rollouts", "trl-tokens"}, "the tokens would spell the key"


def is_planted(lines: list[dict[str, Any]]) -> bool:
    """Says whether the key is in lines, as text or as the bytes that the tokens of these runs are."""
    spelled = ",".join(map(str, b"planted"))
    text = json.dumps(lines, separators=(",", ":"))
    return "planted" in text or spelled in text


def plant(folder: Path) -> None:
    part = sorted((folder / "episodes").glob("*.parquet"))[0]
    rows = pq.read_table(part).to_pylist()
    row = next(one for one in rows if one["reward"] == 1.0)
    for event in row["events"]:
        if event["kind"] == "message" and event["tool_calls"]:
            event["tool_calls"][0]["arguments"] = json.dumps({"page": 1, "key": KEY})
        if event["kind"] == "opening":
            event["content"][0]["text"] += KEY
    other = next(one for one in rows if one["group_id"] == row["group_id"] and one is not row)
    other |= {"status": "completed", "reward": 0.0, "events": copy.deepcopy(row["events"])}
    [*_, last] = [event for event in other["events"] if event["kind"] == "message"]
    last["content"] = [{"type": "text", "text": "I can't."}]
    row["task"] = json.dumps({"title": KEY})
    row["samples"][0]["token_ids"][6:13] = b"planted"
    Notes(load(folder).storage).write(row["episode_id"], Note(remark=f"It says {KEY}."))
    shown = json.loads(row["tools_shown"])
    shown["policy"][0]["function"]["description"] = f"Needs {KEY}."
    row["tools_shown"] = json.dumps(shown)
    pq.write_table(pq.read_table(part).from_pylist(rows, schema=pq.read_schema(part)), part)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("(", "'\\(' is no regular expression"),
        ("a*", "matches the empty text"),
        ("password=.+", "there is no column 'password'.*'\\(password=.\\+\\)'"),
    ],
)
def test_patterns_that_would_redact_nothing_or_everything_are_refused(given: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        Redaction.of([given], NONE)


def test_a_pattern_leaves_out_the_samples_that_spell_it(tmp_path: Path) -> None:
    folder = asyncio.run(played_run(tmp_path, LIBRARY))
    titles = {row["episode_id"]: json.loads(row["task"])["title"] for row in rows_of(folder)}
    out = tmp_path / "out.jsonl"
    counts = export(load(folder), Rollouts(), out, redaction=Redaction.of(["events=book_1"], NONE))
    written = {one["env_extras"]["episode_id"] for line in lines_of(out) for one in line["completions"]}
    assert written == {episode for episode, title in titles.items() if title != "book_1"}
    assert counts.left_out[SPELLED] == 2


@pytest.mark.parametrize("name", ["messages", "trl-sft", "verl-sft", "sharegpt"])
def test_roles_stay_where_a_pattern_is_a_role(tmp_path: Path, name: str) -> None:
    folder = asyncio.run(played_run(tmp_path, LIBRARY))
    as_they_are, _ = written(folder, tmp_path / "out", name)
    lines, _ = written(folder, tmp_path / "out", name, redaction=Redaction.of(["user|Read", "assistant"], NONE))
    text = json.dumps(lines)
    assert "Read" not in text and "[redacted]" in text and len(lines) == len(as_they_are)
    assert json.loads(json.dumps(as_they_are).replace("Read", "[redacted]")) == lines


@pytest.mark.parametrize(
    ("patterns", "told"),
    [
        (["[0-9]"], {"card": REDACTED, "ok": False, "name": "Ada", "lines": ["x"]}),
        (["a"], {"c[redacted]rd": 4111, "ok": False, "n[redacted]me": "Ad[redacted]", "lines": ["x"]}),
        (["[0-9]", "l"], {"card": REDACTED, "ok": False, "name": "Ada", "[redacted]ines": ["x"]}),
        (["4111"], {"card": REDACTED, "ok": False, "name": "Ada", "lines": ["x"]}),
    ],
)
def test_json_stays_json_and_its_numbers_are_redacted(patterns: list[str], told: dict[str, Any]) -> None:
    arguments = json.dumps({"card": 4111, "ok": False, "name": "Ada", "lines": ["x"]})
    assert json.loads(Redaction.of(patterns, NONE).row({"task": arguments})["task"]) == told
