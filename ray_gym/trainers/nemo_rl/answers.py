"""Makes the answer of a NeMo Gym agent of an episode's token sequence.

NeMo RL goes through the items of `response.output`, takes those with `generation_token_ids` for what is trained on, and
takes the prompts of all to continue one another. It keeps their tokens as they are, so that nothing is tokenised again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ray_gym.trainers.rows import Row


def answer_of(row: Row, parameters: dict[str, Any]) -> dict[str, Any]:
    """Returns the answer to `POST /run` for an episode. `parameters`: `responses_create_params` of the request.

    Each generated span is an item: `prompt_token_ids` are all tokens before it, `generation_token_ids` its own, and
    `generation_log_probs` their recorded logprobs. The versions of weights and the fork are under `ray_gym`.
    """
    items = [
        {
            "id": f"{row.episode_id}-{number}",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [],
            "prompt_token_ids": row.token_ids[:start].tolist(),
            "generation_token_ids": row.token_ids[start:end].tolist(),
            "generation_log_probs": row.logprobs[start:end].tolist(),
        }
        for number, (start, end) in enumerate(spans_of(row))
    ]
    return {
        "responses_create_params": parameters,
        "reward": row.reward,
        "response": {"id": row.episode_id, "object": "response", "output": items},
        "ray_gym": {"episode_id": row.episode_id, "fork": row.fork, "oldest_weight_version": row.version},
    }


def spans_of(row: Row) -> list[tuple[int, int]]:
    """Returns the first token and the one after the last of each generated span."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], row.loss_mask, [0]]))).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))
