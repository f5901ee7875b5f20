"""The replica's end: each call is answered by itself, and no more at a time than there are slots."""

from __future__ import annotations

import asyncio
import errno
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import ray
from ray import serve

from ray_gym.errors import EpisodeFailure, FailureKind, describe
from ray_gym.hosting import tls
from ray_gym.hosting.affinity import Transport
from ray_gym.hosting.lanes import wire
from ray_gym.hosting.lanes.caller import Caller
from ray_gym.hosting.lanes.frames import Frames
from ray_gym.hosting.unreachable import UNREACHABLE
from ray_gym.models.base import Completion, CompletionRequest

TOKEN_BYTES = 32
BACKLOG = 1024
"""Workers that may come at once."""

Complete = Callable[[CompletionRequest], Awaitable[Completion]]


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Callers need to know a replica's address, slots and token."""

    replica: str
    slots: int
    address: tuple[str, int]
    token: bytes = field(repr=False)
    """Secret that every caller has to send first: Ray tells it to the processes of its cluster."""


class ReplicaEnd:
    """The listening end of one replica serves all its callers."""

    def __init__(self, replica: str, complete: Complete, slots: int) -> None:
        self._replica = replica
        self._complete = complete
        self._slots = asyncio.Semaphore(slots)
        self._number_of_slots = slots
        self._token = secrets.token_bytes(TOKEN_BYTES)
        self._callers: set[Caller] = set()
        self._server: asyncio.Server | None = None
        self._is_closed = False
        self.is_ending = False
        """True once the replica is stopping: a call that fails from now on fails for the replica's sake, and is retried
        elsewhere.
        """

    async def open(self, host: str) -> Whereabouts:
        """Listens at a port of its own: where the host's address is, or everywhere if it is that of a machine in front of this one."""
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(self._accept, host, 0, backlog=BACKLOG)
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL:
                raise
            everywhere = "::" if ":" in host else "0.0.0.0"
            self._server = await loop.create_server(self._accept, everywhere, 0, backlog=BACKLOG)
        port: int = self._server.sockets[0].getsockname()[1]
        return Whereabouts(self._replica, self._number_of_slots, (host, port), self._token)

    async def close(self) -> None:
        """Disconnects all callers, and cancels their calls."""
        self._is_closed = True
        if self._server is not None:
            self._server.close()
        cancelled = [task for caller in self._callers for task in caller.cut_off()]
        await asyncio.gather(*cancelled, return_exceptions=True)

    def _accept(self) -> Frames:
        caller = Caller(self._token, self._answered, self._callers.discard)
        self._callers.add(caller)
        if self._is_closed:
            caller.cut_off()
        return caller.connection

    async def _answered(self, call: wire.Call) -> wire.Answer:
        if self._slots.locked() and not call.may_wait:
            return wire.troubled(call.number, "full", f"all {self._number_of_slots} slots are taken")
        async with self._slots:
            try:
                return wire.completed(call.number, await self._complete(wire.decode_request(call.request)))
            except EpisodeFailure as failure:
                if self.is_ending and failure.failure.kind == FailureKind.INFRA:
                    return wire.troubled(call.number, "unreachable", f"the replica is stopping: {failure}")
                return wire.failed(call.number, failure)
            except UNREACHABLE as error:
                return wire.troubled(call.number, "unreachable", describe(error))
            except Exception as error:
                return wire.troubled(call.number, "broken", describe(error))


class BatchedReplica:
    """A batched replica also listens for callers. Serve configures it with its slots (`user_config`) where calls come
    past Serve. Under TLS it never listens, as lanes are in plain text.
    """

    _end: ReplicaEnd | None = None
    _whereabouts: Whereabouts | None = None

    async def complete(self, request: CompletionRequest) -> Completion:
        raise NotImplementedError

    async def reconfigure(self, config: dict[str, Any]) -> None:
        """Listens for callers, with `config["slots"]` slots. Serve also calls it when it counts its replicas anew, with
        a config that already holds.
        """
        if tls.is_on() or (self._whereabouts is not None and self._whereabouts.slots == config["slots"]):
            return
        replica, before = serve.get_replica_context().replica_id.unique_id, self._end
        self._end = ReplicaEnd(replica, self.complete, config["slots"])
        self._whereabouts = await self._end.open(ray.util.get_node_ip_address())
        if before is not None:
            await before.close()

    def is_stopping(self) -> None:
        """Marks the replica as stopping. May be called from any thread, before the model is taken down under its calls:
        Serve does not see them, and doesn't wait for them.
        """
        if self._end is not None:
            self._end.is_ending = True

    @property
    def transport(self) -> Transport:
        return "batched" if self._whereabouts is not None else "handle"

    async def whereabouts(self) -> Whereabouts:
        if self._whereabouts is None:
            raise RuntimeError("this replica does not listen; reach it by its handle")
        return self._whereabouts
