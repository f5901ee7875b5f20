"""Gives the bridge to SkyRL what does not fit, and prints the error of each."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import python_3_11  # noqa: F401  (the first import)
from handmade import handmade_rows, save_tiny, tiny_model
from handmade_service import serving
from skyrl.train.generators.utils import prepare_generator_input
from small import TASKS, config_of, tokenizer
from transformers import AutoTokenizer

from ray_gym.client import Client
from ray_gym.errors import RunFailed, UserError
from ray_gym.trainers.compatibility import check_tokenizers
from ray_gym.trainers.skyrl.generator import GroupGenerator
from ray_gym.trainers.skyrl.trainer import check_config

CHANGES: dict[str, dict[str, Any]] = {
    "fits": {},
    "plain": {"generator.step_wise_trajectories": False},
    "merged": {"generator.merge_stepwise_output": True},
    "alone": {"generator.n_samples_per_prompt": 1},
    "critic": {"trainer.algorithm.advantage_estimator": "reinforce++"},
    "filtered": {"trainer.algorithm.dynamic_sampling.type": "filter"},
    "colocated": {"trainer.placement.colocate_all": True},
    "asynchronous": {"trainer.fully_async.enabled": True},
    "scraped": {"generator.inference_engine.enable_ray_prometheus_stats": True},
}


def error_of(function: Any, *arguments: Any) -> str | None:
    """Returns the text of the error that a function raises; None if it raises none."""
    try:
        function(*arguments)
    except (UserError, RunFailed) as error:
        return str(error)
    return None


def main() -> None:
    """Prints the errors as JSON."""
    checkpoint = str(save_tiny(Path.cwd() / "model"))
    said: dict[str, Any] = {
        name: error_of(check_config, config_of(checkpoint, **changes)) for name, changes in CHANGES.items()
    }
    other = AutoTokenizer.from_pretrained(checkpoint)
    other.add_tokens(["<another>"])
    said["tokenizer"] = error_of(check_tokenizers, tokenizer(), other, "small")
    rows = handmade_rows(tiny_model(), version=2)
    failed = [{**row, "status": "failed", "rewards": [], "reward": None, "samples": []} for row in rows]
    said["temperature"] = error_of(generate, rows, {"temperature": 0.7})
    said["nothing"] = error_of(generate, failed, {})
    said["short"] = error_of(generate, rows, {"longest": 5})
    said["json"] = error_of(generate, rows, {}, ["{", "{}"])
    said["some"] = error_of(generate, rows, {}, [json.dumps(TASKS[0]), None])
    said["stale"] = generate(rows, {}, served_version=3)["rollout_metrics"]["ray_gym/stale"]
    print(json.dumps(said))


def generate(
    rows: list[dict[str, Any]], changes: dict[str, Any], tasks: Any = TASKS, served_version: int | None = None
) -> Any:
    """Returns what the generator gives for two prompts."""
    prompts = [
        {"prompt": [], "env_class": None, "env_extras": {"task": task}, "uid": str(number)}
        for number, task in enumerate(tasks)
    ]
    asked, _ = prepare_generator_input(prompts, 4, {}, "none", "train", 1)
    given = {"temperature": 1.0, "longest": None, "filler": 0, "seed": 1, **changes}
    with serving(rows) as service, Client(service.url) as client:
        generator = GroupGenerator(client, **given)
        generator.served_version = served_version
        return asyncio.run(generator.generate(asked))


if __name__ == "__main__":
    sys.exit(main())
