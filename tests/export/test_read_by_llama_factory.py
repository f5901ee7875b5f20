"""LLaMA-Factory's own converter and template read what is exported as ShareGPT: no conversation is skipped, and all turns are there."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from small_runs import GAMES, LIBRARY, QUESTIONS, played_run
from written_forms import written

PYTHON = os.environ.get("RAY_GYM_LLAMA_FACTORY_PYTHON")
TESTS = Path(__file__).parents[1]

pytestmark = pytest.mark.skipif(not PYTHON, reason="set RAY_GYM_LLAMA_FACTORY_PYTHON to a Python that has llamafactory")


def read(file: Path) -> list[dict[str, Any]]:
    script = Path(__file__).with_name("read_by_llama_factory.py")
    path = os.pathsep.join(
        [str(TESTS.parent), str(TESTS / "trainers"), os.environ.get("RAY_GYM_LLAMA_FACTORY_SRC", "")]
    )
    words = [str(PYTHON), str(script), str(file)]
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(words, capture_output=True, text=True, timeout=250, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("config", [GAMES, LIBRARY, QUESTIONS], ids=["games", "library", "questions"])
async def test_each_turn_is_in_what_the_template_makes(tmp_path: Path, config: dict[str, Any]) -> None:
    lines, _ = written(await played_run(tmp_path, config), tmp_path / "out.jsonl", "sharegpt")
    found = read(tmp_path / "out.jsonl")
    assert len(found) == len(lines) > 0
    roles = {"human": "user", "gpt": "assistant", "function_call": "function", "observation": "observation"}
    for line, made in zip(lines, found, strict=True):
        assert made["roles"] == [roles[turn["from"]] for turn in line["conversations"]], "none is skipped"
        for turn, text in zip(line["conversations"], made["texts"], strict=True):
            if turn["from"] == "function_call":
                call = json.loads(turn["value"])
                assert f'"name": "{call["name"]}"' in text and json.dumps(call["arguments"]) in text
            else:
                assert turn["value"] in text
        assert line["system"] in made["texts"][0]
        for tool in json.loads(line["tools"] or "[]"):
            assert json.dumps(tool, ensure_ascii=False) in made["texts"][0]
