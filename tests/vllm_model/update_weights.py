"""Updates a model's weights under load, as a trainer does, for `test_weights_of_vllm.py`.

Its arguments are FOLDER (with the checkpoints) and RESULTS (a JSON file).
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import ray
from conftest import one_call
from ray import serve

from ray_gym.deployments.vllm import VllmEngine
from ray_gym.deployments.vllm.options import VllmOptions
from ray_gym.episode.participant import Participant
from ray_gym.episode.thread import Thread
from ray_gym.errors import RunFailed, UserError
from ray_gym.messages import Message
from ray_gym.models.base import EngineCheck, Model, Sampling
from ray_gym.run.cluster.cluster import connect
from ray_gym.weights.client import Weights

CONVERSATIONS, TURNS, MAX_TOKENS = 100, 5, 24
ENGINE_ARGS = {
    "enforce_eager": True,
    "max_model_len": 2048,
    "max_num_seqs": 64,
    "block_size": 32,
    "kv_cache_memory_bytes": 2**28,
    "dtype": "float32",
    "enable_lora": True,
    "max_lora_rank": 8,
    "max_loras": 2,
}


class Conversations:
    """Plays many conversations at once, each with a thread of its own.

    Each thread's samples hold all its tokens and their versions. They take at least `turns` turns, and continue until
    `ended` is called: the last turn of each begins after that.
    """

    def __init__(self, model: Model, name: str, count: int, turns: int, max_tokens: int) -> None:
        policy = Participant("policy", "tiny", Sampling(max_tokens=max_tokens), True, turns, 1)
        self.threads = [Thread("policy", policy, model, f"{name}-{n}", n) for n in range(count)]
        self.turns = turns
        self.answered = 0
        self.failures: list[str] = []
        self.enough = asyncio.Event()
        self._progress = asyncio.Condition()
        self._playing = asyncio.gather(*map(self._play, self.threads))

    async def _play(self, thread: Thread) -> None:
        try:
            while True:
                last = self.enough.is_set() and thread.calls >= self.turns - 1
                thread.append(Message("user", f"{thread.session_id} at {thread.calls}: go on."), 2 * thread.calls)
                answer = await one_call(thread, max_tokens=thread.participant.sampling.max_tokens)
                thread.accept(answer, 2 * thread.calls + 1)
                async with self._progress:
                    self.answered += 1
                    self._progress.notify_all()
                if last:
                    return
        except Exception as error:
            async with self._progress:
                self.failures.append(repr(error))
                self._progress.notify_all()

    async def until(self, answered: int) -> None:
        async with self._progress:
            await self._progress.wait_for(lambda: self.answered >= answered or self.failures)

    async def ended(self) -> dict[str, Any]:
        self.enough.set()
        await self._playing
        return {"failures": self.failures, "threads": [samples_of(thread) for thread in self.threads]}


def samples_of(thread: Thread) -> list[dict[str, Any]]:
    return [
        {
            "token_ids": sample.token_ids.tolist(),
            "loss_mask": sample.loss_mask.tolist(),
            "logprobs": sample.logprobs.tolist(),
            "versions": [[span.version, span.start, span.end] for span in sample.versions],
        }
        for sample in thread.ledger.samples
    ]


def refused(update: Callable[[], int]) -> str:
    try:
        return f"not refused: {update()}"
    except UserError as error:
        return str(error)
    except RunFailed as error:
        return f"failed: {error}"


def replicas_of(app: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if " ".join(process.info["cmdline"] or []).startswith(f"ray::ServeReplica:{app}"):
            found.append(process)
    return found


def pids_of(app: str) -> set[int]:
    return {process.pid for process in replicas_of(app)}


def running(app: str) -> int:
    (deployment,) = serve.status().applications[app].deployments.values()
    return deployment.replica_states.get("RUNNING", 0)


async def eventually(condition: Callable[[], bool], within_s: float) -> None:
    deadline = time.monotonic() + within_s
    while not await asyncio.to_thread(condition):
        if time.monotonic() > deadline:
            raise TimeoutError
        await asyncio.sleep(0.1)


async def under_load(model: Model, weights: Weights, folder: Path) -> dict[str, Any]:
    """Plays 100 conversations, while weights are first refused, then updated in each mode."""
    talks = Conversations(model, "load", CONVERSATIONS, TURNS, MAX_TOKENS)
    update = weights.update
    await talks.until(CONVERSATIONS // 2)
    refusals = {}
    for name in ("truncated", "wrong_shape", "missing", "other_settings"):
        refusals[name] = await asyncio.to_thread(refused, lambda name=name: update(1, folder / name))  # type: ignore[misc]
    refusals["version"] = await asyncio.to_thread(refused, lambda: update(0, folder / "second"))
    after_refusals = weights.version
    took = {}
    await talks.until(CONVERSATIONS)
    for version, name, mode in ((1, "second", "keep"), (2, "third", "wait"), (7, "second", "abort")):
        began = time.monotonic()
        await asyncio.to_thread(update, version, folder / name, mode=mode)  # type: ignore[arg-type]
        took[mode] = time.monotonic() - began
        await talks.until(talks.answered + CONVERSATIONS)  # so that some answers are of this version
    return {"refusals": refusals, "after_refusals": after_refusals, "took": took, **await talks.ended()}


async def lighter(model: Model, weights: Weights, folder: Path) -> dict[str, Any]:
    """Loads tensors from memory, then an adapter without a pause while conversations go on, then weights below it."""
    from safetensors.torch import load_file

    state = load_file(folder / "third" / "model.safetensors")
    wrong = {**state, "model.norm.weight": state["model.norm.weight"][:3]}
    refusal = await asyncio.to_thread(refused, lambda: weights.update(8, state_dict=wrong))
    await asyncio.to_thread(weights.update, 8, state_dict=state)
    talks = Conversations(model, "light", 8, 4, 16)
    await talks.until(8)
    await asyncio.to_thread(weights.update, 9, adapter=folder / "adapter")
    await talks.until(talks.answered + 16)
    await asyncio.to_thread(weights.update, 10, folder / "second")
    return {"refusal": refusal, **await talks.ended()}


async def killed(model: Model, weights: Weights, folder: Path, app: str) -> dict[str, Any]:
    """A replica dies in the middle of an update; when it is back, the other one does, so that the answers are its own."""
    long = Conversations(model, "long", 4, 1, 600)
    long.enough.set()
    short = Conversations(model, "short", 16, 3, 16)
    await short.until(8)
    first, _ = await asyncio.to_thread(replicas_of, app)
    updating = asyncio.create_task(asyncio.to_thread(weights.update, 11, folder / "third", mode="wait"))
    await eventually(lambda: weights.status().step == "pause", 30)  # it waits for the long ones
    first.kill()
    version = await updating
    played = await short.ended(), await long.ended()
    await eventually(lambda: first.pid not in pids_of(app) and running(app) == 2, 240)
    back = Conversations(model, "back", 16, 1, 16)
    return {
        "version": version,
        "failures": played[0]["failures"] + played[1]["failures"],
        "threads": played[0]["threads"] + played[1]["threads"],
        "back": await back.ended(),
    }


async def vanished(model: Model, weights: Weights, folder: Path, app: str) -> dict[str, Any]:
    """An update fails to load weights that were checked, because their folder is removed while it waits."""
    before = await asyncio.to_thread(pids_of, app)
    long = Conversations(model, "vanished", 8, 1, 400)
    long.enough.set()
    await Conversations(model, "meanwhile", 8, 1, 4).ended()  # so the long ones have begun
    gone = shutil.copytree(folder / "second", folder / "gone")
    updating = asyncio.create_task(asyncio.to_thread(refused, lambda: weights.update(12, gone, mode="wait")))
    await eventually(lambda: weights.status().step == "pause", 30)
    shutil.rmtree(gone)
    refusal = await updating
    await eventually(lambda: not before & pids_of(app) and running(app) == 2, 240)
    after = Conversations(model, "after", 16, 1, 16)
    return {
        "refusal": refusal,
        "version": weights.version,
        "failures": (await long.ended())["failures"],
        "after": await after.ended(),
    }


async def scenes(engine: VllmEngine, folder: Path) -> dict[str, Any]:
    model, weights = engine.connect(), Weights(engine.app)
    results = {}
    began = time.monotonic()
    for name, scene in (
        ("under_load", under_load(model, weights, folder)),
        ("lighter", lighter(model, weights, folder)),
        ("killed", killed(model, weights, folder, engine.app)),
        ("vanished", vanished(model, weights, folder, engine.app)),
    ):
        results[name] = await scene
        print(f"{name}: {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
    await model.close()
    return results


def main(folder: Path, results: Path) -> None:
    options = VllmOptions(model=str(folder / "first"), gpus=0, replicas=2, engine_args=ENGINE_ARGS, tool_parser=None)
    engine = VllmEngine(options)
    engine.check(EngineCheck("tiny", {}, uses_tools=False))
    with connect():
        try:
            engine.start("weights", "tiny", lambda text: print(text, file=sys.stderr))
            results.write_text(json.dumps(asyncio.run(scenes(engine, folder))))
        finally:
            engine.stop()
        left = [
            actor["name"] for actor in ray.util.list_named_actors(all_namespaces=True) if engine.app in actor["name"]
        ]
        assert not left, left


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
