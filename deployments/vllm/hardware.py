"""Prepares replicas that run on CPUs: environment variables, which are set before vLLM is imported, and engine
arguments.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from ray_gym.deployments.vllm.options import ReplicaOptions


def prepare_cpu(options: ReplicaOptions) -> None:
    """Sets environment variables of this process for a replica on CPUs, for OpenMP and vLLM. Without them, Ray gives
    each of its workers one OpenMP thread, and vLLM binds all engines to the same core. Variables that are set already
    are kept, except OMP_NUM_THREADS: that is the option's, or else the number of CPUs.
    """
    os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    openmp = Path(sys.prefix) / "lib" / "libiomp5.so"
    if openmp.exists():  # comes with vLLM for CPUs; about a tenth faster than GNU's (measured)
        os.environ.setdefault("LD_PRELOAD", str(openmp))
        os.environ.setdefault("KMP_BLOCKTIME", "1")  # ms that a thread spins: there are more processes than cores
    os.environ["OMP_NUM_THREADS"] = options.env_vars.get("OMP_NUM_THREADS") or str(os.cpu_count() or 1)
    if options.ranks == 1:
        os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")  # else vLLM refuses "uni" on CPUs


def cpu_engine_args(options: ReplicaOptions) -> dict[str, Any]:
    """Returns vLLM's engine arguments for CPUs. A single rank runs in the engine's own process: otherwise the engine
    polls for the end of each step, which takes half a core from the rank (measured, `benchmarks.saturation`).
    """
    executor = {"distributed_executor_backend": "uni"} if options.ranks == 1 else {}
    return {"dtype": cpu_dtype(), **executor}


def cpu_dtype() -> str:
    """Returns the dtype that is fastest on this CPU. Without instructions for bfloat16, a CPU computes in it several
    times slower than in float32 (measured).
    """
    flags = Path("/proc/cpuinfo").read_text("utf-8") if Path("/proc/cpuinfo").exists() else ""
    return "bfloat16" if re.search(r"\b(avx512_bf16|amx_bf16)\b", flags) else "float32"
