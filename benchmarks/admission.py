"""What it costs to hold more conversations than the KV cache has room for, and what holds them back: `python -m benchmarks.admission`.

The small model under real vLLM on CPU, one replica, with a cache for about three of the conversations. As many conversations of
several turns are there in each case, 12 of them at once if nothing holds them back. Each begins when the gate before the model lets it in,
as episodes do; then nothing waits any more. `anew` are prompt tokens that were computed although they had been before.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.command import add_json, begin, positive
from benchmarks.orchestration import table
from benchmarks.talks import Counts, Talk
from ray_gym.deployments.small_model import NAME
from ray_gym.deployments.vllm import VllmEngine
from ray_gym.deployments.vllm.options import VllmOptions
from ray_gym.hosting.admission import Admission, AdmissionLimits, Gated
from ray_gym.hosting.transport import ServeModel
from ray_gym.models.base import EngineCheck, Sampling
from ray_gym.run.cluster.cluster import connected

BLOCK, BLOCKS = 32, 64
TOKENS = 48
AT_ONCE = 12
SIGNS = AdmissionLimits(max_kv_use=0.7, max_recomputed=0.05)


class Searching:
    """A cap that looks for its place by itself: additive increase, multiplicative decrease. What runs have is fixed."""

    is_gated = True

    def __init__(self, app: str) -> None:
        self._model = ServeModel(app, "session", SIGNS, transport="batched")
        self._cap = 2.0

    async def room(self, conversations: float) -> float:
        crowded = await self._model.room(conversations) == 0
        self._cap = max(1.0, self._cap / 2) if crowded else self._cap + 1
        return max(0.0, self._cap - conversations)


def gates(app: str) -> dict[str, Gated]:
    """By case."""
    caps = {f"max_conversations: {cap}": AdmissionLimits(max_conversations=cap) for cap in (3, 6)}
    fixed = {**caps, "max_kv_use: 0.7, max_recomputed: 0.05": SIGNS, "none": None}
    return {
        **{case: ServeModel(app, "session", limits, transport="batched") for case, limits in fixed.items()},
        "a cap that searches": Searching(app),
    }


async def measure(app: str, gate: Gated, name: str, conversations: int, turns: int) -> dict[str, Any]:
    model, admission, at_once = (
        ServeModel(app, "session", transport="batched"),
        Admission([gate]),
        asyncio.Semaphore(AT_ONCE),
    )
    there, most = 0, 0

    async def admitted(talk: Talk) -> Counts:
        nonlocal there, most
        async with at_once, admission.place(begins=True):
            there += 1
            most = max(most, there)
            try:
                return await talk.turns(model, turns)
            finally:
                there -= 1

    talks = [Talk(f"{name} {number}", BLOCK, Sampling(max_tokens=TOKENS)) for number in range(conversations)]
    began = time.perf_counter()
    total = Counts.sum(await asyncio.gather(*map(admitted, talks)))
    seconds = time.perf_counter() - began
    await model.close()
    return {
        "gate": name,
        "at once": most,
        "calls": total.calls,
        "prompt tokens": total.prompt,
        "least": total.least,
        "anew": total.computed - total.least,
        "seconds": seconds,
        "calls/s": total.calls / seconds,
    }


def engine() -> VllmEngine:
    arguments: dict[str, Any] = {"enforce_eager": True, "max_model_len": 1024, "max_num_seqs": 32}
    cache = {"block_size": BLOCK, "num_gpu_blocks_override": BLOCKS, "kv_cache_memory_bytes": 2**28}
    made = VllmEngine(VllmOptions(model=NAME, gpus=0, engine_args=arguments | cache))
    made.check(EngineCheck("small", {}, uses_tools=False, episodes=AT_ONCE))
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    given, heading = begin(_parser(), arguments)
    model = engine()
    with connected():
        try:
            model.start("admission", "small", lambda text: print(text, file=sys.stderr))
            lines = []
            for case, gate in gates(model.app).items():
                lines.append(asyncio.run(measure(model.app, gate, case, given.conversations, given.turns)))
                print(f"{case}: {lines[-1]['seconds']:.0f} s", flush=True)
        finally:
            model.stop()
    print(table(lines))
    heading.write(given.json, lines=lines)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.admission", description=__doc__)
    parser.add_argument("--conversations", type=positive, default=24)
    parser.add_argument("--turns", type=positive, default=6)
    add_json(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
