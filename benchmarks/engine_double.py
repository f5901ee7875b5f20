"""A double of vLLM's engine: answers any prompt with the same few tokens after a while. Named as what it is: nothing is computed."""

from __future__ import annotations

import asyncio

import numpy as np

from ray_gym.deployments.chat.token_engine import Generation, GenerationRequest


class EngineDouble:
    max_model_len = 1_000_000

    def __init__(self, token_ids: list[int], text: str, seconds: float) -> None:
        self._token_ids = np.array(token_ids, dtype=np.int32)
        self._text = text
        self._seconds = seconds

    async def generate(self, request: GenerationRequest) -> Generation:
        await asyncio.sleep(self._seconds)
        logprobs = np.full(len(self._token_ids), -1.0, dtype=np.float32)
        return Generation(request.prompt_ids, self._token_ids, logprobs, self._text, truncated=False)
