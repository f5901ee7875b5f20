"""Makes the model that is trained, with its tokenizer and optimizer, whole or by low-rank changes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from examples.grpo import checkpoint
from examples.grpo.lora import add_low_rank, load_low_rank
from examples.grpo.settings import Settings


@dataclass(frozen=True, slots=True)
class Policy:
    """Holds what a checkpoint holds of tensors."""

    model: Any
    tokenizer: Any
    optimizer: torch.optim.Optimizer

    def save(self, checkpoints: Path, state: checkpoint.State) -> Path:
        """Saves a checkpoint, and returns its folder. Errors: OSError."""
        return checkpoint.save(checkpoints, self.model, self.tokenizer, self.optimizer, state)

    def load(self, folder: Path, settings: Settings) -> None:
        """Loads the trained weights, the optimizer and the random states of a checkpoint. Errors: OSError."""
        if settings.lora is None:
            self.model.load_state_dict(load_model(folder).state_dict())
        else:
            load_low_rank(self.model, folder)
        checkpoint.load_trainer(folder, self.optimizer)


def make_policy(start: Path, settings: Settings) -> Policy:
    """Makes the policy as it is before the first step. `start`: the folder of its model."""
    torch.manual_seed(settings.seed)
    model = load_model(start)
    if settings.lora is not None:
        add_low_rank(model, settings.lora)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    options = settings.optimizer
    optimizer = torch.optim.AdamW(trained, lr=options.lr, betas=options.betas, weight_decay=0.0)
    return Policy(model, AutoTokenizer.from_pretrained(start), optimizer)


def load_model(folder: Path) -> Any:
    """Returns the causal language model of a folder, in float32."""
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
