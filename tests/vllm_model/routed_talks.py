"""Conversations with replicas of a tiny model, for the tests of routing; prints what came of them. Needs a cluster to join.

routed_talks.py FOLDER affinity: two replicas, with affinity, without, and with affinity while one is killed.
routed_talks.py FOLDER admission: one replica whose cache is small, without a gate and with one.
routed_talks.py FOLDER autoscaling: one replica with new weights and more calls than it is to have, until another one has come.
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
from held_talks import Counts, Talk, hold
from ray import serve
from tiny_llama import make_llama

from ray_gym.deployments.vllm import VllmEngine
from ray_gym.deployments.vllm.options import VllmOptions
from ray_gym.hosting.admission import Admission, AdmissionLimits
from ray_gym.hosting.transport import ServeModel
from ray_gym.models.base import EngineCheck, Sampling
from ray_gym.run.cluster.cluster import connect
from ray_gym.weights.client import Weights

BLOCK = 32
TURNS = 10
AT_ONCE = 12
"""Conversations that are held at once where no gate keeps them back."""
CASES = {
    "capped": AdmissionLimits(max_conversations=3),
    "gated": AdmissionLimits(max_kv_use=0.7, max_recomputed=0.05),
    "open": None,
}


def engine(folder: str, replicas: int, autoscaling: dict[str, Any] | None = None, **engine_args: Any) -> VllmEngine:
    usual: dict[str, Any] = {"enforce_eager": True, "max_model_len": 1024, "max_num_seqs": 32, "block_size": BLOCK}
    usual |= {"dtype": "float32", "kv_cache_memory_bytes": 2**26}
    options = {
        "replicas": replicas,
        "autoscaling": autoscaling,
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
    models = {"session": ServeModel(app, "session", transport="batched"), "none": ServeModel(app, transport="handle")}
    for case, model in models.items():  # in batches, calls go where the fewest are: mostly where they come from
        found[case] = (await hold(talks(case, 8, 16), model, turns=6)).ratio
    return {**found, **await while_one_is_killed(app)}


async def while_one_is_killed(app: str) -> dict[str, Any]:
    replicas = [process for process in psutil.process_iter(["cmdline"]) if _is_replica(process, app)]
    held, model = talks("killed", 12, 16), ServeModel(app, "session", transport="batched")
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
    gates = {case: ServeModel(app, "session", limits, transport="batched") for case, limits in CASES.items()}
    return {case: await let_in(app, gate, case) for case, gate in gates.items()}


async def let_in(app: str, gate: ServeModel, case: str) -> dict[str, int]:
    """Holds 24 conversations, each of which begins when the gate lets it in; `anew` are tokens that a cache had lost."""
    model, gates, at_once = (
        ServeModel(app, "session", transport="batched"),
        Admission([gate]),
        asyncio.Semaphore(AT_ONCE),
    )
    there, most = 0, 0

    async def admitted(talk: Talk) -> Counts:
        nonlocal there, most
        async with at_once, gates.place(begins=True):
            there += 1
            most = max(most, there)
            try:
                return await talk.turns(model, 6)
            finally:
                there -= 1

    total = Counts.sum(await asyncio.gather(*map(admitted, talks(case, 24, 48))))
    await model.close()
    return {"at once": most, "calls": total.calls, "anew": total.computed - total.least}


async def autoscaling(app: str, folder: str) -> dict[str, Any]:
    weights = make_llama(Path(folder) / "second", seed=2)
    await asyncio.to_thread(Weights(app).update, 1, weights)
    model, calls, is_up = ServeModel(app, "session", transport="handle"), 0, asyncio.Event()

    async def talk_on(number: int) -> None:
        nonlocal calls
        while not is_up.is_set():
            for talk in talks(f"{number} after {calls} calls", 1, 16):
                calls += (await talk.turns(model, 3)).calls

    talking = asyncio.gather(*map(talk_on, range(16)), return_exceptions=True)
    while await asyncio.to_thread(_running, app) < 2:  # noqa: ASYNC110  another process's state
        await asyncio.sleep(0.2)
    is_up.set()
    failures = [repr(result) for result in await talking if result is not None]
    told = await serve.get_app_handle(app).broadcast("describe").results_async(timeout_s=30)
    return {"calls": calls, "failures": failures, "versions": [each["weights_version"] for each in told]}


def _running(app: str) -> int:
    (deployment,) = serve.status().applications[app].deployments.values()
    return deployment.replica_states.get("RUNNING", 0)


def made_for(case: str, folder: str) -> VllmEngine:
    if case == "admission":
        return engine(folder, 1, num_gpu_blocks_override=64)
    if case == "autoscaling":
        return engine(folder, 1, {"max_replicas": 2, "target_ongoing_requests": 2, "upscale_delay_s": 0})
    return engine(folder, 2)


def main(folder: str, case: str) -> None:
    made = made_for(case, folder)
    with connect():
        try:
            made.start(f"routed-{os.getpid()}", "tiny", lambda text: print(text, file=sys.stderr))
            cases = {"affinity": affinity, "admission": admission}
            print(json.dumps(asyncio.run(cases[case](made.app) if case in cases else autoscaling(made.app, folder))))
        finally:
            made.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
