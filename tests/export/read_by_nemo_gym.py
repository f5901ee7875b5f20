"""Run by a Python that has nemo-gym: its own classes read rollouts and a trajectory file; its metrics are made of them.

python read_by_nemo_gym.py ROLLOUTS TRAJECTORIES
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

from nemo_gym.atif_v1_7 import AtifTrajectoryV1_7
from nemo_gym.base_resources_server import BaseVerifyResponse
from nemo_gym.reward_profile import compute_aggregate_metrics, compute_pass_majority_metrics


def texts(file: str) -> list[str]:
    return Path(file).read_text("utf-8").splitlines()


def main(rollouts: str, trajectories: str) -> None:
    warnings.simplefilter("ignore")  # of metrics whose values are all the same
    lines = [json.loads(line) for line in texts(rollouts)]
    read = [BaseVerifyResponse.model_validate(line) for line in lines]
    metrics = compute_aggregate_metrics(lines, lambda tasks: compute_pass_majority_metrics(tasks)[0])
    numbers = {key: value for key, value in metrics.agent_metrics.items() if isinstance(value, int | float)}
    steps = [len(AtifTrajectoryV1_7.model_validate_json(line).steps) for line in texts(trajectories)]
    print(json.dumps({"rollouts": [one.model_dump(mode="json") for one in read], "metrics": numbers, "steps": steps}))


if __name__ == "__main__":
    main(*sys.argv[1:])
