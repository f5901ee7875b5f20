"""Run by a Python that has harbor: its own models and its validator read each line of a file as an ATIF trajectory.

python read_by_harbor.py FILE
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from harbor.models.trajectories import Trajectory
from harbor.utils.trajectory_validator import TrajectoryValidator


def main(file: str) -> None:
    read = []
    for line in Path(file).read_text("utf-8").splitlines():
        validator = TrajectoryValidator()
        assert validator.validate(line), validator.get_errors()
        read.append(Trajectory.model_validate_json(line).to_json_dict(exclude_none=False))
    print(json.dumps(read))


if __name__ == "__main__":
    main(*sys.argv[1:])
