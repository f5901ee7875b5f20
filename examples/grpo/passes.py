"""Cuts a batch into passes through the model, short samples with short ones, so that little is padding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch import Tensor


@dataclass(frozen=True, slots=True)
class Pass:
    """Holds some rows of a batch's padded tensors (`ray_gym.stream.tensors.Tensors`), cut to the longest of them."""

    rows: Tensor
    """Number of each row in the batch: int64 [rows]."""
    token_ids: Tensor
    mask: Tensor
    """True for generated tokens: bool [rows, tokens]."""
    recorded: Tensor
    """Recorded logprob of each generated token: float32 [generated]. This and the next are in the order of rows and
    positions."""
    versions: Tensor
    """Version of the weights that each generated token came from: int32 [generated]."""
    advantages: Tensor
    """Advantage of the sample that each generated token is in: float32 [generated]."""

    @property
    def places(self) -> tuple[Tensor, Tensor]:
        """Returns the row in the batch and the position of each generated token: int64 [generated] each."""
        row, position = self.mask.nonzero(as_tuple=True)
        return self.rows[row], position


def passes(batch: Any, budget: int) -> Iterator[Pass]:
    """Yields the passes of a batch. `budget`: most tokens of a pass, padding included; a longer sample is alone."""
    lengths = batch.attention_mask.sum(1)
    # Samples without an advantage need no gradient, so they are apart from the others.
    idle = batch.advantages == 0
    for part in (~idle, idle):
        chosen = part.nonzero()[:, 0]
        chosen = chosen[lengths[chosen].argsort()]
        while len(chosen):
            count = max(1, sum(1 for at, length in enumerate(lengths[chosen].tolist()) if (at + 1) * length <= budget))
            rows, chosen = chosen[:count], chosen[count:]
            width = int(lengths[rows].max())
            mask = batch.loss_mask[rows, :width]
            each = batch.advantages[rows][:, None].expand(-1, width)
            recorded, versions = batch.logprobs[rows, :width][mask], batch.versions[rows, :width][mask]
            yield Pass(rows, batch.token_ids[rows, :width], mask, recorded, versions, each[mask])
