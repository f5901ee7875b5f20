"""Trainers' own readers read what is exported for them: they would train on the words that the policy said, and on no others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_runs import GAMES, LIBRARY, QUESTIONS, played_run, rows_of
from trainer_venvs import TrainerVenv
from written_forms import written

from ray_gym.export.conversation import conversation_in_two

pytestmark = [pytest.mark.trainers, pytest.mark.timeout(600)]
WITHIN_S = 300

Line = dict[str, Any]
Find = Callable[[str], TrainerVenv]


def own_words(message: Line) -> str:
    """Returns what the template of `tests/trainers/tool_template.py` makes of a message of the assistant."""
    thought = f"<think>{message['reasoning_content']}</think>" if "reasoning_content" in message else ""
    calls = (call["function"] for call in message.get("tool_calls", ()))
    called = "".join(f"[{call['name']} {json.dumps(call['arguments'])}]" for call in calls)
    return f"{thought}{message['content']}{called}<|im_end|>"


def rendered(messages: list[Line], tools: list[Line] | None = None) -> str:
    """Returns what that template makes of a conversation."""
    shown = f"<|im_start|>tools\n{json.dumps(tools)}<|im_end|>\n" if tools else ""
    for message in messages:
        said = own_words(message) if message["role"] == "assistant" else f"{message['content']}<|im_end|>"
        shown += f"<|im_start|>{message['role']}\n{said}\n"
    return shown


def expected(run: Path, tools: bool) -> list[dict[str, str]]:
    """Returns the text of each conversation of a run, and what the policy said in it."""
    found = []
    for row in rows_of(run):
        messages, begins = conversation_in_two(row["events"], "policy", "object")
        shown = json.loads(row["tools_shown"]).get("policy") if tools else None
        own = [own_words(message) for message in messages[begins:] if message["role"] == "assistant"]
        found.append({"text": rendered(messages, shown), "trained": "".join(own)})
    return found


def stripped(lines: list[dict[str, str]]) -> list[dict[str, str]]:
    """Returns lines without line breaks at the ends of texts, where trainers differ."""
    return [{name: text.rstrip("\n") for name, text in line.items()} for line in lines]


def sides(lines: list[Line], names: tuple[str, str, str] = ("prompt", "chosen", "rejected")) -> list[dict[str, str]]:
    """Returns the texts of pairs. `names`: columns of what is common, the better and the worse messages."""
    begin = "<|im_start|>assistant\n"
    return [
        {
            "prompt": rendered(line[names[0]], line.get("tools")) + begin,
            "chosen": rendered(line[names[1]]).removeprefix(begin),
            "rejected": rendered(line[names[2]]).removeprefix(begin),
        }
        for line in lines
    ]


async def test_trl_trains_on_conversations_tokens_and_pairs(in_venv_of: Find, tmp_path: Path) -> None:
    trl, run = in_venv_of("trl"), await played_run(tmp_path, GAMES, forks_at=1)
    files = [tmp_path / f"{name}.parquet" for name in ("sft", "tokens", "preference")]
    _, (tokens, _), (pairs, _) = (written(run, file, f"trl-{file.stem}") for file in files)
    found = trl.run("trl_scripts/read_exports.py", str(tmp_path), *map(str, files), within_s=WITHIN_S, cwd=tmp_path)
    assert found["sft"] == expected(run, tools=True)
    assert found["tokens"]["rows"] == [{name: line[name] for name in ("input_ids", "labels")} for line in tokens]
    assert 0 < found["tokens"]["loss"] < 10
    assert stripped(found["preference"]) == stripped(sides(pairs)) and pairs


async def test_openrlhf_reads_conversations_and_pairs(in_venv_of: Find, tmp_path: Path) -> None:
    openrlhf, run = in_venv_of("openrlhf"), await played_run(tmp_path, QUESTIONS)
    files = [tmp_path / f"{name}.parquet" for name in ("sft", "preference")]
    _, (pairs, _) = (written(run, file, f"openrlhf-{file.stem}") for file in files)
    arguments = [str(file) for file in files]
    found = openrlhf.run("openrlhf_scripts/read_exports.py", *arguments, within_s=WITHIN_S, cwd=tmp_path)
    assert stripped(found["sft"]) == stripped(expected(run, tools=False))
    assert stripped(found["preference"]) == stripped(sides(pairs, ("context", "better", "worse"))) and pairs


async def test_openrlhf_renders_calls_of_tools_of_any_shape(in_venv_of: Find, tmp_path: Path) -> None:
    openrlhf = in_venv_of("openrlhf")
    runs = [await played_run(tmp_path, config, name=name) for name, config in (("games", GAMES), ("books", LIBRARY))]
    pairs_file = tmp_path / "pairs.parquet"
    written(runs[0], pairs_file, "openrlhf-preference")
    for run in runs:
        lines, _ = written(run, tmp_path / "sft.parquet", "openrlhf-sft")
        arguments = [str(tmp_path / "sft.parquet"), str(pairs_file)]
        found = openrlhf.run("openrlhf_scripts/read_exports.py", *arguments, within_s=WITHIN_S, cwd=tmp_path)
        assert [line["text"].rstrip("\n") for line in found["sft"]] == [
            rendered(line["messages"]).rstrip("\n") for line in lines
        ]


async def test_verl_reads_conversations_and_with_our_class_their_tools(in_venv_of: Find, tmp_path: Path) -> None:
    verl = in_venv_of("verl")
    questions = await played_run(tmp_path, QUESTIONS, name="questions")
    games = await played_run(tmp_path, GAMES, name="games")
    files = [tmp_path / f"{run.name}.parquet" for run in (questions, games)]
    for run, file in zip((questions, games), files, strict=True):
        written(run, file, "verl-sft")
    found = verl.run("verl_scripts/read_exports.py", *map(str, files), within_s=WITHIN_S, cwd=tmp_path)
    for name, run, tools in (("plain", questions, False), ("with_tools", games, True)):
        whole = expected(run, tools)
        assert [line["text"] for line in found[name]] == [line["text"] for line in whole]
        assert [line["trained"].replace("\n", "") for line in found[name]] == [line["trained"] for line in whole]
