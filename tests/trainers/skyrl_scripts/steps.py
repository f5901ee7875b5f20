"""Runs SkyRL's own `RayPPOTrainer.train()` for two steps through the bridge, with workers that need no GPU.

The service and the command that changes its weights are stand-ins in this process: what the trainer saves is loaded from
its folder, and the next groups have the logprobs of those weights. So each ratio of each first step has to be 1.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from pathlib import Path
from typing import Any

import python_3_11  # noqa: F401  (the first import)
from handmade import handmade_rows, save_tiny, tiny_model
from handmade_service import HandmadeService, serving
from small import LocalDispatch, config_of, dataset_in
from transformers import LlamaForCausalLM

from ray_gym.errors import UserError
from ray_gym.trainers.skyrl.trainer import GroupExp, Options, check_config

STEPS = 2


class ServedModel:
    """Stands for `WeightsCommand`: the hand-made service's model serves the checkpoint of a folder."""

    def __init__(self, service: HandmadeService) -> None:
        self._service = service
        self.updates: list[tuple[int, str]] = []

    def served(self) -> int:
        return self.updates[-1][0] if self.updates else 4

    def update(self, version: int, folder: Path) -> None:
        model = LlamaForCausalLM.from_pretrained(folder).eval()
        self.updates.append((version, folder.name))
        rows = handmade_rows(model, seed=version, version=version)
        self._service._groups = [[row for row in rows if row["group_id"] == f"g{number}"] for number in (0, 1)]


class Tracker:
    """Keeps what the trainer logs."""

    def __init__(self) -> None:
        self.logged: list[dict[str, float]] = []

    def log(self, data: dict[str, Any], step: int, commit: bool = True) -> None:
        self.logged.append({key: value for key, value in data.items() if isinstance(value, int | float)})

    def finish(self) -> None:
        """Does nothing."""


class SmallExp(GroupExp):
    """Reads the dataset without eight processes of its own."""

    def get_train_dataset(self) -> Any:
        return dataset_in(Path.cwd())


def main() -> None:
    """Prints what was trained on, and what was published, as JSON."""
    folder = Path.cwd()
    checkpoint = str(save_tiny(folder / "model"))
    cfg = config_of(checkpoint, STEPS, **{"trainer.algorithm.policy_loss_type": "rollout_is"})
    check_config(cfg)
    with serving([]) as service:
        model = ServedModel(service)
        options = Options(service.url, model, folder / "weights")
        exp = SmallExp(cfg, options)
        service.tokenizer.add_tokens(["<another>"])
        with contextlib.suppress(UserError):
            SmallExp(cfg, options)
            raise AssertionError("another tokenizer was taken")
        generator = exp.get_generator(cfg, exp.tokenizer, exp.get_inference_client())
        tracker = Tracker()
        trainer = exp.get_trainer(
            cfg=cfg,
            tracker=tracker,
            tokenizer=exp.tokenizer,
            train_dataset=exp.train_dataset,
            eval_dataset=None,
            inference_engine_client=None,
            generator=generator,
            colocate_pg=None,
        )
        policy = tiny_model()
        trainer.dispatch = LocalDispatch(cfg, policy)
        before = [parameter.detach().clone() for parameter in policy.parameters()]
        asyncio.run(trainer.train())
    saved = LlamaForCausalLM.from_pretrained(folder / "weights" / str(model.served()))
    now = [parameter.detach() for parameter in policy.parameters()]
    pairs = list(zip([parameter.detach() for parameter in saved.parameters()], now, before, strict=True))
    print(
        json.dumps(
            {
                "updates": model.updates,
                "folders": sorted(path.name for path in (folder / "weights").iterdir()),
                "ratios": trainer.dispatch.ratios,
                "saved": max(float((one - now).abs().max()) for one, now, _ in pairs),
                "moved": max(float((now - then).abs().max()) for _, now, then in pairs),
                "counts": generator.counts,
                "logged": tracker.logged,
                "seeds": [request["seed"] for request in service.requests],
            }
        )
    )


if __name__ == "__main__":
    sys.exit(main())
