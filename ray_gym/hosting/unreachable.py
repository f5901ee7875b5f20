"""Lists the errors that mean that a replica is gone or can't be reached."""

from __future__ import annotations

import grpc
from ray import exceptions as ray_errors
from ray.serve.exceptions import RayServeException

UNREACHABLE = (
    RayServeException,  # back-pressure; no replica is available, or it went away; no controller at the moment
    ray_errors.RayActorError,  # the replica (or the controller) died, or can't be reached
    ray_errors.TaskCancelledError,
    ray_errors.WorkerCrashedError,
    ray_errors.NodeDiedError,
    ray_errors.LocalRayletDiedError,
    ray_errors.ObjectLostError,  # the answer went with its node or its owner
    ray_errors.OutOfMemoryError,  # Ray killed the replica to save its node
    ray_errors.ObjectStoreFullError,
    ray_errors.PendingCallsLimitExceeded,
    ray_errors.GetTimeoutError,
    ray_errors.RpcError,
    ray_errors.RaySystemError,  # channels among others
    grpc.RpcError,
    ConnectionError,
)
"""Errors that say nothing about the request: a retry may succeed."""
