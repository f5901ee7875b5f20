"""Has AReaL's own inference engine play two groups by the workflow, and update the weights through the weight server.

The engine is AReaL's client of vLLM servers, whose server here is the weight server. The hand-made service plays.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from pathlib import Path
from typing import Any

from absent import pretend

pretend("swanlab", "trackio")  # loggers, which AReaL imports

from areal.api import WeightUpdateMeta
from areal.api.cli_args import InferenceEngineConfig, NameResolveConfig
from areal.engine import RemotevLLMEngine
from areal.utils import name_resolve, names, stats_tracker
from handmade import handmade_rows, tiny_model, tiny_tokenizer
from handmade_service import serving

from ray_gym.errors import UserError
from ray_gym.trainers.areal.weight_server import SavedWeights, make_server
from ray_gym.trainers.areal.workflow import GroupWorkflow

WRONG: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "repeats": ((1, 1.0), {}),
    "temperature": ((4, 0), {}),
    "forks": ((4, 1.0), {"forks": "longest"}),
    "environment": ((4, 1.0), {"environment": "other"}),
}
"""Arguments that can't be trained with, by the name that the error has to say."""


def main(folder: Path) -> None:
    """Prints one JSON object. `folder`: scratch folder, which is AReaL's `fileroot`."""
    name_resolve.reconfigure(NameResolveConfig(type="nfs", nfs_record_root=str(folder / "names")))
    loaded: list[tuple[int, str]] = []

    def update(version: int, path: Path) -> None:
        """Stands for the command that has the service's model load the folder."""
        loaded.append((version, (path / "config.json").read_text()))

    server = make_server(SavedWeights(folder, update), "127.0.0.1", 0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    config = InferenceEngineConfig(
        experiment_name="test",
        trial_name="test",
        backend="vllm:d1",
        check_trajectory_format=True,
        consumer_batch_size=2,
        request_retries=2,
    )
    engine = RemotevLLMEngine(config)
    engine.initialize(addr=f"127.0.0.1:{server.server_address[1]}", train_data_parallel_size=1)
    found: dict[str, Any] = {}
    with serving(handmade_rows(tiny_model(), version=3)) as service:
        workflow = GroupWorkflow(service.url, repeats=4, temperature=1.0, tokenizer=tiny_tokenizer(), longest=1000)
        batch = engine.rollout_batch([{"seed": 7}, {"task": {"secret": 5}, "seed": 8}], workflow=workflow)
        found["requests"] = service.requests
        found["counts"] = dict(workflow.counts)
        short = GroupWorkflow(service.url, repeats=4, temperature=1.0, tokenizer=tiny_tokenizer(), longest=1)
        found["rejected"] = asyncio.run(short.arun_episode(engine, {"seed": 9})) is None
        found["too_long"] = short.counts["too_long"]
        found["refused"] = refused(engine, GroupWorkflow(service.url, 4, 0.7, tiny_tokenizer()), {"seed": 1})
        found["neither"] = refused(engine, workflow, {"number": 3})
        for name, (wrong, more) in WRONG.items():
            found[name] = refused_at_once(service.url, *wrong, **more)
        service.tokenizer.add_tokens(["<another>"])
        found["tokenizer"] = refused_at_once(service.url, 4, 1.0)
    found["stats"] = {name: float(value) for name, value in stats_tracker.export_all().items()}
    found["shapes"] = [{name: [list(v.shape), str(v.dtype)] for name, v in data.items()} for data in batch]

    root = folder / "checkpoints" / "test" / "test" / "default"
    meta = WeightUpdateMeta(type="disk", path=str(root / "weight_update")).with_version(1)
    saved = Path(str(meta.path))
    saved.mkdir(parents=True)
    engine.pause_generation()
    update_is_done = engine.update_weights_from_disk(meta)
    (saved / "config.json").write_text('{"step": 1}')  # AReaL asks for the update before it has saved
    name_resolve.add(names.update_weights_from_disk("test", "test", engine.get_version()), "0.0")
    update_is_done.result(timeout=100)
    engine.continue_generation()
    found["loaded"] = loaded
    engine.destroy()
    print(json.dumps(found))


def refused_at_once(url: str, *wrong: Any, **more: Any) -> str:
    """Returns what the workflow's own check says about its arguments."""
    try:
        GroupWorkflow(url, *wrong, tiny_tokenizer(), **more)
    except UserError as error:
        return str(error)
    return ""


def refused(engine: Any, workflow: GroupWorkflow, item: dict[str, Any]) -> str:
    """Returns what the workflow raises for an item."""
    try:
        asyncio.run(workflow.arun_episode(engine, item))
    except UserError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    main(Path(sys.argv[1]))
