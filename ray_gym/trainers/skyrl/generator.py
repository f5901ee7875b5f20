"""Implements SkyRL's `GeneratorInterface` over a service: it plays the tasks of the prompts that SkyRL asks for."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from skyrl.train.generators.base import GeneratorInput, GeneratorInterface, GeneratorOutput, TrajectoryID

from ray_gym.client import Client, RolloutRequest
from ray_gym.errors import RunFailed, UserError
from ray_gym.seeds import derive_seed
from ray_gym.service.api import JsonObject
from ray_gym.stream import Group
from ray_gym.trainers.counts import add_and_say
from ray_gym.trainers.rows import why_nothing_trains
from ray_gym.trainers.service import check_drawn_at, play
from ray_gym.trainers.skyrl.trajectories import TrajectoryRow, trajectory_rows

TASK = "task"
"""Column of SkyRL's dataset with the task of a prompt: an object, or its JSON text. The prompt itself is not read."""


class GroupGenerator(GeneratorInterface):  # type: ignore[misc]  # mypy does not follow imports of skyrl
    """Plays one group for each prompt of a batch, and answers with their rows in the order of the prompts."""

    def __init__(
        self,
        client: Client,
        *,
        temperature: float,
        longest: int | None,
        filler: int,
        seed: int,
        environment: str | None = None,
    ) -> None:
        """Takes the client of the service; the temperature by which SkyRL divides logits; the most tokens of a row
        (None: no limit); the token id of rows that train nothing; a seed for what is generated and drawn; and the name
        of an environment of the service (None: the config's own).
        """
        self._client = client
        self._temperature = temperature
        self._longest = longest
        self._filler = filler
        self._seed = seed
        self._environment = environment
        self.served_version: int | None = None
        """Version of the weights that the service was last given; None if it was given none."""
        self.counts = Counter[str]()
        """Counts of what was taken for training and left out since the start; `trajectory_rows` names them."""

    async def generate(self, input_batch: GeneratorInput) -> GeneratorOutput:
        """Returns the rows of the prompts' groups. SkyRL gives each prompt as often as it wants episodes of it.

        Errors: UserError for a mistake in the dataset or the config; those of `ray_gym.trainers.service.play`; RunFailed
        for a training batch without a trainable token.
        """
        asked, metadata = input_batch["trajectory_ids"], input_batch["batch_metadata"]
        is_training = metadata.training_phase == "train"
        repeats = Counter(one.instance_id for one in asked)
        extras = {one.instance_id: extra for one, extra in zip(asked, input_batch["env_extras"], strict=True)}
        groups = await asyncio.to_thread(
            self._played, extras, max(repeats.values()), metadata.training_phase, metadata.global_step
        )
        rows, counts = list[TrajectoryRow](), Counter[str]()
        for instance_id, group in zip(repeats, groups, strict=True):
            if is_training:
                check_drawn_at(group, self._temperature)
            made, found = trajectory_rows(group, instance_id, self._longest, self._filler, trains=is_training)
            rows += made
            counts += found
        if is_training:
            counts["stale"] = sum(self._is_stale(row) for row in rows)
            add_and_say(self.counts, counts)
            if not counts["rows"]:
                raise RunFailed(
                    f"step {metadata.global_step}: the batch has no trainable token: {why_nothing_trains(groups)}; "
                    f"{dict(counts)}"
                )
        return output_of(rows, {f"ray_gym/{name}": float(count) for name, count in counts.items()})

    def _is_stale(self, row: TrajectoryRow) -> bool:
        return self.served_version is not None and row.version is not None and row.version < self.served_version

    def _played(self, extras: dict[str, Any], repeats: int, phase: str, step: int | None) -> list[Group]:
        """Plays the groups, and returns them in the order of the prompts."""
        tasks = _tasks_of(extras, phase)
        seed = derive_seed(self._seed, phase, step, *extras)
        given: dict[str, Any] = {"generate": len(extras)} if tasks is None else {"tasks": tasks}
        request = RolloutRequest(environment=self._environment, repeats=repeats, seed=seed, **given)
        groups = play(self._client, request)
        if tasks is None:
            return groups
        by_task = {group.task_id: group for group in groups}
        return [by_task[task["task_id"]] for task in tasks]


def _tasks_of(extras: dict[str, Any], phase: str) -> Sequence[JsonObject] | None:
    """Returns the task of each prompt, with an id; None if no prompt has one, so that the environment generates them.

    Without an id of its own a task has the phase and the number of its row in SkyRL's dataset. Errors: UserError.
    """
    given = [(extra or {}).get(TASK) for extra in extras.values()]
    if not any(given):
        return None
    tasks = []
    for instance_id, one in zip(extras, given, strict=True):
        try:
            task = json.loads(one) if isinstance(one, str) else one
        except ValueError as error:
            raise UserError(f"row {instance_id} of the dataset: {TASK}: it is no JSON: {error}") from None
        if not isinstance(task, dict):
            raise UserError(
                f"row {instance_id} of the dataset: {TASK}: it is no object with the fields of the environment's task; "
                "give all rows one, or none"
            )
        tasks.append({**task, "task_id": task.get("task_id") or f"{phase}-{instance_id}"})
    return tasks


def output_of(rows: Sequence[TrajectoryRow], metrics: dict[str, float]) -> GeneratorOutput:
    """Returns rows as SkyRL's step-wise `GeneratorOutput`."""
    return GeneratorOutput(
        prompt_token_ids=[row.prompt_token_ids for row in rows],
        response_ids=[row.response_ids for row in rows],
        rewards=[row.reward for row in rows],
        loss_masks=[row.loss_mask for row in rows],
        stop_reasons=[row.stop_reason for row in rows],
        rollout_metrics=metrics,
        rollout_logprobs=[row.logprobs for row in rows],
        trajectory_ids=[TrajectoryID(row.instance_id, row.repetition_id) for row in rows],
        trajectory_generation_times=None,
        trajectory_time_splits=None,
        rollout_expert_indices=None,
        rollout_sample_support=None,
        is_last_step=[row.is_last for row in rows],
        env_metrics=None,
        pixel_values=None,
        image_grid_thw=None,
    )
