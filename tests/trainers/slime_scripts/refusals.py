"""Gives the bridge to slime what does not fit, and prints the error of each.

python refusals.py CHECKOUT
"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from checkout import open_checkout

open_checkout(sys.argv[1])
from batch import Prompts, args_of
from handmade import handmade_rows, tiny_model
from handmade_service import serving

from ray_gym.errors import RunFailed, UserError
from ray_gym.trainers.service import WeightsCommand
from ray_gym.trainers.slime import rollouts

CHANGES: dict[str, dict[str, Any]] = {
    "fits": {},
    "alone": {"n_samples_per_prompt": 1},
    "critic": {"advantage_estimator": "ppo"},
    "rewards": {"custom_reward_post_process_path": None},
    "nucleus": {"rollout_top_p": 0.9},
    "engines": {"rollout_num_gpus": 8},
    "unsaved": {"save_interval": 20},
    "temperature": {"rollout_temperature": 0.7},
    "short": {"rollout_max_context_len": 5},
    "app": {"ray_gym_app": None},
    "misspelt": {"ray_gym_address": "x"},
    "source": {"evaluation": True},
    "later": {"rollout_id": 3},
    "commit": {"tested": ("0123456789abcdef",)},
    "tokenizer": {"other_tokenizer": True},
    "any": {"tested": ("0123456789abcdef",), "ray_gym_any_version": True},
}


def main() -> None:
    """Prints the errors as JSON."""
    rows = handmade_rows(tiny_model(), version=2)
    for row in rows:
        row["task_id"] = {"g0": "t1", "g1": "prompt-1"}[row["group_id"]]
    args = args_of(Path.cwd())
    print(json.dumps({name: error_of(args, rows, dict(changes)) for name, changes in CHANGES.items()}))


def error_of(args: Namespace, rows: list[dict[str, Any]], changes: dict[str, Any]) -> str | None:
    """Returns the text of the error that a rollout ends with; None if it ends with none."""
    rollout_id, is_evaluation = changes.pop("rollout_id", 0), changes.pop("evaluation", False)
    tested, is_other = changes.pop("tested", rollouts.TESTED), changes.pop("other_tokenizer", False)
    command = {"served": lambda self: 7, "update": lambda self, version, path: None}
    with serving(rows) as service, patch.multiple(WeightsCommand, **command), patch.object(rollouts, "TESTED", tested):
        given = Namespace(**{**vars(args), "ray_gym_url": service.url, **changes})
        if is_other:
            service.tokenizer.add_tokens(["<another>"])
        try:
            rollouts.generate_rollout(given, rollout_id, Prompts(args), evaluation=is_evaluation)
        except (UserError, RunFailed) as error:
            return str(error)
    return None


if __name__ == "__main__":
    sys.exit(main())
