"""Run by a Python that has openenv: its own class reads each line of a file as a TrainingTrace.

python read_by_openenv.py FILE
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from openenv.core.harness import TrainingTrace


def main(file: str) -> None:
    traces = [TrainingTrace.model_validate_json(line) for line in Path(file).read_text("utf-8").splitlines()]
    print(json.dumps([trace.to_trace_entries() for trace in traces]))


if __name__ == "__main__":
    main(*sys.argv[1:])
