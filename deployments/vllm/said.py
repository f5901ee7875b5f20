"""What a generation has said so far. An update of the weights may cut it; then it goes on from there, as a request of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from deployments.vllm.token_engine import GenerationRequest
from ray_gym.models.base import NO_TOKENS, Logprobs, TokenIds, VersionSpan


@dataclass(frozen=True, slots=True)
class Said:
    token_ids: TokenIds
    logprobs: Logprobs
    versions: tuple[VersionSpan, ...]
    cached_tokens: int

    def then(self, more: Said) -> Said:
        """With what was said after it. Spans of one version that meet are one."""
        count = len(self.token_ids)
        spans = list(self.versions)
        for span in more.versions:
            start = count + span.start
            if spans and spans[-1].version == span.version and spans[-1].end == start:
                start = spans.pop().start
            spans.append(VersionSpan(span.version, start, count + span.end))
        return Said(
            np.concatenate([self.token_ids, more.token_ids]),
            np.concatenate([self.logprobs, more.logprobs]),
            tuple(spans),
            self.cached_tokens if count else more.cached_tokens,
        )


NOTHING = Said(NO_TOKENS, np.zeros(0, dtype=np.float32), (), 0)


def may_go_on(request: GenerationRequest) -> bool:
    """Whether the rest of an answer is drawn as it would have been: not if what was said is more than a prompt to it."""
    sampling = request.sampling
    penalised = (sampling.presence_penalty, sampling.frequency_penalty) != (0, 0)
    return request.grammar is None and not penalised and not sampling.stop and sampling.seed is None


def rest(request: GenerationRequest, said: Said) -> GenerationRequest:
    """What is still to be generated."""
    count = len(said.token_ids)
    if not count:
        return request
    prompt_ids = request.prompt_ids + said.token_ids.tolist()
    return replace(request, prompt_ids=prompt_ids, max_tokens=request.max_tokens - count)
