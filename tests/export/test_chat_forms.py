"""Checks forms of conversations and pairs: each holds what the participant saw, tools and reasoning included."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from small_runs import FAR_LIBRARY, GAMES, LIBRARY, QUESTIONS, as_version_1, played_run, rows_of
from written_forms import rows_in, written

from ray_gym import Environment, Episode, Message, Opening, Task
from ray_gym.errors import UserError
from ray_gym.export import parquet
from ray_gym.export.chats import View
from ray_gym.export.conversation import CUT, SILENT, conversation, conversation_in_two
from ray_gym.export.hugging_face import NOT_OWN, TOOLS_UNSEEN
from ray_gym.export.pairs import CUT_CHOSEN, PairOptions, pairs_of
from ray_gym.export.selection import Counts, LeftOut
from ray_gym.export.sharegpt import JOINED, LATER_SYSTEM, NOT_IN_TURNS, WORDS_BESIDE_CALLS, Sharegpt
from ray_gym.export.verl import WITH_TOOLS, VerlSft
from ray_gym.messages import tool_call_message
from ray_gym.models.base import CompletionRequest

Line = dict[str, Any]
CHATS = ("messages", "sharegpt", "trl-sft", "openrlhf-sft", "verl-sft")


class Judged(Environment[Task, None]):
    """Asks its judge once."""

    auxiliary = ("judge",)

    def generate(self, rng: random.Random, index: int) -> Task:
        return Task(task_id=str(index))

    def setup(self, task: Task, episode: Episode) -> None:
        return None

    def opening(self, task: Task, state: None) -> Opening:
        return Opening(messages={"policy": "Choose."})

    async def score(self, state: None, episode: Episode) -> float:
        await episode.ask("judge", "Was it good?")
        return 1.0


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return asyncio.run(played_run(tmp_path_factory.mktemp("games"), GAMES))


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return asyncio.run(played_run(tmp_path_factory.mktemp("questions"), QUESTIONS))


def seen(run: Path, participant: str = "policy", arguments_as: Any = "object") -> dict[str, list[Line]]:
    """Returns the conversation of each episode of a run, by its id."""
    return {row["episode_id"]: conversation(row["events"], participant, arguments_as) for row in rows_of(run)}


@pytest.mark.parametrize("name", CHATS)
def test_each_completed_episode_is_a_line_with_its_ids(games: Path, tmp_path: Path, name: str) -> None:
    lines, counts = written(games, tmp_path / "out", name, {"strict": False} if name == "sharegpt" else {})
    rows = {row["episode_id"]: row for row in rows_of(games)}
    assert [line["episode_id"] for line in lines] == list(rows) and counts.written == 24
    for line in lines:
        row = rows[line["episode_id"]]
        assert all(line[column] == row[column] for column in ("group_id", "task_id", "reward"))
        assert line["participant"] == "policy"


def with_cut_answers(run: Path, copy: Path, reason: str) -> Path:
    """Copies a run, in which a limit or a filter now has cut the last answer of each policy."""
    copied = Path(shutil.copytree(run, copy))
    for part in (copied / "episodes").glob("*.parquet"):
        table = pq.read_table(part)
        rows = table.to_pylist()
        for row in rows:
            [event for event in row["events"] if event["thread"] == "policy"][-1]["finish_reason"] = reason
        pq.write_table(table.from_pylist(rows, schema=table.schema), part)
    return copied


@pytest.mark.parametrize("reason", ["length", "context_full", "content_filter", "stop"])
def test_cut_answers_are_noted(questions: Path, tmp_path: Path, reason: str) -> None:
    run = with_cut_answers(questions, tmp_path / "run", reason)
    forms = dict.fromkeys((*CHATS, "sft"), CUT)
    for name, note in {**forms, "trl-preference": CUT_CHOSEN, "preference": CUT_CHOSEN}.items():
        _, counts = written(run, tmp_path / name, name, {"min_reward": 0.0} if name == "sft" else {})
        assert counts.written and counts.notes[note] == (0 if reason == "stop" else counts.written), name


@pytest.mark.parametrize("participant", ["policy", "user"])
def test_messages_are_those_of_the_participant_with_arguments_as_text(
    games: Path, tmp_path: Path, participant: str
) -> None:
    lines, _ = written(games, tmp_path / "out", "messages", {"participant": participant})
    view = seen(games, participant, "text")
    for line in lines:
        assert line["messages"] == view[line["episode_id"]]
        calls = [call for message in line["messages"] for call in message.get("tool_calls", ())]
        assert calls and all(json.loads(call["function"]["arguments"]) for call in calls)
        assert line["tools"][0]["function"]["name"] == "make_move"
    rewards = {row["episode_id"]: row for row in rows_of(games)}
    if participant == "user":
        other = {(one["participant"], one["name"]): one["value"] for one in rewards[lines[0]["episode_id"]]["rewards"]}
        assert lines[0]["reward"] == other.get(("user", "reward"))
    assert written(games, tmp_path / "out", "messages", {"no_tools": True})[0][0].get("tools") is None


def test_a_participant_that_nobody_is_gives_no_line(games: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"--participant: 'nobody' has no conversation in .*; there are: policy, user"):
        written(games, tmp_path / "out", "messages", {"participant": "nobody"})


def test_a_participant_without_a_conversation_is_no_misspelt_name(tmp_path: Path) -> None:
    sections = {**QUESTIONS, "environment": {"id": "test_chat_forms:Judged"}, "tasks": {"generate": 2}}
    sections["participants"] = {"policy": {"model": "guesser"}, "judge": {"model": "guesser"}}
    run = asyncio.run(played_run(tmp_path / "run", sections))
    assert any(event["thread"] == "judge/1" for row in rows_of(run) for event in row["events"])
    with pytest.raises(UserError, match="nothing was written: conversations without a word of the participant's own"):
        written(run, tmp_path / "out", "messages", {"participant": "judge"})
    with pytest.raises(UserError, match=r"'judges' has no conversation in .*; there are: policy$"):
        written(run, tmp_path / "out", "messages", {"participant": "judges"})


@pytest.mark.parametrize("run", ["games", "questions"])
def test_a_prompt_and_its_completion_are_the_conversation(
    run: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(run)
    view = seen(folder)
    lines, _ = written(folder, tmp_path / "trl", "trl-sft")
    for line in lines:
        assert line["prompt"] + line["completion"] == view[line["episode_id"]]
        assert line["completion"][0]["role"] == "assistant"
        assert not any(message["role"] == "assistant" for message in line["prompt"])
        assert bool(line["tools"]) == (run == "games")
    others, counts = written(folder, tmp_path / "openrlhf", "openrlhf-sft")
    assert [line["messages"] for line in others] == [line["prompt"] + line["completion"] for line in lines]
    assert counts.notes[TOOLS_UNSEEN] == (24 if run == "games" else 0)


def test_words_of_the_assistant_that_a_task_brought_are_the_prompts() -> None:
    said = [
        ("opening", "user", "a"),
        ("opening", "assistant", "b"),
        ("opening", "user", "c"),
        ("message", "assistant", "d"),
    ]
    events = [
        {"kind": kind, "role": role, "content": [{"text": text}], "thread": "policy", "reasoning": None}
        | {"tool_calls": [], "tool_call_id": None, "visible_to": ["policy"]}
        for kind, role, text in said
    ]
    messages, begins = conversation_in_two(events, "policy", "object")
    assert [message["content"] for message in messages] == ["a", "b", "c", "d"] and begins == 3


def heard(*said: tuple[str, str, str], calls: bool = False) -> list[Line]:
    """Returns events of a thread, by their kind, role and text; with a call in the last of them if `calls`."""
    events: list[Line] = [
        {"kind": kind, "role": role, "content": [{"text": text}], "thread": "policy", "reasoning": "I think."}
        | {"tool_calls": [], "tool_call_id": None, "visible_to": ["policy"]}
        for kind, role, text in said
    ]
    events[-1]["tool_calls"] = [{"id": "1", "name": "look", "arguments": "{}"}] * calls
    return events


@pytest.mark.parametrize("blank", ["", "  \n", "\u200b"])
def test_a_conversation_in_which_the_participant_says_nothing_is_left_out(blank: str) -> None:
    asked, silent = ("opening", "user", "a"), ("message", "assistant", blank)
    with pytest.raises(LeftOut, match=SILENT):
        conversation(heard(asked, silent, asked, silent), "policy", "object")
    assert len(conversation(heard(asked, silent, asked, ("message", "assistant", "b")), "policy", "object")) == 4
    assert len(conversation(heard(asked, silent, calls=True), "policy", "object")) == 2


@pytest.mark.parametrize("blank", ["", "  \n", "\u200b"])
def test_the_worse_side_of_a_pair_may_be_blank(blank: str) -> None:
    asked, right, silent = ("opening", "user", "a"), ("message", "assistant", "b"), ("message", "assistant", blank)

    def row(reward: float, *said: tuple[str, str, str]) -> Line:
        return {"status": "completed", "reward": reward, "events": heard(asked, *said)}

    counts = Counts()
    (pair,) = pairs_of([row(0.0, silent), row(1.0, right)], PairOptions(), "object", counts)
    assert (pair.chosen[0]["content"], pair.rejected[0]["content"]) == ("b", blank)
    assert not list(pairs_of([row(0.0, right), row(1.0, silent)], PairOptions(), "object", counts))
    assert not list(pairs_of([row(0.0), row(1.0, right)], PairOptions(), "object", counts))
    assert counts.left_out == {SILENT: 2}


def test_messages_for_verl_are_structs_and_tools_json(games: Path, questions: Path, tmp_path: Path) -> None:
    lines, counts = written(games, tmp_path / "out.parquet", "verl-sft")
    view = seen(games, "policy", "text")
    for line in lines:
        found = [{key: value for key, value in message.items() if value is not None} for message in line["messages"]]
        assert found == view[line["episode_id"]]
        assert line["tools_json"][0]["function"]["name"] == "make_move"
    assert counts.notes[WITH_TOOLS] == 24
    [first, *_], counts = written(questions, tmp_path / "out.parquet", "verl-sft")
    assert first["messages"][-1]["reasoning_content"] == "I guess." and not +counts.notes


def test_pairs_for_hugging_face_are_those_for_nemo_rl(games: Path, tmp_path: Path) -> None:
    every, _ = written(games, tmp_path / "nemo", "preference")
    own = ["assistant", "assistant"]
    expected = [line for line in every if [one["completion"][0]["role"] for one in line["completions"]] == own]
    assert 0 < len(expected) < len(every), "some part at words of the opponent's"
    for name, sides in (
        ("trl-preference", ["prompt", "chosen", "rejected"]),
        ("openrlhf-preference", ["context", "better", "worse"]),
    ):
        lines, counts = written(games, tmp_path / name, name)
        assert len(lines) == len(expected) and counts.left_out[NOT_OWN] == len(every) - len(expected)
        for line, of in zip(lines, expected, strict=True):
            whole = [of["context"], *(one["completion"] for one in of["completions"])]
            assert [line[side] for side in sides] == [with_objects(messages) for messages in whole]
            assert all(line[key] == of[key] for key in ("episode_ids", "rewards", "group_id", "task_id"))
            assert ("tools" in line) == (name == "trl-preference")


def with_objects(messages: list[Line]) -> list[Line]:
    """Returns messages with the arguments of calls as objects."""
    copied = json.loads(json.dumps(messages))
    for call in (call for message in copied for call in message.get("tool_calls", ())):
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return copied


def test_turns_of_sharegpt_are_the_conversation(games: Path, tmp_path: Path) -> None:
    lines, _ = written(games, tmp_path / "out", "sharegpt", {"strict": False})
    views = seen(games)
    for line in lines:
        view = views[line["episode_id"]]
        turns = line["conversations"]
        assert turns[0]["from"] == "human" and turns[-1]["from"] in ("gpt", "function_call")
        calls = [json.loads(turn["value"]) for turn in turns if turn["from"] == "function_call"]
        assert calls == [
            {key: call["function"][key] for key in ("name", "arguments")}
            for message in view
            for call in message.get("tool_calls", ())
        ]
        assert line["system"] == (view[0]["content"] if view[0]["role"] == "system" else "")
        assert json.loads(line["tools"])[0]["name"] == "make_move"


def test_a_user_who_speaks_after_a_tool_is_left_out_by_default(games: Path, tmp_path: Path) -> None:
    lines, counts = written(games, tmp_path / "out", "sharegpt")
    assert counts.left_out == {NOT_IN_TURNS: 24 - len(lines)} and len(lines) < 12


def turns(*messages: Line) -> tuple[list[tuple[str, str]], Counts]:
    counts = Counts()
    fields = Sharegpt("policy", None).fields(View(list(messages), 1, []), counts)
    return [(turn["from"], turn["value"]) for turn in fields["conversations"]], counts


def message(role: str, content: str = "", **more: Any) -> Line:
    return {"role": role, "content": content, **more}


def call(name: str, **arguments: Any) -> Line:
    return {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}


def test_parallel_calls_their_results_and_reasoning_have_their_place() -> None:
    both = message("assistant", tool_calls=[call("a", x=1), call("b")], reasoning_content="Both.")
    found, counts = turns(
        *(message("user", "one"), message("user", "two"), both, message("tool", "1"), message("tool", "2")),
        message("assistant", "Done.", reasoning_content="So."),
    )
    assert found == [
        ("human", "one\n\ntwo"),
        (
            "function_call",
            '<think>\nBoth.\n</think>\n\n[{"name": "a", "arguments": {"x": 1}}, {"name": "b", "arguments": {}}]',
        ),
        ("observation", "1\n</tool_response>\n<tool_response>\n2"),
        ("gpt", "<think>\nSo.\n</think>\n\nDone."),
    ]
    assert counts.notes[JOINED] == 1


@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ([message("user"), message("assistant", "I call.", tool_calls=[call("a")])], WORDS_BESIDE_CALLS),
        ([message("assistant", "Hello."), message("user"), message("assistant")], NOT_IN_TURNS),
        ([message("user"), message("assistant"), message("assistant")], NOT_IN_TURNS),
        ([message("user"), message("assistant"), message("system"), message("assistant")], LATER_SYSTEM),
        (
            [
                message("user"),
                message("assistant", tool_calls=[call("a")]),
                message("tool"),
                message("user"),
                message("assistant"),
            ],
            NOT_IN_TURNS,
        ),
    ],
)
def test_what_sharegpt_can_not_hold_is_left_out(messages: list[Line], reason: str) -> None:
    with pytest.raises(LeftOut, match=f"^{reason}$"):
        turns(*messages)


def strange(request: CompletionRequest, rng: random.Random) -> Message:
    """Calls with what JSON and UTF-8 can't spell, one after the other."""
    if request.messages[-1].role == "tool":
        return Message("assistant", "Read.")
    (schema,) = request.tools
    return tool_call_message(schema.name, rng.choice(['{"page": 1, "mark": "\\ud800"}', '{"page": NaN}']))


@pytest.mark.parametrize("name", CHATS)
def test_lone_surrogates_are_written_and_numbers_that_json_lacks_are_not(tmp_path: Path, name: str) -> None:
    players = {"reader": {"engine": "scripted", "player": "test_chat_forms:strange"}}
    run = asyncio.run(played_run(tmp_path, {**LIBRARY, "models": players}))
    lines, counts = written(run, tmp_path / "out", name)
    assert 0 < len(lines) < 6 and len(lines) + sum(counts.left_out.values()) == 6
    assert "ud800" in json.dumps(lines)


def test_tools_of_others_are_not_asked_of_an_environment(tmp_path: Path) -> None:
    run = asyncio.run(played_run(tmp_path, GAMES))
    as_version_1(run)
    with pytest.raises(UserError, match=r"has no tools of 'user'; --no-tools"):
        written(run, tmp_path / "out", "messages", {"participant": "user"})
    assert len(written(run, tmp_path / "out", "messages", {"participant": "user", "no_tools": True})[0]) == 24


def test_tools_of_any_shape_are_in_one_file(tmp_path: Path) -> None:
    run = asyncio.run(played_run(tmp_path, FAR_LIBRARY))
    lines, _ = written(run, tmp_path / "out.parquet", "trl-sft")
    assert len({json.dumps(line["tools"]) for line in lines}) > 1


def test_parquet_is_written_by_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "BYTES_IN_GROUP", 4_000)
    line = {"messages": [{"role": "user", "content": "x" * 50}], "tools_json": [], "reward": 1.0}
    taken: list[int] = []

    def lines() -> Iterator[Line]:
        for number in range(600):
            taken.append((tmp_path / "out.parquet").stat().st_size)
            yield {**line, "episode_id": str(number)}

    with (tmp_path / "out.parquet").open("wb", buffering=0) as file:
        parquet.write_parquet(file, VerlSft.schema, lines())
    assert pq.ParquetFile(tmp_path / "out.parquet").num_row_groups > 5
    assert 0 < taken[300] < taken[-1], "what was taken is written before the next is"
    assert [row["episode_id"] for row in rows_in(tmp_path / "out.parquet")] == [str(number) for number in range(600)]
