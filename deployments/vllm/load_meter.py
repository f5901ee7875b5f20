"""Measures a replica's load: its engine's queue, its KV cache, and the share of history tokens that the cache
has lost.
"""

from __future__ import annotations

from ray_gym.deployments.vllm.engine_stats import EngineStats
from ray_gym.hosting.admission import ReplicaLoad
from ray_gym.models.base import Completion, CompletionRequest

DECAY = 0.8
"""Weight of the earlier calls relative to the last one (exponential decay): about the last five calls matter, so that
the load falls soon after the cache has room again.
"""


def count_cacheable(history: int, block_size: int) -> int:
    """Returns the number of tokens of a history that a prefix cache can have: those in whole blocks of `block_size`
    tokens. The last token does not count, as its KV state was never computed. `history`: length of the history.
    """
    return max(0, history - 1) // block_size * block_size


class LoadMeter:
    """Keeps a running share (0 to 1) of the history tokens that had to be recomputed, and reports it with the engine's
    load.
    """

    def __init__(self, stats: EngineStats, block_size: int) -> None:
        self._stats = stats
        self._block_size = block_size
        self._sent = 0.0
        self._lost = 0.0

    def count(self, request: CompletionRequest, completion: Completion) -> None:
        """Counts one call. Left out are calls that begin or fork a conversation, calls whose history is too short for a
        block of the cache, and calls that generated nothing.
        """
        cacheable_tokens = count_cacheable(len(request.history), self._block_size)
        if completion.fork_reason is not None or not cacheable_tokens or not len(completion.token_ids):
            return
        self._sent = DECAY * self._sent + cacheable_tokens
        self._lost = DECAY * self._lost + max(0, cacheable_tokens - completion.cached_tokens)

    def load(self) -> ReplicaLoad:
        """Returns the load now: use of the KV cache, waiting and running requests, and the recomputed share."""
        recomputed = self._lost / self._sent if self._sent else 0.0
        return ReplicaLoad(self._stats.kv_use, self._stats.waiting, self._stats.running, recomputed)
