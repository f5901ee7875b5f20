"""Does the optimiser steps: measures a batch under the current, the recorded and the first weights, and learns from it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from examples.grpo.annotations import Annotations
from examples.grpo.checks import CheckFailed, check_float32, check_ratios, check_start
from examples.grpo.loss import clipped_loss, distributions
from examples.grpo.passes import Pass, passes
from examples.grpo.settings import Settings


@dataclass(frozen=True, slots=True)
class Learner:
    """Holds what an optimiser step changes, and the weights that it compares with."""

    model: Any
    optimizer: torch.optim.Optimizer
    start: Any
    """Model before the first step."""
    weights_of: Callable[[int], Any]
    """Function that returns the model of an earlier version."""
    settings: Settings
    temperature: float

    def learn(self, batch: Any, step: int) -> tuple[dict[str, Any], Annotations]:
        """Makes the optimiser step number `step` (from 0) on a batch's tensors (`ray_gym.stream.tensors.Tensors`).

        The loss is the mean over the tokens of samples whose advantage is not 0, of the clipped loss and the divergence
        from the start. Tokens that are too old have no term in it, and count in the mean all the same: the gradient is
        the full batch's without their terms. All tokens are checked first. Returns the step's measured values and
        annotations. Errors: CheckFailed, before anything was changed.
        """
        if step == 0:
            check_float32(self.model, step)
        measured: dict[str, list[Tensor]] = defaultdict(list)
        annotations, losses = Annotations(), self.settings.loss
        trained = batch.loss_mask & (batch.advantages != 0)[:, None]
        in_loss = int((trained & (step - batch.versions <= self.settings.max_staleness)).sum())
        total = (int(trained.sum()) + batch.withheld_tokens) if in_loss else 0
        self.optimizer.zero_grad()
        for part in passes(batch, self.settings.tokens_per_pass):
            with torch.no_grad():
                first = distributions(self.start, part.token_ids, part.mask, self.temperature)
            with torch.set_grad_enabled(bool((part.advantages != 0).any())):
                now = distributions(self.model, part.token_ids, part.mask, self.temperature)
                divergence = now.divergence(first)
                ratios = (now.of_chosen - part.recorded).exp()
                in_time = step - part.versions <= self.settings.max_staleness
                loss = clipped_loss(ratios, part.advantages, losses.clip_low, losses.clip_high)
                loss = (loss + losses.kl * divergence) * in_time
            if loss.requires_grad and total:
                (loss.sum() / total).backward()
            with torch.no_grad():
                measured["kl"].append(divergence.detach())
                self._measure(part, now, loss, step, measured)
                annotations.add(*part.places, now.of_chosen, now.entropy, part.advantages)
        values = {name: torch.cat(parts) for name, parts in measured.items()}
        fresh = values["staleness"] == 0
        check_ratios(float(values["ratio_error"].max()), step)
        check_start(float(values["kl"].mean()), step)
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.optimizer.clip_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.optimizer.lr_at(step)
        if total:
            self.optimizer.step()
        row = {name: float(values[name].mean()) for name in ("kl", "entropy", "staleness")}
        row |= {
            "loss": float(values["loss"].sum()) / max(1, total),
            "gradient_norm": float(norm),
            "stalest": int(values["staleness"].max()),
            "withheld_tokens": int((values["staleness"] > self.settings.max_staleness).sum()),
            "trained_tokens": in_loss,
            "fresh_tokens": int(fresh.sum()),
            "ratio_error_fresh": float(values["ratio_error"][fresh].max()) if fresh.any() else float("nan"),
            "ratio_error": float(values["ratio_error"].max()),
            "clipped": float(values["clipped"].mean()),
        }
        return row, annotations

    def _measure(self, part: Pass, now: Any, loss: Tensor, step: int, measured: dict[str, list[Tensor]]) -> None:
        """Measures the tokens of a pass. `now`: distributions of the current weights."""
        ratios = (now.of_chosen - part.recorded).exp()
        bounds = self.settings.loss
        measured["entropy"].append(now.entropy)
        measured["staleness"].append((step - part.versions).float())
        measured["ratio_error"].append(self._ratio_errors(part, now.of_chosen, step))
        measured["clipped"].append(((ratios < 1 - bounds.clip_low) | (ratios > 1 + bounds.clip_high)).float())
        measured["loss"].append(loss.detach() * (part.advantages != 0))

    def _ratio_errors(self, part: Pass, now: Tensor, step: int) -> Tensor:
        """Returns how far each token's ratio is from 1 under the weights that it was drawn from: float32 [tokens].

        For tokens of the current version that is the ratio of the loss; others are computed under their checkpoint.
        Errors: CheckFailed for a version that is not known here.
        """
        own = now.clone()
        for version in set(part.versions.tolist()) - {step}:
            if not 0 <= version < step:
                raise CheckFailed(f"step {step}: a token is said to be of version {version}")
            of_version = part.versions == version
            earlier = distributions(self.weights_of(version), part.token_ids, part.mask, self.temperature)
            own[of_version] = earlier.of_chosen[of_version]
        return ((own - part.recorded).exp() - 1).abs()
