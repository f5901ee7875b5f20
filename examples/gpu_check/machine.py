"""Describes the machine, its GPUs and the versions of packages, without names of hosts, users and folders."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, packages_distributions, version

from benchmarks.measure import machine

ANSWER_S = 180
"""Seconds that a command may take that looks at GPUs."""
ASK_TORCH = """
import json, torch
seen = [torch.cuda.get_device_properties(number) for number in range(torch.cuda.device_count())]
gpus = [f"{gpu.name}, {gpu.total_memory / 2**30:.1f} GiB, compute capability {gpu.major}.{gpu.minor}" for gpu in seen]
print(json.dumps({"gpus": gpus, "cuda": torch.version.cuda, "hip": torch.version.hip}))
"""
"""Program that prints the GPUs that torch sees. It has a process of its own, for CUDA keeps memory as long as one is there."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Holds facts about a machine by their names, and its GPUs."""

    gpus: Sequence[str] = ()
    """Name and memory of each GPU that torch can use here."""
    unused: str = ""
    """Reason why GPUs of the machine are not used; "" if there is nothing to say."""
    facts: dict[str, str] = field(default_factory=dict)


def look_at_machine() -> Machine:
    """Returns what this machine is. Nothing that can't be found out is an error: it is left out."""
    seen = json.loads(_output([sys.executable, "-c", ASK_TORCH]) or "{}")
    listed = _output(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]).splitlines()
    gpus = seen.get("gpus", [])
    found = machine()
    facts = {
        "GPUs": "; ".join(f"{gpus.count(gpu)} x {gpu}" for gpu in dict.fromkeys(gpus)) or "none",
        "driver": listed[0] if listed else "",
        "CUDA of torch": seen.get("cuda") or "",
        "ROCm of torch": seen.get("hip") or "",
        "CPU": f"{found['cpu']}, {found['cores']} cores",
        "memory": f"{found['memory_gib']} GiB",
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "versions": _versions(),
        "commit": _commit(),
    }
    unused = f"nvidia-smi lists {len(listed)} GPUs, but torch sees none of them." if listed and not gpus else ""
    return Machine(gpus, unused, {name: fact for name, fact in facts.items() if fact})


def _versions() -> str:
    vllm = packages_distributions().get("vllm", ["vllm"])[0]  # there are several builds
    found = [f"Python {platform.python_version()}"]
    for package in ("ray-gym", "ray", vllm, "torch", "transformers"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            found.append(f"no {package}")
    return ", ".join(found)


def _commit() -> str:
    commit = _output(["git", "rev-parse", "--short=12", "HEAD"])
    return f"{commit} with changes" if commit and _output(["git", "status", "--porcelain"]) else commit


def _output(command: Sequence[str]) -> str:
    """Returns what a command prints; "" if it is not there, fails, or takes too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER_S, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()
