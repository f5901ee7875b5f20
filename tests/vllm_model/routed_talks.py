"""Conversations with replicas of a tiny model, for the tests of routing; prints what came of them. Needs a cluster to join.

routed_talks.py FOLDER affinity: two replicas, with affinity, without, and with affinity while one is killed.
routed_talks.py FOLDER admission: one replica whose cache is small, without a gate and with one.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import psutil
from tiny_llama import make_llama

from benchmarks.admission import measure
from benchmarks.talks import Counts, Talk, hold
from deployments.vllm import VllmEngine
from deployments.vllm.options import VllmOptions
from ray_gym.admission import AdmissionLimits
from ray_gym.models.base import EngineCheck, Sampling
from ray_gym.run.cluster import connected
from ray_gym.transport import ServeModel

BLOCK = 32
TURNS = 10
CASES = {
    "capped": AdmissionLimits(max_conversations=3),
    "gated": AdmissionLimits(max_kv_use=0.7, max_recomputed=0.05),
    "open": None,
}


def engine(folder: str, replicas: int, **engine_args: Any) -> VllmEngine:
    usual: dict[str, Any] = {"enforce_eager": True, "max_model_len": 1024, "max_num_seqs": 32, "block_size": BLOCK}
    usual |= {"dtype": "float32", "kv_cache_memory_bytes": 2**26}
    options = {
        "replicas": replicas,
        "gpus": 0,
        "engine_args": usual | engine_args,
        "env_vars": {"OMP_NUM_THREADS": "1"},
    }
    made = VllmEngine(VllmOptions(model=str(make_llama(Path(folder) / "tiny", seed=1)), **options))
    made.check(EngineCheck("tiny", {}, uses_tools=False, episodes=16))
    return made


def talks(name: str, count: int, tokens: int) -> list[Talk]:
    return [Talk(f"{name} {number}", BLOCK, Sampling(max_tokens=tokens)) for number in range(count)]


async def affinity(app: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for case in ("session", "none"):
        found[case] = (await hold(talks(case, 8, 16), ServeModel(app, case), turns=6)).ratio
    return {**found, **await while_one_is_killed(app)}


async def while_one_is_killed(app: str) -> dict[str, Any]:
    replicas = [process for process in psutil.process_iter(["cmdline"]) if _is_replica(process, app)]
    held, model = talks("killed", 12, 16), ServeModel(app, "session")
    results = asyncio.gather(*(talk.turns(model, TURNS) for talk in held), return_exceptions=True)
    while min(len(talk.spans) for talk in held) < 2:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    latest = max(len(talk.spans) for talk in held)
    os.kill(replicas[0].pid, signal.SIGKILL)
    failures = [repr(result) for result in await results if not isinstance(result, Counts)]
    said = [{"ids": talk.ids, "spans": talk.spans, "logprobs": talk.logprobs} for talk in held]
    return {"replicas": len(replicas), "latest": latest, "failures": failures, "talks": said}


def _is_replica(process: psutil.Process, app: str) -> bool:
    return " ".join(process.info["cmdline"] or []).startswith(f"ray::ServeReplica:{app}:")


async def admission(app: str) -> dict[str, Any]:
    gates = {case: ServeModel(app, "session", limits) for case, limits in CASES.items()}
    return {case: await measure(app, gate, case, conversations=24, turns=6) for case, gate in gates.items()}


def main(folder: str, case: str) -> None:
    made = engine(folder, 2) if case == "affinity" else engine(folder, 1, num_gpu_blocks_override=64)
    with connected():
        try:
            made.start(f"routed-{os.getpid()}", "tiny", lambda text: print(text, file=sys.stderr))
            print(json.dumps(asyncio.run(affinity(made.app) if case == "affinity" else admission(made.app))))
        finally:
            made.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
