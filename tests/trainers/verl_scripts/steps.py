"""Trains with verl's own V1 trainer on a CPU: `steps.py FOLDER STEPS [SAVE_FREQ]`, on groups made by hand.

Only the stream is stood in for: a tiny model in this process, which takes the weights that are pushed, computes the
logprobs of the groups. Prints verl's log, and the loss that the first step has to have by our own advantages, as JSON.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections import deque
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ENVIRONMENT = {
    "VERL_USE_EXTERNAL_MODULES": "cpu,ray_gym.trainers.verl.plugin",
    "VERL_PLATFORM": "cpu",
    "TRANSFER_QUEUE_ENABLE": "1",
    "HF_HUB_OFFLINE": "1",
    "OMP_NUM_THREADS": "1",
    "TQ_NUM_THREADS": "2",
    "TQ_STORAGE_HANDSHAKE_TIMEOUT": "300",  # this and the next two: seconds and attempts, for a machine under load
    "TQ_STORAGE_HANDSHAKE_MAX_RETRIES": "30",
    "TQ_DATA_UPDATE_RESPONSE_TIMEOUT": "300",
    "PYTHONPATH": os.pathsep.join([str(HERE), os.environ["PYTHONPATH"]]),
}
"""Variables that each process of verl needs from its start on."""


class Served:
    """Has the members of `ray_gym.Weights` that the bridge uses, for a model in this process."""

    def __init__(self, version: int) -> None:
        from handmade import tiny_model

        self.model = tiny_model()
        self.version = version

    def update(self, version: int, *, state_dict: Any) -> int:
        import ray

        assert version > self.version
        found = self.model.load_state_dict(ray.get(state_dict), strict=False)
        assert not found.unexpected_keys and set(found.missing_keys) <= {"lm_head.weight"}, found
        self.version = version
        return version


class Played:
    """Has the members of a `BlockingStream` that the bridge uses. A group has the weights of the moment it is asked for."""

    def __init__(self, config: Any, overrides: list[str], cursor: Any, checkpoint: Path) -> None:
        from handmade import REPEATS

        from ray_gym.config.sections import RunConfig

        version = next((int(one.rpartition("=")[2]) for one in overrides if "weights_version" in one), 0)
        self.served = Served(version)
        for one in overrides:
            if one.startswith("models.policy.model="):
                from transformers import LlamaForCausalLM

                folder = one.partition("=")[2]
                self.served.model = LlamaForCausalLM.from_pretrained(folder, dtype="float32").eval()
        sections = {
            "models": {"policy": {"engine": "vllm", "model": str(checkpoint)}},
            "participants": {"policy": {"model": "policy"}},
            "tasks": {"generate": 1, "repeats": REPEATS},
        }
        self.config = RunConfig.model_validate({"environment": {"id": "handmade"}, **sections})
        self.acknowledged: list[int] = list(cursor["acknowledged"]) if cursor else []
        self.began_with = {"version": version, "cursor": cursor}
        self._batch = len(self.acknowledged)
        self._ready: deque[Any] = deque()
        self.delivered: list[Any] = []

    def weights(self, model: str) -> Served:
        return self.served

    @property
    def cursor(self) -> dict[str, Any]:
        return {"acknowledged": self.acknowledged, "version": self.served.version}

    def __iter__(self) -> Played:
        return self

    def __next__(self) -> Any:
        from handmade import handmade_groups

        from ray_gym.stream import Group

        if not self._ready:
            made = handmade_groups(self.served.model, seed=self._batch, version=self.served.version)
            self._ready.extend(
                Group(self._batch + number, f"g{self._batch + number}", one.task_id, one.version, one.episodes)
                for number, one in enumerate(made)
            )
            self._batch += len(made)
        self.delivered.append(self._ready.popleft())
        return self.delivered[-1]

    def acknowledge(self, *groups: Any) -> None:
        self.acknowledged += [group.number for group in groups]


def expected_loss(groups: list[Any]) -> float:
    """Returns the loss at ratio 1: the mean over generated tokens of minus the advantage."""
    from ray_gym.trainers.rows import rows_of

    rows = [row for group in groups for row in rows_of(group)]
    return -sum(row.advantage * row.generated for row in rows) / sum(row.generated for row in rows)


def main(folder: Path, steps: int, save_freq: int = -1) -> None:
    import ray
    from handmade import GROUPS, REPEATS, save_tiny

    tiny = save_tiny(folder / "tiny")
    log = folder / f"log-{steps}.jsonl"
    os.environ["VERL_FILE_LOGGER_PATH"] = str(log)
    from local_verl import composed

    config = composed(
        [
            f"actor_rollout_ref.model.path={tiny}",
            "actor_rollout_ref.model.use_remove_padding=false",
            "actor_rollout_ref.model.enable_gradient_checkpointing=false",
            "actor_rollout_ref.model.external_lib=cpu_engine",
            "+actor_rollout_ref.model.override_config.attn_implementation=eager",
            f"actor_rollout_ref.actor.ppo_mini_batch_size={2 * GROUPS}",
            "++actor_rollout_ref.actor.use_torch_compile=false",
            "++actor_rollout_ref.actor.fsdp_config.use_torch_compile=false",
            "++actor_rollout_ref.actor.fsdp_config.mixed_precision={param_dtype: fp32}",  # bfloat16 by itself
            "actor_rollout_ref.actor.optim.lr=1e-3",
            f"actor_rollout_ref.rollout.n={REPEATS}",
            f"data.train_batch_size={GROUPS}",
            "data.train_max_samples=32",
            "data.dataloader_num_workers=0",
            "trainer.device=cpu",
            "trainer.logger=[file]",
            f"trainer.save_freq={save_freq}",
            f"trainer.total_training_steps={steps}",
            f"trainer.default_local_dir={folder / 'checkpoints'}",
            "trainer.v1.ray_gym.config=handmade.yaml",
        ]
    )
    import transfer_queue
    from verl.trainer.ppo.v1 import get_trainer_cls

    from ray_gym.trainers.verl import trainer as bridge
    from ray_gym.trainers.verl.manager import Manager

    streams: list[Played] = []

    def open_played(path: Any, overrides: list[str], *, cursor: Any = None, **_: Any) -> Any:
        streams.append(Played(path, overrides, cursor, tiny))
        return contextlib.nullcontext(streams[0])

    bridge.open_stream = open_played
    ray.init(address="local", num_cpus=8, num_gpus=1, include_dashboard=False, runtime_env={"env_vars": ENVIRONMENT})
    transfer_queue.init(config.transfer_queue)
    trainer = get_trainer_cls(config.trainer.v1.trainer_mode)(config=config)
    trainer.init()
    trainer.fit(Manager.create(config=config, llm_client=trainer.get_llm_client()))
    transfer_queue.close()
    [stream] = streams
    found = {
        "log": [json.loads(line) for line in log.read_text().splitlines()],
        "expected": expected_loss(stream.delivered[:GROUPS]),
        "acknowledged": stream.acknowledged,
        "version": stream.served.version,
        "began_with": stream.began_with,
        "sizes": [sum(len(one["samples"]) for one in group.episodes.to_pylist()) for group in stream.delivered],
    }
    ray.shutdown()
    print(json.dumps(found))


if __name__ == "__main__":
    os.environ |= ENVIRONMENT
    sys.path.insert(0, str(HERE))
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
