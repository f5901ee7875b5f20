"""Has the policy mend a small Python package, in a sandbox. Hidden checks in another sandbox decide."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, field_validator

from ray_gym import Environment, Episode, Opening, Participant, Score, tool
from ray_gym import Options as EnvironmentOptions
from ray_gym.envs.code_repair.generator import Wanted, make_task
from ray_gym.envs.code_repair.grading import FIXED_HASH, Carried, HiddenChecks
from ray_gym.envs.code_repair.mutations import KINDS, Kind
from ray_gym.envs.code_repair.packages import BLUEPRINTS
from ray_gym.envs.code_repair.players import writing_player
from ray_gym.envs.code_repair.task import CodeRepairTask, wrong_with
from ray_gym.envs.code_repair.wording import prompt_of
from ray_gym.episode.sandbox import EpisodeSandbox
from ray_gym.models.player import Player
from ray_gym.sandbox import ProgramEnd

READ_BYTES = 2**18
"""Bytes of a file that may be read by a tool."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """Holds an episode's sandbox, where the package is, and its task."""

    sandbox: EpisodeSandbox
    task: CodeRepairTask


class CodeRepair(Environment[CodeRepairTask, Workshop]):
    """The policy mends a fault in a Python package, by tools or as an agent's program; hidden checks decide."""

    uses_sandbox = True
    pattern = "multi-step"
    scoring = "hidden checks in a sandbox of their own"

    class Options(EnvironmentOptions):
        """Holds the options of the environment."""

        kinds: tuple[Kind, ...] = KINDS
        """Kinds of the faults that are planted."""
        packages: tuple[str, ...] = tuple(one.name for one in BLUEPRINTS)
        """Sorts of packages."""
        visible: Annotated[int, Field(ge=0, le=12)] = 4
        """Number of tests that the policy gets. They pass before and after."""
        hidden: Annotated[int, Field(ge=2, le=16)] = 10
        """Most hidden checks. Up to half of them see the fault, the others see what else may break."""
        tests_deadline_s: Annotated[float, Field(gt=0)] = 30.0
        """Seconds that the hidden checks may take in all."""
        files: Annotated[int, Field(ge=1, le=1000)] = 50
        """Most .py files of the package that are graded; with more of them it fails."""
        files_kb: Annotated[int, Field(ge=1, le=16384)] = 256
        """Most kilobytes of these files in all."""
        shown: Annotated[int, Field(ge=100)] = 6000
        """Characters of a command's output that the policy is shown: the first and the last."""

        @field_validator("kinds", "packages")
        @classmethod
        def _has_one(cls, value: tuple[str, ...]) -> tuple[str, ...]:
            if not value:
                raise ValueError("give at least one")
            return value

        @field_validator("packages")
        @classmethod
        def _are_known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
            known = [one.name for one in BLUEPRINTS]
            if unknown := [name for name in value if name not in known]:
                raise ValueError(f"there is no {unknown[0]!r}; there are: {', '.join(known)}")
            return value

    def generate(self, rng: random.Random, index: int) -> CodeRepairTask:
        options = self.options
        blueprints = [one for one in BLUEPRINTS if one.name in options.packages]
        return make_task(rng, Wanted(blueprints, options.kinds, options.visible, options.hidden))

    def check(self, task: CodeRepairTask) -> None:
        if (wrong := wrong_with(task)) is not None:
            raise ValueError(wrong)

    def setup(self, task: CodeRepairTask, episode: Episode) -> Workshop:
        return Workshop(episode.sandbox, task)

    async def furnish(self, state: Workshop, episode: Episode) -> None:
        for file in state.task.files:
            await state.sandbox.write(file.path, file.text.encode())

    def opening(self, task: CodeRepairTask, state: Workshop) -> Opening:
        return Opening(messages={"policy": prompt_of(task)})

    def perfect(self, task: CodeRepairTask) -> Mapping[str, Player]:
        return {"policy": writing_player(task)} if task.fixed else {}

    @tool()
    async def read(self, state: Workshop, caller: Participant, path: str) -> str:
        """Returns the text of a file. The path is relative to the folder with the package."""
        return (await state.sandbox.read(path, READ_BYTES)).decode("utf-8", "replace")

    @tool()
    async def write(self, state: Workshop, caller: Participant, path: str, text: str) -> str:
        """Writes a file anew, with this text."""
        data = text.encode("utf-8", "replace")
        await state.sandbox.write(path, data)
        return f"wrote {len(data)} bytes"

    @tool()
    async def run_command(self, state: Workshop, caller: Participant, command: str) -> str:
        """Runs a shell command in the folder with the package, and returns what it printed."""
        end = await state.sandbox.run(["sh", "-c", command], env=FIXED_HASH)
        return told_of(end, self.options.shown)

    async def score(self, state: Workshop, episode: Episode) -> Score:
        options = self.options
        checks = HiddenChecks(Carried(options.files, options.files_kb), options.tests_deadline_s)
        return await checks.score(episode)


def told_of(end: ProgramEnd, shown: int) -> str:
    """Returns what a command printed, and how it ended if not by itself with 0. `shown`: most characters of the output."""
    text = (end.stdout + end.stderr).decode("utf-8", "replace")
    if len(text) > shown:
        text = f"{text[: shown // 2]}\n... ({len(text) - shown} characters left out)\n{text[-(shown // 2) :]}"
    if end.ended is not None:
        return f"{text}\n[it was ended: {end.ended.value}]".lstrip()
    return f"{text}\n[exit code {end.exit_code}]".lstrip() if end.exit_code else text or "[it printed nothing]"
