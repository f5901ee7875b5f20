"""Writes a played episode to Parquet and reads it back, without any loss."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playing import Alone, Game, Talk, calls, play_script, with_tokens

from ray_gym import Episode, Message, Opening, Participant, Score, Task, ToolCall, ToolError, Turn, tool
from ray_gym.engines.openai_wire import request_body
from ray_gym.errors import UserError
from ray_gym.events import Event
from ray_gym.load import load
from ray_gym.record import rows as record
from ray_gym.record.schema import SCHEMA, VOLATILE_COLUMNS, without_volatile
from ray_gym.run.directory.reading import _flat


class Desk(Talk):
    @tool()
    def look_up(self, state: Any, caller: Participant, word: str) -> str:
        return f"it means {word}"

    def score(self, state: Any, episode: Episode) -> Score:
        return Score(0.75, parts={"right": 1.0, "short": -0.25}, others={"user": 0.5})


async def talk(seed: int = 0) -> Game:
    first = with_tokens("", [1, 2, 3], [4, 5], cached_tokens=seed)
    first.message = Message("assistant", "", "I look it up.", calls("look_up", word="x").tool_calls)
    policy = [
        first,
        with_tokens("It is x.", [6], [7]),
        with_tokens("Bye.", [1, 9], [8], fork_reason="template_rewrote_history"),
    ]
    return await play_script(
        Desk(), policy, ["And y?", "Bye."], task=Task(task_id="t"), seed=seed, limits={"max_turns": 2}
    )


async def quiet() -> Game:
    return await play_script(Alone(), ["42"], seed=9)


async def broken() -> Game:
    return await play_script(Alone(), [], seed=8)


def table_of(*games: Game, run_id: str = "run") -> pa.Table:
    played = [game.played for game in games]
    return record.table_of(played, [record.facts_of(one, run_id, "desk") for one in played])


async def test_a_row_says_what_happened() -> None:
    game = await talk()
    (row,) = table_of(game).to_pylist()
    assert {
        name: row[name] for name in ("run_id", "episode_id", "task_id", "group_id", "env_id", "status", "stop_reason")
    } == {
        "run_id": "run",
        "episode_id": "episode-0",
        "task_id": "task",
        "group_id": "group",
        "env_id": "desk",
        "status": "completed",
        "stop_reason": "max_turns",
    }
    assert json.loads(row["task"])["task_id"] == "t"
    assert (row["reward"], row["turns"], row["failure"]) == (0.75, 2, None)
    assert row["rewards"] == [
        {"participant": "policy", "name": "reward", "value": 0.75},
        {"participant": "policy", "name": "right", "value": 1.0},
        {"participant": "policy", "name": "short", "value": -0.25},
        {"participant": "user", "name": "reward", "value": 0.5},
    ]
    events = row["events"]
    assert [event["seq"] for event in events] == list(range(len(events)))
    kinds = [event["kind"] for event in events]
    assert kinds == ["opening", "message", "tool_result", "message", "message", "message", "message", "stop"]
    assert events[1]["reasoning"] == "I look it up." and events[1]["content"] == []
    assert events[1]["tool_calls"] == [{"id": "call_look_up", "name": "look_up", "arguments": '{"word": "x"}'}]
    assert (
        events[2]["content"] == [{"type": "text", "text": "it means x"}] and events[2]["tool_call_id"] == "call_look_up"
    )
    assert [(event["turn"], event["step"]) for event in events[1:4]] == [(0, 0), (0, 0), (0, 1)]
    assert (
        row["usage"]["model_calls"] == 5 and row["usage"]["tool_calls"] == 1 and row["usage"]["generated_tokens"] == 4
    )
    assert row["timing"]["active_s"] >= row["timing"]["model_s"] >= 0 and row["ended_at"] >= row["started_at"]


def test_an_event_has_the_fields_that_its_columns_name() -> None:
    """A field without a column of its name would be left out."""
    assert set(Event.__struct_fields__) == set(SCHEMA.field("events").type.value_type.names)


@pytest.mark.parametrize("column", ["role", "error", "reasoning", "tool_call_id"])
@pytest.mark.parametrize("value", [0, 1, False, 0.0, b"x", ()])
async def test_what_is_no_text_is_refused(column: str, value: object) -> None:
    game = await quiet()
    setattr(game.episode.events[-1], column, value)
    with pytest.raises(TypeError, match="expected text"):
        table_of(game)


async def test_samples_hold_exact_tokens_and_lead_to_their_events() -> None:
    (row,) = table_of(await talk()).to_pylist()
    first, second = row["samples"]
    assert (first["token_ids"], first["loss_mask"]) == ([1, 2, 3, 4, 5, 6, 7], [0, 0, 0, 1, 1, 0, 1])
    assert first["logprobs"] == [0, 0, 0, -0.5, -0.5, 0, -0.5]
    assert first["versions"] == [{"version": 7, "start": 3, "end": 5}, {"version": 7, "start": 6, "end": 7}]
    assert (second["token_ids"], second["fork_reason"]) == ([1, 9, 8], "template_rewrote_history")
    assert [(s["participant"], s["trainable"], s["reward"]) for s in row["samples"]] == [("policy", True, 0.75)] * 2
    texts = {event["seq"]: event["kind"] for event in row["events"]}
    for span in first["spans"]:
        if span["generated"]:
            assert texts[span["event_seq"]] == "message" and span["kind"] == "plain"
            assert span["sampling"]["temperature"] == 1.0
        else:
            assert span["sampling"] is None and span["kind"] is None


async def test_a_failed_episode_is_a_row_without_a_reward() -> None:
    (row,) = table_of(await broken()).to_pylist()
    assert (row["status"], row["stop_reason"], row["reward"], row["rewards"]) == ("failed", "failed", None, [])
    assert row["failure"]["kind"] == "environment" and "once more" in row["failure"]["message"]


async def test_what_was_written_is_loaded(tmp_path: Path) -> None:
    games = [await talk(), await quiet(), await talk(1)]
    (tmp_path / "episodes").mkdir()
    table = table_of(*games)
    pq.write_table(table.slice(0, 2), tmp_path / "episodes" / "a.parquet")
    pq.write_table(table.slice(2), tmp_path / "episodes" / "b.parquet")
    run = load(tmp_path)
    assert run.episodes.schema.equals(SCHEMA) and run.episodes.to_pylist() == table.to_pylist()
    samples = run.samples.to_pylist()
    assert [sample["episode_id"] for sample in samples] == ["episode-0", "episode-0", "episode-1", "episode-1"]
    assert [sample["token_ids"] for sample in samples] == [[1, 2, 3, 4, 5, 6, 7], [1, 9, 8]] * 2
    for sample, row in zip(samples[::2], (run.episodes.to_pylist()[n] for n in (0, 2)), strict=True):
        assert row["samples"][0] == {name: sample[name] for name in row["samples"][0]}


async def test_samples_are_views_of_what_was_read_without_padding() -> None:
    batch = table_of(await talk(), await quiet(), await talk(1)).combine_chunks().to_batches()[0]
    flat = _flat(batch)
    nested = batch.column("samples").flatten()
    for name in ("token_ids", "loss_mask", "logprobs"):
        read = nested.field(name)
        assert flat.column(name).values.buffers()[1].address == read.values.buffers()[1].address
        assert len(flat.column(name).values) == 2 * (7 + 3)
    tokens = flat.column("token_ids")
    assert tokens.values.to_numpy(zero_copy_only=True)[tokens.offsets[1].as_py() :][:3].tolist() == [1, 9, 8]
    part = _flat(batch.slice(2, 1))
    assert part.column("episode_id").to_pylist() == ["episode-1"] * 2 and part.column("token_ids")[1].as_py() == [
        1,
        9,
        8,
    ]


def test_the_name_of_the_package_loads_a_run(tmp_path: Path) -> None:
    import ray_gym

    (tmp_path / "episodes").mkdir()
    assert ray_gym.load(tmp_path).episodes.num_rows == 0  # type: ignore[operator]


async def test_runs_without_episodes_or_samples_are_empty_tables(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no run directory"):
        load(tmp_path)
    (tmp_path / "episodes").mkdir()
    assert load(tmp_path).episodes.num_rows == 0 and load(tmp_path).samples.num_rows == 0
    pq.write_table(table_of(await quiet()), tmp_path / "episodes" / "a.parquet")
    assert load(tmp_path).episodes.num_rows == 1 and load(tmp_path).samples.num_rows == 0
    assert "token_ids" in load(tmp_path).samples.column_names


async def test_two_plays_differ_in_volatile_columns_only() -> None:
    one, other = await talk(), await talk()
    other.episode.usage.cached_tokens = 77
    (first,), (second,) = table_of(one).to_pylist(), table_of(other, run_id="other").to_pylist()
    assert first != second and without_volatile(first) == without_volatile(second)
    assert without_volatile(first) != without_volatile(table_of(await talk(1)).to_pylist()[0])


async def test_only_volatile_columns_are_left_out() -> None:
    (row,) = table_of(await talk()).to_pylist()
    kept = without_volatile(row)
    assert set(row) - set(kept) == {name for name in VOLATILE_COLUMNS if "." not in name}
    assert set(row["events"][0]) - set(kept["events"][0]) == {"started_at", "duration_s"}
    assert set(row["usage"]) - set(kept["usage"]) == {"cached_tokens"}


def test_a_result_names_the_call_that_the_record_has() -> None:
    called = Message("assistant", tool_calls=(ToolCall("c\ud83d", "f", ""),)).encodable()
    assert Message("tool", "4", tool_call_id="c\ud83d").encodable().tool_call_id == called.tool_calls[0].id == "c?"


async def test_text_that_is_no_valid_unicode_spoils_no_file() -> None:
    """An endpoint's JSON may hold a lone surrogate; the other rows of the file must not be lost with it."""
    game = await play_script(Alone(), ["42 \ud83d"])
    rows = table_of(game, await quiet()).to_pylist()
    assert [row["status"] for row in rows] == ["completed", "completed"]
    assert rows[0]["events"][1]["content"][0]["text"].startswith("42 ")


class TellsHalfACharacter(Talk):
    """Each of its texts has half a surrogate pair, as names of files may."""

    def opening(self, task: Task, state: dict[str, Any]) -> Opening:
        return Opening(system={"policy": "Be kind \ud83d"}, messages={"policy": "Go \ud83d"})

    @tool()
    def look(self, state: dict[str, Any], caller: Participant) -> str:
        raise ToolError("no file \udc80")

    def relay(self, state: dict[str, Any], episode: Episode, turn: Turn, listener: Participant) -> str:
        return f"{turn.text} \ud83d"


async def test_models_are_told_what_the_record_has_of_half_a_character() -> None:
    script = [calls("look"), calls("look\udc80"), "Bye \ud83d", "Bye"]
    game = await play_script(TellsHalfACharacter(), script, ["Well", "Bye"], limits={"max_turns": 2})
    assert game.played.failure is None
    sent = [request_body(one, "m", False, {}) for model in game.models.values() for one in model.requests]
    for body in sent:
        json.dumps(body, ensure_ascii=False).encode()  # UTF-8 has no half of a pair
    told = [text for model in game.models.values() for _, text in model.seen()]
    assert {"Be kind ?", "Go ?", "Bye ? ?", "Well ?"} <= set(told) and any("no file ?" in text for text in told)
    recorded = [event["content"][0]["text"] for event in table_of(game).to_pylist()[0]["events"] if event["content"]]
    assert set(filter(None, told)) <= set(recorded)


@pytest.mark.parametrize("column", ["role", "error", "reasoning", "tool_call_id"])
async def test_lone_surrogates_are_replaced_wherever_an_author_can_put_them(column: str) -> None:
    game = await quiet()
    setattr(game.episode.events[-1], column, "user\ud83d")
    assert record.row_of(game.played, "run", "desk")["events"][-1][column] == "user?"
