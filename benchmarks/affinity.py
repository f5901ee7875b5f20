"""What session affinity saves: `python -m benchmarks.affinity`.

The small model under real vLLM on CPU, in two replicas whose KV caches have room for everything. Conversations of several turns are
held at once, first with affinity, then as many others without. Prompt tokens computed are those that the engine did not find in its
cache, by its own count. The least possible is what no cache of whole blocks could have: the first prompts, what is new in each
turn, and the part of a block that a history ends with.
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
from benchmarks.talks import Talk, hold
from ray_gym.deployments.small_model import NAME
from ray_gym.deployments.vllm import VllmEngine
from ray_gym.deployments.vllm.options import VllmOptions
from ray_gym.hosting.affinity import Affinity
from ray_gym.hosting.transport import ServeModel
from ray_gym.models.base import EngineCheck, Sampling
from ray_gym.run.cluster.cluster import connected

BOUND = 1.1
BLOCK = 32
CASES: tuple[Affinity, ...] = ("session", "none")


def engine(conversations: int) -> VllmEngine:
    made = VllmEngine(
        VllmOptions(
            model=NAME,
            replicas=2,
            gpus=0,
            engine_args={
                "enforce_eager": True,
                "max_model_len": 2048,
                "max_num_seqs": 64,
                "block_size": BLOCK,
                "kv_cache_memory_bytes": 2**30,
            },
            env_vars={"OMP_NUM_THREADS": "1"},
        )
    )
    made.check(EngineCheck("small", {}, uses_tools=False, episodes=conversations))
    return made


async def measure(app: str, affinity: Affinity, conversations: int, turns: int, tokens: int) -> dict[str, Any]:
    # In batches, calls without a key mostly go where they come from.
    model = ServeModel(app, affinity, transport="handle" if affinity == "none" else "batched")
    talks = [Talk(f"{affinity} {number}", BLOCK, Sampling(max_tokens=tokens)) for number in range(conversations)]
    began = time.perf_counter()
    counts = await hold(talks, model, turns)
    seconds = time.perf_counter() - began
    await model.close()
    return {
        "affinity": affinity,
        "calls": counts.calls,
        "prompt tokens": counts.prompt,
        "computed": counts.computed,
        "least": counts.least,
        "computed / least": f"{counts.ratio:.3f}",
        "seconds": seconds,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    given, heading = begin(_parser(), arguments)
    model = engine(given.conversations)
    with connected():
        try:
            model.start("affinity", "small", lambda text: print(text, file=sys.stderr))
            sizes = (given.conversations, given.turns, given.tokens)
            lines = [asyncio.run(measure(model.app, affinity, *sizes)) for affinity in CASES]
        finally:
            model.stop()
    print(table(lines))
    ratio = float(lines[0]["computed / least"])
    print(f"\nWith affinity: {ratio:.3f} of the least possible (bound {BOUND:g})")
    heading.write(given.json, lines=lines)
    return 0 if ratio <= BOUND else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.affinity", description=__doc__)
    parser.add_argument("--conversations", type=positive, default=16)
    parser.add_argument("--turns", type=positive, default=8)
    parser.add_argument("--tokens", type=positive, default=32, help="at most, a turn")
    add_json(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
