"""Defines an environment whose tools end their own process, or wait until somebody lets them go on."""

from __future__ import annotations

import asyncio
import os
import random
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ray_gym import Environment, Participant, Task, tool


class Walk(Task):
    notes: str = "."
    """A folder: what was stepped on leaves a file in it."""
    mined_start: bool = False


@dataclass
class Place:
    notes: Path
    steps: int = 0

    def note(self, what: str) -> None:
        (self.notes / f"{what}-{secrets.token_hex(8)}").touch()


class Minefield(Environment[Walk, Place]):
    """Walk as far as you can."""

    participants = ("policy",)

    def generate(self, rng: random.Random, index: int) -> Walk:
        return Walk()

    def setup(self, task: Walk, episode: Any) -> Place:
        place = Place(Path(task.notes))
        if task.mined_start:
            place.note("start")
            os._exit(3)
        return place

    @tool()
    async def step(self, state: Place, caller: Participant, on: Literal["grass", "bog", "mine"]) -> str:
        """Set a foot on something."""
        state.note(on)
        if on == "mine":
            os._exit(3)
        while on == "bog" and not (state.notes / "let go").exists():  # noqa: ASYNC110  another process makes it
            await asyncio.sleep(0.02)
        state.steps += 1
        return f"{state.steps} steps"

    def score(self, state: Place, episode: Any) -> float:
        return float(state.steps)
