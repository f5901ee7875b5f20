"""Carries out the steps of vLLM's own weight transfer (NCCL, CUDA IPC, ...) in an engine. Its backends need GPUs."""

from __future__ import annotations

from typing import Any

from ray_gym.weights.orders import Transfer


async def carry_out(client: Any, task: Transfer) -> None:
    """Carries out one step of a transfer. `client` is an AsyncLLM. Errors: those that vLLM raises."""
    from vllm.distributed.weight_transfer.base import WeightTransferInitRequest, WeightTransferUpdateRequest

    match task.step:
        case "init":
            await client.init_weight_transfer_engine(WeightTransferInitRequest(init_info=task.info))
        case "start":
            await client.start_weight_update()
        case "update":
            await client.update_weights(WeightTransferUpdateRequest(update_info=task.info))
        case "finish":
            await client.finish_weight_update(str(task.version))
