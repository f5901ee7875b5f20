"""Runs a small version of the chaos benchmark, and checks what its verdicts rest on."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from conftest import REPOSITORY

from benchmarks.chaos.compare import without_tokens
from benchmarks.chaos.journals import Recorded, Zombies
from benchmarks.chaos.kills import SCRIPTED_KINDS, schedule
from benchmarks.chaos.players import CallKey, FinishedCall, FinishedCalls
from benchmarks.chaos.report import Disturbed
from ray_gym.messages import Message
from ray_gym.models.base import Completion


@pytest.mark.ray
@pytest.mark.chaos
def test_four_kills_lose_no_recorded_answer() -> None:
    command = [sys.executable, "-m", "benchmarks.chaos", "--episodes", "80", "--kills", "4", "--seed", "1", "--nonce"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for kind in ("worker", "replica", "driver", "raylet"):
        assert f"kills: {kind} " in done.stdout
    assert "nonces checked" in done.stdout and done.stdout.endswith("all as it should be\n")


def test_a_schedule_has_each_kind_and_is_the_seeds() -> None:
    kills = schedule(20, 3, SCRIPTED_KINDS)
    assert len(kills) == 20 and set(kills) == set(SCRIPTED_KINDS)
    assert kills == schedule(20, 3, SCRIPTED_KINDS) != schedule(20, 4, SCRIPTED_KINDS)
    counted = Counter(kills)
    assert counted["raylet"] == counted["freeze"] == counted["cut off"] == 1 and "cut off" in kills[:2]


def test_calls_that_were_made_again_are_those_finished_before_and_after_a_kill(tmp_path: Path) -> None:
    disturbed = Disturbed(Zombies(tmp_path, tmp_path), kills=[("worker", 10.0), ("worker", 20.0)])
    disturbed.rows = [{"episode_id": "a", "ended_at": 30.0, "attempt": 1}, {"episode_id": "b", "ended_at": 9.0}]
    at = {("a", 1): [5.0], ("a", 2): [9.0, 12.0], ("a", 3): [11.0, 12.0], ("a", 4): [25.0], ("b", 1): [5.0]}
    calls = FinishedCalls(tmp_path, [FinishedCall(t, CallKey(*key)) for key, times in at.items() for t in times])
    stake = {key.seed: again for key, again in disturbed.at_stake(calls).items()}
    assert stake == {1: False, 2: True, 3: False}, (
        "what two processes finished between two kills was not lost by the second"
    )


def test_tokens_of_a_recorded_call_are_looked_for_in_its_thread() -> None:
    row = {"samples": [{"token_ids": [1, 2, 3, 4], "logprobs": [0, 0, -1, -2], "thread": "policy"}]}
    ids = {"prompt_ids": np.array([2], np.int32), "token_ids": np.array([3, 4], np.int32)}
    for thread, logprobs, missing in (
        ("policy", [-1, -2], False),
        ("policy", [-1, -3], True),
        ("user", [-1, -2], True),
    ):
        completion = Completion(Message("assistant", ""), logprobs=np.array(logprobs, np.float32), **ids)
        assert without_tokens(row, Recorded("e", 0, 0, thread, 0, completion)) is missing
