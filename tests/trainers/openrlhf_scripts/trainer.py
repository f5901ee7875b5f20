"""Makes OpenRLHF's synchronous trainer with the bridge in it, has it train a step, and sees what is done with weights.

What needs GPUs is replaced: the parts that `PPOTrainer.__init__` and `train_step` do on them. No Ray is started: what an
actor would answer stands for the reference to it.
"""

from __future__ import annotations

import dataclasses
import json
import stat
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from absent import pretend

pretend("vllm", "deepspeed", "flash_attn", "ring_flash_attn", "bitsandbytes")  # they need GPUs
pretend("wandb", "pylatexenc", "torchmetrics")  # they log, grade or measure

import ray
from batch import arguments
from handmade import tiny_tokenizer
from handmade_service import serving
from openrlhf.trainer import ppo_trainer

from ray_gym.errors import UserError
from ray_gym.trainers.openrlhf.trainer import Options, install, trainer_class
from ray_gym.trainers.service import WeightsCommand

COMMAND = """#!{python}
import sys, pathlib
told = pathlib.Path({told!r})
lines = told.read_text().splitlines() if told.exists() else []
if len(sys.argv) > 3:
    folder = pathlib.Path(sys.argv[-1])
    told.write_text("\\n".join([*lines, f"{{sys.argv[2]}} {{sys.argv[4]}} {{(folder / 'model.safetensors').read_text()}}"]))
else:
    print(f"{{sys.argv[2]}}: version {{lines[-1].split()[1] if lines else 7}} (somewhere)")
"""
"""Stands for the command `ray-gym` of a service's venv: it notes the updates, and says the last version."""


class Policy:
    """Stands for the group of DeepSpeed actors: it saves a file that says how often it was trained."""

    def __init__(self, folder: Path) -> None:
        self.trained = 0
        self._folder = folder

    def async_run_method(self, method_name: str, **_: Any) -> list[Any]:
        """Saves the model; OpenRLHF's actors do it in their own processes."""
        assert method_name == "save_model"
        self._folder.mkdir(exist_ok=True)
        (self._folder / "model.safetensors").write_text(f"trained {self.trained} times")
        return [None]


def main(folder: Path) -> None:
    """Prints one JSON object. `folder`: scratch folder."""
    told, command = folder / "told", folder / "ray-gym"
    command.write_text(COMMAND.format(python=sys.executable, told=str(told)))
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    options = Options("http://127.0.0.1:1", WeightsCommand("small-policy", (str(command),)))
    made = trainer_class(options)
    original = made.__mro__[1]
    trained: list[int] = []

    def train_step(self: Any, rollout_samples: list[Any], global_step: int) -> tuple[dict[str, Any], int]:
        """Stands for the step on GPUs. As `vllm_engines` is None, OpenRLHF's broadcasts nothing."""
        trained.append(len(rollout_samples))
        self.actor_model_group.trained += 1
        return {"kl": 0.0}, global_step + 1

    def begin(self: Any, *_: Any, **__: Any) -> None:
        """Stands for what the trainer sets up on GPUs."""
        self.tokenizer, self.prompts_dataloader, self.eval_dataloader = tiny_tokenizer(), [], None

    original.train_step, original.__init__ = train_step, begin
    trainer = made.__new__(made)
    trainer.args = SimpleNamespace(ckpt=SimpleNamespace(output_dir=str(folder / "policy")))
    trainer.actor_model_group = Policy(folder / "policy")
    trainer.samples_generator = SimpleNamespace(counts={"failed": 2})
    ray.get = lambda references: references
    status, step = trainer.train_step([1, 2], 0)
    status, step = trainer.train_step([3, 4], step)
    found = {
        "bases": [one.__name__ for one in made.__mro__[:3]],
        "status": status,
        "step": step,
        "told": told.read_text().splitlines(),
        "kept": sorted(path.name for path in (folder / "policy-served").iterdir()),
    }
    strategy = SimpleNamespace(args=arguments())
    with serving([]) as service:
        served = trainer_class(dataclasses.replace(options, url=service.url))
        found["counts"] = dict(served("policy", strategy).samples_generator.counts)
        service.tokenizer.add_tokens(["<another>"])
        try:
            served("policy", strategy)
        except UserError as error:
            found["tokenizer"] = str(error)
    install(options)
    found["installed"] = ppo_trainer.PPOTrainer.__ray_metadata__.modified_class.__name__
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
