"""Opens streams of the letters for the scripts of this folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ray
import yaml
from letters import config_of

from ray_gym.stream import BlockingStream, open_stream


@contextmanager
def letters(
    folder: Path, checkpoint: Path, overrides: Sequence[str] = (), cursor: Any = None, repeats: int = 8, **bounds: Any
) -> Iterator[BlockingStream]:
    """Opens a stream on a Ray cluster of this process. `bounds`: further options of `open_stream`."""
    path = folder / "letters.yaml"
    path.write_text(yaml.safe_dump(config_of(folder, checkpoint, repeats)))
    environment = {"PYTHONPATH": os.environ["PYTHONPATH"]}
    ray.init(
        address="local",
        num_cpus=4,
        include_dashboard=False,
        object_store_memory=150 * 2**20,
        log_to_driver=False,
        runtime_env={"env_vars": environment},
    )
    try:
        with open_stream(path, overrides, cursor=cursor, **bounds) as stream:
            yield stream
    finally:
        ray.shutdown()
