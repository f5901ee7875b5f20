"""Measures a replica's load: its engine's queue and KV cache, and how much of the histories sent to it the cache has
lost.
"""

from __future__ import annotations

from ray_gym.deployments.vllm.engine_stats import EngineStats
from ray_gym.hosting.admission import Load
from ray_gym.models.base import Completion, CompletionRequest

MEMORY = 0.8
"""Factor by which a call counts less with every later call: the last five or so matter, so that a cache which has room
again is soon noticed.
"""


def cacheable(history: int, block_size: int) -> int:
    """Returns the tokens of a history that a cache of whole blocks can have. The last one generated was never
    computed.
    """
    return max(0, history - 1) // block_size * block_size


class LoadMeter:
    def __init__(self, stats: EngineStats, block_size: int) -> None:
        self._stats = stats
        self._block_size = block_size
        self._sent = 0.0
        self._lost = 0.0

    def count(self, request: CompletionRequest, completion: Completion) -> None:
        """Counts one call. A call that begins a conversation, or forks it, has nothing that could have been lost."""
        cacheable_tokens = cacheable(len(request.history), self._block_size)
        if completion.fork_reason is not None or not cacheable_tokens or not len(completion.token_ids):
            return
        self._sent = MEMORY * self._sent + cacheable_tokens
        self._lost = MEMORY * self._lost + max(0, cacheable_tokens - completion.cached_tokens)

    def load(self) -> Load:
        recomputed = self._lost / self._sent if self._sent else 0.0
        return Load(self._stats.kv_use, self._stats.waiting, self._stats.running, recomputed)
