"""Trains a model by low-rank changes of some of its layers (Hu et al. 2022, LoRA); the engine gets them merged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from examples.grpo.settings import LoraSettings

FILE = "low_rank.pt"
"""File of the changes alone. It is no .safetensors file: engines load all of those in a folder as the model's weights."""


class LowRank(nn.Module):  # type: ignore[misc,unused-ignore]
    """Adds to a linear layer, which stays as it is, the product of two narrow ones. At first that product is 0."""

    def __init__(self, base: nn.Linear, settings: LoraSettings) -> None:
        super().__init__()
        self.base = base
        self.down = nn.Parameter(torch.randn(settings.rank, base.in_features) / base.in_features**0.5)
        self.up = nn.Parameter(torch.zeros(base.out_features, settings.rank))
        self.scale = settings.alpha / settings.rank

    def forward(self, inputs: Tensor) -> Tensor:
        """Returns the layer's outputs. `inputs`: [..., in_features]."""
        outputs: Tensor = self.base(inputs) + self.scale * (inputs @ self.down.T @ self.up.T)
        return outputs

    def merged(self) -> Tensor:
        """Returns the weight of one linear layer that does the same: [out_features, in_features]."""
        return (self.base.weight + self.scale * self.up @ self.down).detach()


def add_low_rank(model: Any, settings: LoraSettings) -> None:
    """Freezes a model, and makes its layers of the names `settings.targets` trainable by low-rank changes."""
    model.requires_grad_(False)
    found = [(name, layer) for name, layer in model.named_modules() if name.rpartition(".")[2] in settings.targets]
    for name, layer in found:
        parent, _, own = name.rpartition(".")
        setattr(model.get_submodule(parent), own, LowRank(layer, settings))


def low_rank_layers(model: Any) -> dict[str, LowRank]:
    """Returns the changed layers by their names; none for a model that is trained whole."""
    return {name: layer for name, layer in model.named_modules() if isinstance(layer, LowRank)}


def save_policy(model: Any, folder: Path) -> None:
    """Saves a model as a checkpoint that the engine loads, with low-rank changes merged, and beside it those alone."""
    layers = low_rank_layers(model)
    if not layers:
        model.save_pretrained(folder)
        return
    own = tuple(f"{name}." for name in layers)
    weights = {name: weight for name, weight in model.state_dict().items() if not name.startswith(own)}
    weights |= {f"{name}.weight": layer.merged() for name, layer in layers.items()}
    model.save_pretrained(folder, state_dict=weights)
    parts = {
        f"{name}.{part}": getattr(layer, part).detach() for name, layer in layers.items() for part in ("down", "up")
    }
    torch.save(parts, folder / FILE)


def load_low_rank(model: Any, folder: Path) -> None:
    """Loads the low-rank changes of a checkpoint. One that is the start has none, and leaves them as they are."""
    if (folder / FILE).exists():
        model.load_state_dict(torch.load(folder / FILE, weights_only=True), strict=False)
