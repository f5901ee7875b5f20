"""Implements AReaL's rollout workflow: each call has a service play one whole group.

    trainer.train(workflow=GroupWorkflow("http://127.0.0.1:8000", repeats=8, temperature=1.0, tokenizer=tokenizer))

AReaL drives: it calls the workflow for items of its dataset, within its own bounds of concurrency and staleness. Its
inference engine, which comes with the call, is not asked for anything.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, get_args

import numpy as np
from areal import workflow_context
from areal.api import RolloutWorkflow
from areal.utils import stats_tracker

from ray_gym.advantages import Baseline, Forks, group_normalised, rewards_of
from ray_gym.client import AsyncClient, Client
from ray_gym.errors import UserError
from ray_gym.trainers.areal import TESTED
from ray_gym.trainers.areal.trajectory import trajectory_of
from ray_gym.trainers.compatibility import check_package
from ray_gym.trainers.counts import add_and_say, counts_of
from ray_gym.trainers.rows import rows_of, without_longer
from ray_gym.trainers.service import (
    check_drawn_at,
    check_repeats,
    check_served_environment,
    check_served_tokenizer,
    play_group,
    request_for,
)


class GroupWorkflow(RolloutWorkflow):  # type: ignore[misc]  # mypy does not follow imports of areal
    """Plays a group of a service for each item of AReaL's dataset."""

    def __init__(
        self,
        url: str,
        repeats: int,
        temperature: float,
        tokenizer: Any,
        *,
        model: str = "policy",
        token: str | None = None,
        environment: str | None = None,
        longest: int | None = None,
        baseline: Baseline = group_normalised,
        forks: Forks = "copied",
        any_version: bool = False,
    ) -> None:
        """Takes the address of the service, and what AReaL's trainer takes.

        `repeats`: number of episodes of a group. `temperature`: `actor.temperature` of AReaL's config. `tokenizer`: that
        of `tokenizer_path`, which is compared with that of the service's `model`. `token`: the service's; None means
        RAY_GYM_TOKEN. `environment`: its name in the service; None means the config's own. `longest`: most tokens of a
        sequence; None means no limit. `baseline` and `forks`: those of `Group.advantages`. `any_version`: True accepts
        versions of AReaL that the bridge was not tested with. Errors: UserError for another version or tokenizer, an
        environment that the service has not, and what can't be trained on; those of the client.
        """
        check_package("areal", TESTED, any_version=any_version)
        check_repeats(repeats)
        if not temperature > 0:
            raise UserError(f"temperature: {temperature}; give one above 0, by which the trainer can divide its logits")
        if forks not in get_args(Forks):
            raise UserError(f"forks: {forks!r} is none of {', '.join(get_args(Forks))}")
        with Client(url, token) as client:
            check_served_environment(client, environment)
            check_served_tokenizer(client, model, tokenizer)
        self._url = url
        self._repeats = repeats
        self._temperature = temperature
        self._token = token
        self._environment = environment
        self._longest = longest
        self._baseline = baseline
        self._forks: Forks = forks
        self.counts = Counter[str]()
        """Counts of what was played and left out since the start; `counts_of` names them."""

    async def arun_episode(self, engine: Any, data: dict[str, Any]) -> dict[str, Any] | None:
        """Returns the trajectory of a group; None, which AReaL counts as rejected, if it has nothing to train on.

        `data`: `task`, or a `seed` for a task that the environment generates. Errors: UserError if it has neither;
        those of `ray_gym.trainers.service`. AReaL logs what a workflow raises, counts it as rejected, and goes on.
        """
        task, seed = data.get("task"), data.get("seed")
        if task is None and seed is None:
            raise UserError(
                f"an item of the dataset has neither `seed` (for a task that the environment generates) nor `task` (an "
                f"object with its fields); it has {', '.join(sorted(data)) or 'nothing'}"
            )
        tasks = None if task is None else [task]
        seed = random.getrandbits(62) if seed is None else int(seed)
        request = request_for(self._repeats, seed, tasks, environment=self._environment)
        async with AsyncClient(self._url, self._token) as client:
            group = await play_group(client, request)
        check_drawn_at(group, self._temperature)
        rows, too_long = without_longer(rows_of(group, self._baseline, self._forks), self._longest)
        counts = counts_of([group], rows, too_long)
        add_and_say(self.counts, counts)
        numbers = {f"ray_gym/{name}": float(count) for name, count in counts.items()}
        rewards = rewards_of(group.episodes, "policy")
        if not np.isnan(rewards).all():
            numbers["reward"] = float(np.nanmean(rewards))
        stats_tracker.get(workflow_context.stat_scope()).scalar(**numbers)
        return trajectory_of(rows)
