"""Imitates an engine, for families whose models can't run here: it records its input and says what it is told to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ray_gym.deployments.chat.token_engine import Generation, GenerationRequest
from ray_gym.models.base import VersionSpan


@dataclass
class Line:
    """Holds the double's next answer. `ended`: it ends with the end-of-turn token, as of a model that stops itself."""

    ids: list[int]
    ended: bool = True


@dataclass
class EngineDouble:
    """Every generated token's logprob is minus its id, so that a logprob in the wrong place shows."""

    tokenizer: Any
    stop_id: int
    max_model_len: int = 1_000_000
    lines: list[Line] = field(default_factory=list)
    prompts: list[list[int]] = field(default_factory=list)
    said: list[list[int]] = field(default_factory=list)

    async def generate(self, request: GenerationRequest) -> Generation:
        self.prompts.append(list(request.prompt_ids))
        line = self.lines.pop(0)
        ids = line.ids[: request.max_tokens]
        ended = line.ended and len(ids) < request.max_tokens
        text = self.tokenizer.decode(
            ids, skip_special_tokens=not request.keep_control_tokens, clean_up_tokenization_spaces=False
        )
        ids = ids + [self.stop_id] * ended
        self.said.append(ids)
        token_ids = np.array(ids, dtype=np.int32)
        return Generation(
            prompt_ids=list(request.prompt_ids),
            token_ids=token_ids,
            logprobs=-token_ids.astype(np.float32),
            text=text,
            truncated=not ended,
            versions=(VersionSpan(len(self.prompts), 0, len(ids)),),
        )
