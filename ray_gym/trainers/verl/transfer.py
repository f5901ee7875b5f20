"""Puts trajectories into TransferQueue, from which verl's trainer and workers read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import transfer_queue
from verl.experimental.agent_loop import AgentLoopOutput
from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics
from verl.utils.tensordict_utils import list_of_dict_to_tensordict

from ray_gym.trainers.verl.trajectories import Trajectory

PARTITION = "train"
TOKENS = "ray_gym_tokens"
"""Name of the tag with the number of generated tokens."""


def put_group(uid: str, trajectories: Sequence[Trajectory], step: int) -> None:
    """Puts a group that answers the prompt `uid` of a step, and marks the prompt as finished."""
    transfer_queue.kv_batch_put(
        keys=[one.key for one in trajectories],
        fields=list_of_dict_to_tensordict([fields_of(one) for one in trajectories]),
        tags=[tag_of(one, step) for one in trajectories],
        partition_id=PARTITION,
    )
    tag = {"status": "finished", "is_prompt": True, "global_steps": step}
    transfer_queue.kv_put(key=uid, partition_id=PARTITION, tag=tag)


def fields_of(one: Trajectory) -> dict[str, Any]:
    """Returns the fields of a trajectory: those of verl's own output, and what its workers add to it."""
    output = AgentLoopOutput(
        prompt_ids=one.prompt_ids,
        response_ids=one.response_ids,
        response_mask=one.response_mask,
        response_logprobs=one.logprobs,
        reward_score=one.reward,
        num_turns=one.turns,
        metrics=AgentLoopMetrics(),
        extra_fields={
            "min_global_steps": one.oldest,
            "max_global_steps": one.newest,
            "reward_extra_info": {},
            "episode_id": one.episode_id,
        },
    )
    fields: dict[str, Any] = output.as_dict()
    input_ids = torch.cat([fields["prompts"], fields["responses"]])
    return {
        **fields,
        "uid": one.uid,
        "input_ids": input_ids,
        "position_ids": torch.arange(len(input_ids)),
        "loss_mask": fields["response_mask"],
        "multi_modal_inputs": {},
        "data_source": "ray_gym",
    }


def tag_of(one: Trajectory, step: int) -> dict[str, Any]:
    """Returns the tag of a trajectory, which verl's replay buffer and its metrics read. `step`: the one that it answers."""
    return {
        "status": "success",
        "prompt_len": len(one.prompt_ids),
        "response_len": len(one.response_ids),
        "seq_len": len(one.prompt_ids) + len(one.response_ids),
        "global_steps": step,
        "min_global_steps": one.oldest,
        "max_global_steps": one.newest,
        TOKENS: one.generated,
    }
