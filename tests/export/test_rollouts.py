"""Checks that NeMo RL's records hold every token of every trainable sample once, with its log probability."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from nemo_rl_forms import check_prompt_group
from small_runs import GAMES, lines_of, played_run, rows_of, texts

from ray_gym.errors import UserError
from ray_gym.export.rollouts import FORKED, NOT_PLAIN, PROMPTS_DIFFER, Rollouts
from ray_gym.export.writing import export
from ray_gym.load import load

Line = dict[str, Any]


async def exported(folder: Path, config: Line = GAMES, **options: Any) -> tuple[Path, list[Line], Counter[str]]:
    run = await played_run(folder, config, **options)
    counts = export(load(run), Rollouts(), folder / "out.jsonl")
    lines = lines_of(folder / "out.jsonl")
    for line in lines:
        check_prompt_group(line)
    assert counts.written == len(lines) and [line["prompt_idx"] for line in lines] == list(range(len(lines)))
    return run, lines, +counts.notes


def of_sample(completion: Line) -> Line:
    """Returns what a trainer gets of a completion, in the columns of a record's sample."""
    log = completion["message_log"]
    nothing = [[0.0] * len(message["token_ids"]) for message in log]
    return {
        "token_ids": [token for message in log for token in message["token_ids"]],
        "loss_mask": [int(message["role"] == "assistant") for message in log for _ in message["token_ids"]],
        "logprobs": [
            value
            for message, zeros in zip(log, nothing, strict=True)
            for value in message.get("generation_logprobs", zeros)
        ],
        "versions": completion["env_extras"]["weight_versions"],
        "reward": completion["reward"],
    }


def by_sample(lines: list[Line]) -> dict[tuple[str, int], Line]:
    found = [(one["env_extras"], of_sample(one)) for line in lines for one in line["completions"]]
    assert len({(extras["episode_id"], extras["sample"]) for extras, _ in found}) == len(found)
    return {(extras["episode_id"], extras["sample"]): sample for extras, sample in found}


def recorded(run: Path, participants: tuple[str, ...] = ("policy",)) -> dict[tuple[str, int], Line]:
    columns = ("token_ids", "loss_mask", "logprobs", "versions", "reward")
    return {
        (row["episode_id"], number): {name: sample[name] for name in columns}
        for row in rows_of(run)
        for number, sample in enumerate(row["samples"])
        if sample["participant"] in participants
    }


async def test_every_token_mask_and_logprob_of_a_run_is_in_its_record(tmp_path: Path) -> None:
    run, lines, notes = await exported(tmp_path)
    assert len(lines) == 6 and all(len(line["completions"]) == 4 for line in lines)
    assert by_sample(lines) == recorded(run)
    groups = {row["episode_id"]: row["group_id"] for row in rows_of(run)}
    for line in lines:
        assert {groups[one["env_extras"]["episode_id"]] for one in line["completions"]} == {
            line["metadata"]["group_id"]
        }
        assert line["metadata"]["oldest_weight_version"] == 0
    assert NOT_PLAIN not in notes and FORKED not in notes


async def test_messages_say_whose_tokens_they_are(tmp_path: Path) -> None:
    _, lines, _ = await exported(tmp_path)
    messages = [message for line in lines for one in line["completions"] for message in one["message_log"]]
    for message in messages:
        text = texts(message["token_ids"])
        if message["role"] == "assistant":
            assert text.startswith("[make_move ") and text.endswith("</>")
        elif message["content"]:
            assert text == f"<{message['role']}>{message['content']}</>"
    assert {message["role"] for message in messages if message["content"]} == {"system", "user", "tool"}


async def test_a_fork_is_a_completion_of_its_own_and_earlier_words_in_it_are_prompt(tmp_path: Path) -> None:
    run, lines, notes = await exported(tmp_path, forks_at=2)
    samples = by_sample(lines)
    assert samples == recorded(run) and len(samples) > 24
    assert notes[FORKED] == len(samples) - 24
    generated = Counter[str]()
    for row in rows_of(run):
        generated[row["episode_id"]] += sum(sample["participant"] == "policy" for sample in row["samples"])
    assert Counter(episode for episode, _ in samples) == generated


async def test_prompts_that_differ_are_cut_to_what_they_have_in_common(tmp_path: Path) -> None:
    """Where the user's side speaks first, the policy's prompt has its words."""
    _, lines, notes = await exported(tmp_path)
    firsts = [[opening(one) for one in line["completions"]] for line in lines]
    differing = [len(set(prompts)) > 1 for prompts in firsts]
    assert notes[PROMPTS_DIFFER] == sum(differing) > 0
    for line, prompts, differ in zip(lines, firsts, differing, strict=True):
        prompt = b"".join(bytes(message["token_ids"]) for message in line["prompt"])
        assert all(one.startswith(prompt) for one in prompts)
        assert (prompt != prompts[0]) == differ
        assert len({one[len(prompt) : len(prompt) + 1] for one in prompts}) > 1 or not differ


def opening(completion: Line) -> bytes:
    found = b""
    for message in completion["message_log"]:
        if message["role"] == "assistant":
            break
        found += bytes(message["token_ids"])
    return found


async def test_self_play_gives_a_group_to_each_side_with_its_own_reward(tmp_path: Path) -> None:
    both = {name: {**section, "trainable": True} for name, section in GAMES["participants"].items()}
    run, lines, _ = await exported(tmp_path, {**GAMES, "participants": both})
    assert Counter(line["metadata"]["participant"] for line in lines) == {"policy": 6, "user": 6}
    assert by_sample(lines) == recorded(run, ("policy", "user"))
    assert {sample["reward"] for sample in by_sample(lines).values()} == {0.0, 0.5, 1.0}


async def test_a_run_of_text_has_no_rollouts(tmp_path: Path) -> None:
    run = await played_run(tmp_path, GAMES, tokens=False)
    with pytest.raises(UserError, match=r"nothing was written: episodes without samples to train on .*: 24"):
        export(load(run), Rollouts(), tmp_path / "out.jsonl")
    assert files_in(tmp_path) == ["run"]


def files_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]
