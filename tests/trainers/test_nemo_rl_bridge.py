"""NeMo RL's own postprocessing takes the agent's answers: a checkout of it, in the venv of `make trainer NAME=nemo_rl`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from checkouts import checkout
from trainer_venvs import TrainerVenv

from ray_gym.trainers.nemo_rl import TESTED

pytestmark = [pytest.mark.trainers, pytest.mark.timeout(1300)]
LIMIT_S = 600


def test_its_postprocessing_keeps_tokens_masks_and_logprobs(
    in_venv_of: Callable[[str], TrainerVenv], tmp_path: Path
) -> None:
    folder = checkout("RAY_GYM_NEMO_RL", TESTED[-1])
    found = in_venv_of("nemo_rl").run("nemo_rl_scripts/answers.py", str(folder), within_s=LIMIT_S, cwd=tmp_path)
    assert len(found["answers"]) == 7, "two groups of four, one of which failed"
    for answer in found["answers"]:
        read, own = answer["read"], answer["own"]
        assert read[:2] == own[:2] and read[2] == pytest.approx(own[2], abs=1e-6)
        assert answer["prompt"] == answer["begins"], "by which it tells groups apart"
        assert answer["reward"][0] == answer["reward"][1]
    assert found["with_a_fork"].startswith("Non-contiguous messages found!"), "so forks are not in an answer"
