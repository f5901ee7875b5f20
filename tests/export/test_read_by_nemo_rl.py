"""NeMo RL's own functions read what is exported: its trainers would be given the tokens of the runs' samples, and their masks."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from small_runs import GAMES, QUESTIONS, lines_of, played_run, rows_of

from ray_gym.deployments.small_model import checkpoint_dir
from ray_gym.export.preference import Preference
from ray_gym.export.rollouts import Rollouts
from ray_gym.export.sft import Sft
from ray_gym.export.writing import export
from ray_gym.load import load

PYTHON = os.environ.get("RAY_GYM_NEMO_RL_PYTHON")
REPOSITORY = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.skipif(not PYTHON, reason="set RAY_GYM_NEMO_RL_PYTHON to a Python that has nemo_rl"),
    pytest.mark.skipif(not checkpoint_dir().exists(), reason="no small model: make model"),
]


def read(*files: Path) -> dict[str, Any]:
    script = Path(__file__).with_name("read_by_nemo_rl.py")
    words = [PYTHON, script, REPOSITORY / "examples", checkpoint_dir(), *files, "1"]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def words_of(tokenizer: Any, row: dict[str, Any]) -> str:
    """Returns the text of the tokens that are trained on."""
    text: str = tokenizer.decode(
        [token for token, mask in zip(row["token_ids"], row["loss_mask"], strict=True) if mask]
    )
    return text


async def test_nemo_rl_reads_every_form(tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    games = await played_run(tmp_path, GAMES, name="games")
    questions = await played_run(tmp_path, QUESTIONS, name="questions")
    files = [tmp_path / f"{name}.jsonl" for name in ("sft", "preference", "rollouts")]
    export(load(questions), Sft(1, None), files[0])
    export(load(questions), Preference(0, True), files[1])
    export(load(games), Rollouts(), files[2])
    found = read(*files)
    tokenizer = AutoTokenizer.from_pretrained(checkpoint_dir())

    samples = {tuple(row["samples"][0]["token_ids"]): row for row in rows_of(games)}
    assert len(found["rollouts"]) == 24
    for given in found["rollouts"]:
        row = samples[tuple(given["token_ids"])]
        sample = row["samples"][0]
        assert {name: given[name] for name in ("loss_mask", "logprobs", "reward")} == {
            name: sample[name] for name in ("loss_mask", "logprobs", "reward")
        }
        assert given["group"] == row["group_id"]
    by_group: dict[str, set[tuple[int, ...]]] = {}
    for given in found["rollouts"]:
        by_group.setdefault(given["group"], set()).add(tuple(given["prompt"]))
    assert all(len(prompts) == 1 for prompts in by_group.values()), "else each would be its own baseline"

    good = [row["samples"][0] for row in rows_of(games) if row["reward"] >= 1]
    exact = [(one["token_ids"], one["loss_mask"]) for one in found["exact_sft"]]
    assert sorted(exact) == sorted((one["token_ids"], one["loss_mask"]) for one in good)

    answers = [line["messages"][-1]["content"] for line in lines_of(files[0])]
    heard = [words_of(tokenizer, row) for row in found["sft"]]
    assert [text.removeprefix("<|im_start|>assistant\n").removesuffix("<|im_end|>\n") for text in heard] == answers
    pairs = [one["completion"][0]["content"] for line in lines_of(files[1]) for one in line["completions"]]
    heard = [words_of(tokenizer, row) for row in found["preference"]]
    assert all(answer in text for answer, text in zip(pairs, heard, strict=True))
