"""Runs two lines of adapters on one engine and updates each, for `test_lines_of_vllm.py`.

Its arguments are FOLDER (with the checkpoints and adapters) and RESULTS.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

from update_weights import ENGINE_ARGS, Conversations, eventually, pids_of, refused, replicas_of, running

from ray_gym.deployments.vllm import VllmEngine
from ray_gym.deployments.vllm.options import VllmOptions
from ray_gym.deployments.vllm_adapter import VllmAdapterEngine
from ray_gym.models.base import Engine, EngineCheck, Model
from ray_gym.run.cluster.cluster import connect
from ray_gym.weights.client import Weights

COUNT, MAX_TOKENS = 8, 16


class Lines:
    """Plays the conversations of several lines, and updates each."""

    def __init__(self, engines: dict[str, VllmAdapterEngine], folder: Path) -> None:
        self._folder = folder
        self.app = next(iter(engines.values())).app
        self.models: dict[str, Model] = {name: engine.connect() for name, engine in engines.items()}
        self.weights = {name: Weights(engine.app, engine.line) for name, engine in engines.items()}
        self._talks: dict[str, Conversations] = {}

    def begin(self, name: str, turns: int) -> None:
        self._talks = {
            line: Conversations(model, f"{name}-{line}", COUNT, turns, MAX_TOKENS)
            for line, model in self.models.items()
        }

    async def until(self, answered: int) -> None:
        await asyncio.gather(*(talks.until(answered) for talks in self._talks.values()))

    async def ended(self) -> dict[str, Any]:
        return {line: await talks.ended() for line, talks in self._talks.items()}

    async def update(self, line: str, version: int, adapter: str) -> None:
        await asyncio.to_thread(self.weights[line].update, version, adapter=self._folder / adapter)

    def versions(self) -> dict[str, int]:
        return {line: weights.version for line, weights in self.weights.items()}


async def apart(lines: Lines) -> dict[str, Any]:
    """Both lines get a version 1 of their own while they talk, then one of them gets a version 2."""
    lines.begin("apart", 6)
    await lines.until(COUNT)
    await lines.update("policy", 1, "a")
    await lines.until(2 * COUNT)
    await lines.update("user", 1, "b")
    await lines.until(4 * COUNT)
    await lines.update("policy", 2, "c")
    return {"talks": await lines.ended(), "versions": await asyncio.to_thread(lines.versions)}


async def refusals(lines: Lines, folder: Path) -> dict[str, str]:
    """Asks for what a line does not take."""
    user, unknown = lines.weights["user"], Weights(lines.app, "usr")
    asked = {
        "path": lambda: user.update(5, folder / "second"),
        "unknown": lambda: unknown.update(5, adapter=folder / "a"),
        "version": lambda: user.update(1, adapter=folder / "a"),
        "below": lambda: Weights(lines.app).update(2, folder / "second"),
    }
    return {name: await asyncio.to_thread(refused, ask) for name, ask in asked.items()}


async def killed(lines: Lines) -> dict[str, Any]:
    """The replica is killed by SIGKILL, and the one in its place talks on both lines."""
    (replica,) = await asyncio.to_thread(replicas_of, lines.app)
    replica.kill()
    await eventually(lambda: replica.pid not in pids_of(lines.app) and running(lines.app) == 1, 400)
    lines.begin("back", 2)
    return {"talks": await lines.ended(), "versions": await asyncio.to_thread(lines.versions)}


async def below(lines: Lines, folder: Path) -> dict[str, Any]:
    """Other weights below take both adapters away, in the middle of answers; then one line gets another."""
    lines.begin("below", 3)
    await lines.until(COUNT)
    await asyncio.to_thread(Weights(lines.app).update, 3, folder / "second")
    await lines.until(2 * COUNT)
    await lines.update("user", 4, "b")
    return {"talks": await lines.ended(), "versions": await asyncio.to_thread(lines.versions)}


async def scenes(lines: Lines, folder: Path) -> dict[str, Any]:
    results, began = {}, time.monotonic()
    for name, scene in (
        ("apart", apart(lines)),
        ("refusals", refusals(lines, folder)),
        ("killed", killed(lines)),
        ("below", below(lines, folder)),
    ):
        results[name] = await scene
        print(f"{name}: {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
    for model in lines.models.values():
        await model.close()
    return results


def main(folder: Path, results: Path) -> None:
    arguments = {**ENGINE_ARGS, "max_loras": 3}
    base = VllmEngine(VllmOptions(model=str(folder / "first"), gpus=0, engine_args=arguments, tool_parser=None))
    lines = {name: VllmAdapterEngine(VllmAdapterEngine.Options(of="tiny")) for name in ("policy", "user")}
    engines: dict[str, Engine] = {"tiny": base, **lines}
    for name, engine in engines.items():
        engine.check(EngineCheck(name, {}, uses_tools=False, engines=engines))
    with connect():
        try:
            for name, engine in engines.items():
                engine.start("lines", name, lambda text: print(text, file=sys.stderr))
            results.write_text(json.dumps(asyncio.run(scenes(Lines(lines, folder), folder))))
        finally:
            base.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
