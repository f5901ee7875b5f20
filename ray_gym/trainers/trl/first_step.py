"""Checks, before the first optimiser step, that the trainer's model is the one that has generated the tokens."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from ray_gym.errors import UserError

MAX_DIFFERENCE = 0.1
"""Most that the trainer's logprobs may differ from the recorded ones at the first step, as a mean over tokens.

Equal weights in float32 differ by some 1e-6, and in bfloat16 by some 1e-2. Other weights, another temperature and a mask
that is shifted by a token differ by 0.1 and more, unless the model is nearly uniform.
"""


class FirstStep(TrainerCallback):  # type: ignore[misc]  # mypy does not follow imports of transformers
    """Compares logprobs by a metric that TRL has computed on all ranks when the gradient of the first step is there."""

    def __init__(self, trainer: Any, metric: str, most: float | None) -> None:
        """Takes the trainer, the name of its metric, and its largest value; None means no check."""
        self._trainer = trainer
        self._metric = metric
        self._most = most
        self._is_done = False

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        values = self._trainer._metrics["train"].get(self._metric)
        if self._is_done or self._most is None or not values:
            return
        self._is_done = True
        if not max(values) <= self._most:  # also for NaN
            raise UserError(
                f"the first step: {self._metric} is {max(values):.3g}, at most {self._most:g} was expected: the trainer's "
                "model gives the recorded tokens other logprobs than were recorded; load trainer and engine from one "
                "checkpoint, with the same precision and temperature (max_difference=None leaves this check out)"
            )
