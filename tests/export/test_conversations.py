"""Checks conversations as chat messages: exactly what the policy was shown and said, with the tools of its prompts."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from nemo_rl_forms import check_openai_format
from small_runs import (
    FAR_LIBRARY,
    GAMES,
    LIBRARY,
    QUESTIONS,
    as_version_1,
    lines_of,
    played_run,
    rendered,
    rows_of,
    texts,
)

from ray_gym import Message, ToolCall
from ray_gym.errors import UserError
from ray_gym.export.conversation import MALFORMED, NAMELESS, chat_message
from ray_gym.export.selection import LeftOut
from ray_gym.export.sft import Sft
from ray_gym.export.tools_shown import ToolsShown
from ray_gym.export.writing import export
from ray_gym.load import load
from ray_gym.plugins import find_environment
from ray_gym.record.schema import VERSION

Line = dict[str, Any]


async def exported(
    folder: Path, config: Line, min_reward: float = 0.0, version: int = VERSION
) -> tuple[Path, list[Line], Any]:
    run = await played_run(folder, config)
    if version == 1:
        as_version_1(run)
    with_tools = load(run)
    counts = await in_thread(lambda: write(with_tools, min_reward, folder / "out.jsonl"))
    lines = lines_of(folder / "out.jsonl")
    for line in lines:
        check_openai_format(line)
    return run, lines, counts


def write(run: Any, min_reward: float, out: Path) -> Any:
    with ToolsShown(run) as tools:
        return export(run, Sft(min_reward, tools), out)


async def in_thread(call: Any) -> Any:
    """The command has no event loop around it; a test's thread has."""
    return await asyncio.to_thread(call)


def as_message(given: Line) -> Message:
    calls = [(call["id"], call["function"]) for call in given.get("tool_calls", ())]
    called = tuple(ToolCall(id, one["name"], json_as_the_player_wrote_it(one["arguments"])) for id, one in calls)
    return Message(given["role"], given["content"], None, called)


def json_as_the_player_wrote_it(arguments: Line) -> str:
    return json.dumps(arguments, separators=(",", ":"))


async def test_the_messages_are_those_that_the_tokens_spell(tmp_path: Path) -> None:
    run, lines, counts = await exported(tmp_path, GAMES)
    assert len(lines) == counts.written == 24
    shown = {row["episode_id"]: row["samples"][0] for row in rows_of(run)}
    for line in lines:
        text = "".join(rendered(as_message(message)) for message in line["messages"])
        assert texts(shown[line["episode_id"]]["token_ids"]) == text


@pytest.mark.parametrize("version", [1, VERSION])
async def test_tools_are_those_of_the_policy(tmp_path: Path, version: int) -> None:
    _, lines, _ = await exported(tmp_path, GAMES, version=version)
    schema = find_environment("tic_tac_toe").tools["make_move"].schema
    assert all(line["tools"] == [schema.as_openai()] for line in lines)


async def test_a_policy_that_is_shown_no_tools_has_none(tmp_path: Path) -> None:
    deaf = {"policy": {"model": "random", "tool_choice": "none"}, "user": GAMES["participants"]["user"]}
    _, lines, _ = await exported(tmp_path, {**GAMES, "participants": deaf})
    assert lines and not any("tools" in line for line in lines)


async def test_reasoning_is_kept_beside_the_words(tmp_path: Path) -> None:
    _, lines, _ = await exported(tmp_path, QUESTIONS)
    assert all(line["messages"][-1]["reasoning_content"] == "I guess." for line in lines)


@pytest.mark.parametrize("version", [1, VERSION])
async def test_tools_that_a_task_brings_are_told_and_malformed_calls_left_out(tmp_path: Path, version: int) -> None:
    """The tools come from the record, or from the task, set up again, where the record doesn't hold them."""
    _, lines, counts = await exported(tmp_path, LIBRARY, version=version)
    assert counts.left_out[MALFORMED] + len(lines) == 6 and 0 < len(lines) < 6
    for line in lines:
        (tool,) = line["tools"]
        assert line["messages"][0]["content"] == f"Read {tool['function']['name']}."


UNREAD = '{"id": "q", "function": {"name": null, "arguments": "{}"}}'


@pytest.mark.parametrize(
    ("name", "arguments", "left_out"),
    [
        ("", UNREAD, NAMELESS),
        ("", "{}", NAMELESS),
        ("", "look(", NAMELESS),
        ("look", "look(", MALFORMED),
        ("look", "[]", MALFORMED),
        ("look", "{}", None),
        ("look", "", None),
        ("look", "null", None),
        ("look", " ", None),
    ],
)
def test_a_call_that_could_not_be_read_is_no_training_data(name: str, arguments: str, left_out: str | None) -> None:
    calls = [{"id": "q", "name": name, "arguments": arguments}]
    event = {"role": "assistant", "content": [], "reasoning": None, "tool_calls": calls, "tool_call_id": None}
    assert chat_message(event, "said")["tool_calls"][0]["function"] == {"name": name, "arguments": arguments}
    if left_out is None:
        assert chat_message(event, "object")["tool_calls"][0]["function"] == {"name": "look", "arguments": {}}
        assert chat_message(event, "text")["tool_calls"][0]["function"] == {"name": "look", "arguments": "{}"}
        return
    for kind in ("object", "text"):
        with pytest.raises(LeftOut, match=left_out):
            chat_message(event, kind)


async def test_tools_from_outside_are_in_the_record(tmp_path: Path) -> None:
    _, lines, _ = await exported(tmp_path, FAR_LIBRARY)
    assert all(line["tools"][0]["function"]["name"].startswith("book_") for line in lines)


async def test_without_a_record_tools_from_outside_are_refused_and_can_be_left_out(tmp_path: Path) -> None:
    folder = await played_run(tmp_path, FAR_LIBRARY)
    as_version_1(folder)
    run = load(folder)
    with pytest.raises(UserError, match=r"come from outside.*--no-tools"):
        await in_thread(lambda: write(run, 0, tmp_path / "out.jsonl"))
    export(run, Sft(0, None), tmp_path / "out.jsonl")
    assert not any("tools" in line for line in lines_of(tmp_path / "out.jsonl"))


@pytest.mark.parametrize("min_reward", [0.5, 1.0])
async def test_only_good_episodes_are_taken(tmp_path: Path, min_reward: float) -> None:
    run, lines, counts = await exported(tmp_path, GAMES, min_reward)
    good = {row["episode_id"]: row["reward"] for row in rows_of(run) if row["reward"] >= min_reward}
    assert {line["episode_id"]: line["reward"] for line in lines} == good and 0 < len(good) < 24
    assert counts.left_out == {f"episodes with a reward below {min_reward:g}": 24 - len(good)}
