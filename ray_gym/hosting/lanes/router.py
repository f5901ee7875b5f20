"""Configures Serve's ring of replicas, for calls that go by a handle."""

from __future__ import annotations

from ray.serve.config import RequestRouterConfig
from ray.serve.experimental.consistent_hash_router import ConsistentHashRouter

FALLBACKS = 7
"""Number of replicas that a call of the ring falls back to; Serve has two. A call that waits for room holds up those
behind it.
"""


def router_config() -> RequestRouterConfig:
    router = f"{ConsistentHashRouter.__module__}.{ConsistentHashRouter.__qualname__}"
    return RequestRouterConfig(request_router_class=router, request_router_kwargs={"num_fallback_replicas": FALLBACKS})
