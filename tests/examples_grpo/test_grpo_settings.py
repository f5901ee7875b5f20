"""Checks the settings of the example, its command line, and the tokens that the warm-up trains on."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from examples.grpo.settings import read_settings, settings_file
from ray_gym.errors import UserError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from examples.grpo.__main__ import main  # noqa: E402
from examples.grpo.tokens import encode, said, train_tokenizer  # noqa: E402

CALL = {"type": "function", "function": {"name": "guess", "arguments": {"number": 4}}}
TOOL = {"type": "function", "function": {"name": "guess", "parameters": {"type": "object", "properties": {}}}}
GAME = {
    "messages": [
        {"role": "user", "content": "A number between 1 and 7, 3 guesses."},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
        {"role": "tool", "content": "between 5 and 7"},
        {"role": "assistant", "content": "", "tool_calls": [CALL]},
    ],
    "tools": [TOOL],
}


@pytest.mark.parametrize("task", ["guess", "tic_tac_toe"])
def test_settings_of_each_task_are_read(task: str) -> None:
    settings = read_settings(settings_file(task), ["steps=3", "optimizer.lr=0"])
    assert settings.steps == 3 and settings.optimizer.lr == 0 and settings.rollouts.is_file()
    assert settings.games is not None and settings.games.is_file()


def test_the_small_model_is_trained_by_low_rank_changes_and_needs_no_games() -> None:
    settings = read_settings(settings_file("small"))
    assert settings.lora is not None and settings.games is None and settings.warmup is None
    assert settings.model == "smollm2-135m-instruct" and settings.rollouts.is_file()


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("steps", "KEY=VALUE"),
        ("stepz=3", "stepz"),
        ("groups=0", "groups"),
        ("optimizer.lr=-1", "optimizer.lr"),
        ("evaluation.seed=0", "evaluation.seed"),
    ],
)
def test_wrong_settings_are_named(word: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        read_settings(settings_file("guess"), [word])


def test_an_unknown_task_is_told_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"guess, .*tic_tac_toe"):
        settings_file("chess")


def test_a_folder_of_other_settings_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "settings.json").write_text('{"optimizer": {"lr": 1.0}}')
    monkeypatch.setattr(sys, "argv", ["grpo", "guess", "--out", str(tmp_path)])
    assert main() == 2
    [line] = capsys.readouterr().err.strip().splitlines()
    assert "it was begun with another" in line


def test_the_policys_tokens_are_its_calls_and_their_ends() -> None:
    tokenizer = train_tokenizer([GAME] * 3)
    ids, mask = encode(GAME, tokenizer)
    words = [tokenizer.decode([token]) for token, own in zip(ids, mask, strict=True) if own]
    assert "".join(words) == 'guess {"number": 4}<|im_end|>' * 2
    assert " 4" in words and tokenizer.decode(ids).count("<|im_start|>") == 5
    assert said([9, 1, 7, 5, 2, 9], [9, 1], 2) == [False, False, True, True, True, False]
