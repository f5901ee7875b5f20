"""Takes the hand-made groups through AReaL's own check, advantages and loss, and prints what came out."""

from __future__ import annotations

import json
import logging

from absent import pretend

pretend("swanlab", "trackio")  # loggers, which AReaL imports

import torch
from areal.api.cli_args import PPOActorConfig
from areal.infra.workflow_executor import check_trajectory_format
from areal.trainer.ppo.actor import PPOActor, grpo_loss_fn
from areal.utils import stats_tracker
from handmade import handmade_groups, tiny_model

from ray_gym.trainers.areal.trajectory import trajectory_of
from ray_gym.trainers.rows import rows_of

VERSION, SERVED = 3, 4


class Complaints(logging.Handler):
    """Collects what AReaL's check warns of."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def logprobs_under(model: torch.nn.Module, data: dict[str, torch.Tensor]) -> torch.Tensor:
    """Returns the model's logprobs as AReaL's engines give them: entry t is of token t + 1."""
    ids = data["input_ids"].long()
    logits = model(input_ids=ids, attention_mask=data["attention_mask"].long()).logits.float()
    return logits.log_softmax(-1).gather(2, ids.roll(-1, -1)[..., None])[..., 0]


def main() -> None:
    """Prints one JSON object."""
    model = tiny_model()
    groups = [rows_of(group) for group in handmade_groups(model, version=VERSION)]
    trajectories = [trajectory_of(rows) for rows in groups]
    complaints = Complaints()
    logger = logging.Logger("check")
    logger.addHandler(complaints)
    keys = {"input_ids", "attention_mask", "loss_mask", "logprobs", "versions", "rewards"}
    for data in trajectories:
        assert check_trajectory_format(data, expected_keys=keys, logger=logger)

    config = PPOActorConfig(experiment_name="test", trial_name="test", kl_ctl=0.0)
    made = PPOActor(config, engine=None).compute_advantages(trajectories)
    advantages = [
        [
            sorted({round(float(a), 6) for a in given[mask.bool()]})
            for given, mask in zip(d["advantages"], d["loss_mask"], strict=True)
        ]
        for d in made
    ]
    losses = []
    for data in made:
        now = logprobs_under(model, data)
        flat = {
            name: data[name].reshape(-1) for name in ("logprobs", "advantages", "loss_mask", "prox_logp", "versions")
        }
        nothing = torch.zeros_like(now).reshape(-1)
        bounds = {"eps_clip": 0.2, "eps_clip_higher": None, "c_clip": None}
        losses.append(grpo_loss_fn(now.reshape(-1), nothing, flat, **bounds, current_version=SERVED))
    torch.stack(losses).sum().backward()
    expected = [-sum(r.advantage * r.generated for r in rows) / sum(r.generated for r in rows) for rows in groups]
    print(
        json.dumps(
            {
                "complaints": complaints.texts,
                "advantages": advantages,
                "own": [[[round(row.advantage, 6)] for row in rows] for rows in groups],
                "tokens": [int(data["loss_mask"].sum()) for data in made],
                "generated": [sum(row.generated for row in rows) for rows in groups],
                "losses": [float(loss.detach()) for loss in losses],
                "expected": expected,
                "stats": {name: float(value) for name, value in stats_tracker.export_all().items()},
                "gradient": float(sum(p.grad.norm() for p in model.parameters() if p.grad is not None)),
            }
        )
    )


if __name__ == "__main__":
    main()
