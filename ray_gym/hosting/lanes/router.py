"""Configures Serve's consistent hashing of calls to replicas, for calls by a handle."""

from __future__ import annotations

from ray.serve.config import RequestRouterConfig
from ray.serve.experimental.consistent_hash_router import ConsistentHashRouter

FALLBACKS = 7
"""Number of further replicas on the hash ring that a call may go to if its own is full (Serve's default is two). A call
that waits for a slot holds up the calls behind it.
"""


def router_config() -> RequestRouterConfig:
    """Returns the router settings of a deployment: calls with the same `session_id` go to the same replica."""
    router = f"{ConsistentHashRouter.__module__}.{ConsistentHashRouter.__qualname__}"
    return RequestRouterConfig(request_router_class=router, request_router_kwargs={"num_fallback_replicas": FALLBACKS})
