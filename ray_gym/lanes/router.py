"""Serve's ring of replicas, and the way to one of them by its name."""

from __future__ import annotations

from typing import Any

from ray.serve.config import RequestRouterConfig
from ray.serve.experimental.consistent_hash_router import ConsistentHashRouter

FALLBACKS = 7
"""Replicas that a call of the ring falls back to; Serve has two. A call that waits for room holds up those behind it."""


class ReplicaRouter(ConsistentHashRouter):  # type: ignore[misc]
    """A call whose session is the id of a replica goes to that one, or on round the ring if it is gone."""

    async def choose_replicas(self, candidate_replicas: list[Any], pending_request: Any = None) -> list[list[Any]]:
        named = pending_request.metadata.session_id if pending_request is not None else ""
        found = [replica for replica in candidate_replicas if replica.replica_id.unique_id == named]
        if found:
            return [found]
        ranked: list[list[Any]] = await super().choose_replicas(candidate_replicas, pending_request)
        return ranked


def router_config() -> RequestRouterConfig:
    router = f"{ReplicaRouter.__module__}.{ReplicaRouter.__qualname__}"
    return RequestRouterConfig(request_router_class=router, request_router_kwargs={"num_fallback_replicas": FALLBACKS})
