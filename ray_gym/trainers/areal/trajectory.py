"""Makes an AReaL trajectory of a group: tensors with one row for each of its token sequences.

AReaL's own group normalisation slices batches by a fixed size, and a group with forks or failed episodes has another. So
`rewards` holds the advantages of `ray_gym.advantages`, and AReaL's normalisation is off (`check_config`). With discount
and lambda 1 and no KL term its `compute_advantages` gives each generated token the advantage of its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ray_gym.errors import UserError
from ray_gym.trainers.rows import Row

NO_VERSION = -1
"""Version of tokens that no model generated, as AReaL marks them."""
ADVANTAGES_ARE_OURS: dict[str, Any] = {
    "reward_norm": None,
    "adv_norm": None,
    "reward_scaling": 1.0,
    "reward_bias": 0.0,
    "overlong_reward_penalty": False,
    "mask_no_eos_with_zero": False,
    "discount": 1.0,
    "gae_lambda": 1.0,
}
"""Settings of `actor` under which AReaL leaves advantages as they are."""


def trajectory_of(rows: Sequence[Row]) -> dict[str, torch.Tensor] | None:
    """Returns the rows of a group as AReaL's workflows return trajectories; None without rows, which AReaL takes as
    rejected.

    All but `rewards` [rows] have the shape [rows, tokens], padded with 0 on the right: `input_ids`, `loss_mask` and
    `versions` int32, `attention_mask` bool, `logprobs` float32, each aligned with its token (AReaL shifts them itself).
    """
    if not rows:
        return None
    shape = (len(rows), max(len(row.token_ids) for row in rows))
    tensors = {
        "input_ids": torch.zeros(shape, dtype=torch.int32),
        "attention_mask": torch.zeros(shape, dtype=torch.bool),
        "loss_mask": torch.zeros(shape, dtype=torch.int32),
        "logprobs": torch.zeros(shape, dtype=torch.float32),
        "versions": torch.full(shape, NO_VERSION, dtype=torch.int32),
    }
    for number, row in enumerate(rows):
        length = len(row.token_ids)
        tensors["input_ids"][number, :length] = torch.from_numpy(row.token_ids)
        tensors["attention_mask"][number, :length] = True
        tensors["loss_mask"][number, :length] = torch.from_numpy(row.loss_mask)
        tensors["logprobs"][number, :length] = torch.from_numpy(row.logprobs)
        tensors["versions"][number, :length] = torch.from_numpy(row.versions)
    tensors["rewards"] = torch.tensor([row.advantage for row in rows], dtype=torch.float32)
    return tensors


def check_config(config: Any) -> None:
    """Checks that AReaL's config (a `PPOConfig`) leaves the groups and their advantages as they come.

    Errors: UserError, which names the first setting that does not.
    """
    for name, wanted in ADVANTAGES_ARE_OURS.items():
        found = getattr(config.actor, name)
        if found != wanted:
            raise UserError(
                f"actor.{name}: {found}, but advantages come from ray_gym, and this would change them; give "
                f"{'null' if wanted is None else wanted}"
            )
    if config.actor.kl_ctl and config.ref is None:
        raise UserError(
            f"actor.kl_ctl: {config.actor.kl_ctl} without a ref, which AReaL computes against logprobs of 0; give 0, or a ref"
        )
    if config.gconfig.n_samples != 1:
        raise UserError(
            f"gconfig.n_samples: {config.gconfig.n_samples}, but a call of the workflow plays a whole group; give 1, and "
            "the group's size as the workflow's repeats"
        )
    if config.actor.weight_update_mode != "disk" or config.actor.use_lora:
        raise UserError(
            "actor.weight_update_mode: whole checkpoints on disk are what the service's model can load; give disk, and "
            "use_lora: false"
        )
