"""Stands in for a stream and its engine: groups made by hand, whose logprobs a tiny model in this process computes.

A bridge can be tested with it on forks, failures and interleaved masks, which are the same every time, and without Ray.
The model takes the weights that are pushed, and every group has the version and the logprobs of the weights now.
"""

from __future__ import annotations

import itertools
from collections import deque
from pathlib import Path
from typing import Any

import torch
from handmade import REPEATS, handmade_groups, tiny_model

from ray_gym.config.sections import RunConfig
from ray_gym.errors import UserError
from ray_gym.stream.group import Group
from ray_gym.stream.options import StreamOptions


class HandmadeWeights:
    """Has the members of `ray_gym.Weights` that bridges use."""

    def __init__(self) -> None:
        self.model = tiny_model()
        self.version = 0

    def update(self, version: int, *, state_dict: dict[str, torch.Tensor]) -> int:
        """Loads tensors that fit, and returns the version. Errors: UserError for others, which touch nothing."""
        own = self.model.state_dict()
        wrong = [name for name, tensor in state_dict.items() if own[name].shape != tensor.shape]
        if wrong:
            raise UserError(f"{wrong[0]}: {tuple(state_dict[wrong[0]].shape)} instead of {tuple(own[wrong[0]].shape)}")
        assert version > self.version
        self.model.load_state_dict(state_dict, strict=False)
        self.version = version
        return version


class HandmadeStream:
    """Has the members of a `BlockingStream` that bridges use. Each batch of groups has other tokens."""

    def __init__(self, checkpoint: Path, max_staleness: int | None = None, temperature: float = 1.0) -> None:
        policy = {"model": "policy", "sampling": {"temperature": temperature}}
        model = {"engine": "vllm", "model": str(checkpoint)}
        sections = {"models": {"policy": model}, "participants": {"policy": policy}}
        tasks = {"generate": 1, "repeats": REPEATS}
        self.config = RunConfig.model_validate({"environment": {"id": "handmade"}, "tasks": tasks, **sections})
        self.options = StreamOptions(max_staleness=max_staleness)
        self._weights = HandmadeWeights()
        self._batches = itertools.count()
        self._ready: deque[Group] = deque()
        self.delivered: list[Group] = []
        self.acknowledged: list[int] = []
        self.told: list[int] = []

    def weights(self, model: str) -> Any:
        return self._weights

    @property
    def version(self) -> int:
        return self._weights.version

    @property
    def cursor(self) -> dict[str, Any]:
        return {"acknowledged": sorted(self.acknowledged), "version": self.version}

    def __iter__(self) -> HandmadeStream:
        return self

    def __next__(self) -> Group:
        if not self._ready:
            batch = next(self._batches)
            made = handmade_groups(self._weights.model, seed=batch, version=self.version)
            for group in made:
                number = group.number + batch * len(made)
                self._ready.append(Group(number, f"g{number}", group.task_id, group.version, group.episodes))
        self.delivered.append(self._ready.popleft())
        return self.delivered[-1]

    def acknowledge(self, *groups: Group) -> None:
        for group in groups:
            assert group.number not in self.acknowledged, "twice"
            self.acknowledged.append(group.number)

    def advance(self, version: int) -> None:
        self.told.append(version)
