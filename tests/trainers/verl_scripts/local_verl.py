"""Starts Ray and TransferQueue for scripts, and composes verl's config as the recipe does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ray
import transfer_queue
from hydra import compose, initialize_config_dir
from omegaconf import OmegaConf

RECIPE = Path(__file__).parents[3] / "examples" / "trainers" / "verl"


def composed(overrides: Sequence[str] = ()) -> Any:
    """Returns the resolved config of the recipe, with overrides."""
    one_unit = "transfer_queue.backend.SimpleStorage.num_data_storage_units=1"  # each takes a CPU of Ray's
    with initialize_config_dir(str(RECIPE), version_base=None):
        config = compose("grpo", overrides=[one_unit, *overrides])
    OmegaConf.resolve(config)
    return config


@contextmanager
def local_queue(config: Any) -> Iterator[None]:
    """Has Ray and TransferQueue up, in processes of this one."""
    ray.init(address="local", num_cpus=8, include_dashboard=False, logging_level="ERROR")
    try:
        transfer_queue.init(config.transfer_queue)
        yield
        transfer_queue.close()
    finally:
        ray.shutdown()
