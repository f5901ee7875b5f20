"""Gives verl's trainer and manager what they can't take: `refusals.py`. Prints what each error says, as JSON.

No worker of verl's is started: the methods are called on what they look at.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

from handmade import END, handmade_rows, handmade_table, tiny_model
from local_verl import composed, local_queue
from tensordict import TensorDict
from verl.trainer.ppo.utils import need_critic, need_reference_policy
from verl.trainer.ppo.v1.replay_buffer import ReplayBufferAsync
from verl.utils.config import validate_config
from verl.utils.tensordict_utils import assign_non_tensor_data, get_tensordict

from ray_gym.errors import UserError
from ray_gym.stream import Group
from ray_gym.trainers.verl.manager import Manager, Source
from ray_gym.trainers.verl.trainer import StreamTrainer


class Given:
    """Has the members of a `BlockingStream` that the manager uses, and gives the groups of a list."""

    def __init__(self, groups: list[Group]) -> None:
        self._groups = iter(groups)

    def __next__(self) -> Group:
        return next(self._groups)

    def acknowledge(self, *groups: Group) -> None:
        """Does nothing."""


def failed_groups(count: int) -> list[Group]:
    """Returns groups all of whose episodes have failed."""
    failure = {"kind": "environment", "where": "score", "message": "on purpose"}
    failed = {"status": "failed", "reward": None, "rewards": [], "failure": failure}
    rows = [{**row, **failed} for row in handmade_rows(tiny_model()) if row["group_id"] == "g0"]
    return [Group(number, "g0", "t0", None, handmade_table(rows)) for number in range(count)]


def prompts(*uids: str, **fields: Any) -> TensorDict:
    """Returns prompts as verl makes them."""
    made = get_tensordict({"uid": list(uids)})
    for name, value in {"global_steps": 1, **fields}.items():
        assign_non_tensor_data(made, name, value)
    return made


def error_of(call: Any, *given: Any) -> str:
    try:
        call(*given)
    except UserError as error:
        return str(error)
    return "nothing was refused"


def trainer_of(manager: Any, config: Any) -> StreamTrainer:
    """Returns a trainer that has no workers."""
    trainer = StreamTrainer.__new__(StreamTrainer)
    trainer.config, trainer.global_steps, trainer.agent_loop_manager = config, 1, manager
    trainer._left, trainer._opened = Counter(), ExitStack()
    return trainer


def manager_of(groups: list[Group]) -> Manager:
    return Manager.create(None, llm_client=Source(Given(groups), longest=None, end=END, forks=True))


def barren(config: Any) -> str:
    """Returns the error of a batch of two groups that have failed."""
    manager = manager_of(failed_groups(2))
    manager.generate_sequences(prompts("a", "b"))
    buffer = ReplayBufferAsync("ray_gym", None, None, "drop", None, poll_interval=0.1)
    batch, metrics = buffer.sample(global_steps=1, partition_id="train", batch_size=2)
    return error_of(trainer_of(manager, config)._balance_batch, batch, metrics)


def ended(config: Any) -> str:
    """Returns the error of a stream that ends, which the replay buffer's next poll raises."""
    manager = manager_of(failed_groups(1))
    trainer = trainer_of(manager, config)
    trainer.trainer_mode = config.trainer.v1.trainer_mode
    buffer = StreamTrainer._build_replay_buffer(trainer)
    buffer.poll_interval = 0.1
    manager.generate_sequences(prompts("c", "d"))
    return error_of(buffer.sample, 1, "train", 2)


def main() -> None:
    config = composed()
    validate_config(config, need_reference_policy(config), need_critic(config))  # verl's command line does this first
    with local_queue(config):
        found = {"barren": barren(config), "ended": ended(config)}
    idle = manager_of([])
    found["underscore"] = error_of(idle.generate_sequences, prompts("a_b"))
    found["validation"] = error_of(idle.generate_sequences, prompts("a", validate=True))
    found["manager"] = error_of(trainer_of(idle, config).fit, SimpleNamespace())
    found["client"] = error_of(lambda: Manager.create(config=config, llm_client=SimpleNamespace()))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
