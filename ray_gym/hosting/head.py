"""Asks the head of a Ray cluster whether it is alive."""

from __future__ import annotations

import grpc
from ray._private import worker as ray_worker
from ray._private.gcs_utils import create_gcs_channel

ANSWER_S = 5
"""Seconds that the answer of a head which is alive may take."""
ALIVE = "/ray.rpc.NodeInfoGcsService/CheckAlive"
"""gRPC method by which the head is asked. An empty request asks about no particular node."""


def ask_head(address: str, within_s: float = ANSWER_S) -> None:
    """Asks the head at the address HOST:PORT whether it is alive; its answer may take `within_s` seconds.

    Errors: AuthenticationError if it asks for a token; grpc.RpcError if it refuses this process's token, or does not
    answer.
    """
    with create_gcs_channel(address) as channel:
        channel.unary_unary(ALIVE)(b"", timeout=within_s)


def own_head_is_gone() -> bool:
    """Says whether this process has started a local cluster whose head does not answer any more, as a signal to all processes
    of a group or a job ends it too. Most of Ray's calls would then wait for it for a minute, and end this process.
    """
    node = ray_worker._global_node
    if node is None or not node.is_head():
        return False
    try:
        ask_head(node.gcs_address)
    except grpc.RpcError:
        return True
    return False
