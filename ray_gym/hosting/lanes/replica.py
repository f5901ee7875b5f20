"""Serves the calls of many processes at one replica: each call gets an answer of its own, and at most `slots` calls are
carried out at a time.
"""

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
"""Length of the secret that callers have to know."""
BACKLOG = 1024
"""Largest number of connections of workers that may wait to be accepted."""

Complete = Callable[[CompletionRequest], Awaitable[Completion]]


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Tells where a replica listens, and all else that a caller has to know to open a lane (a connection) to it."""

    replica: str
    """Serve's unique id of the replica."""
    slots: int
    """Number of calls that the replica carries out at a time."""
    address: tuple[str, int]
    """Host and port."""
    token: bytes = field(repr=False)
    """Secret that every caller has to send first. Only processes of the Ray cluster get it."""


class LaneServer:
    """Listens at a port for the callers of one replica, and answers their calls by `complete`, at most `slots` at a
    time.
    """

    def __init__(self, replica: str, complete: Complete, slots: int) -> None:
        self._replica = replica
        self._complete = complete
        self._slots = asyncio.Semaphore(slots)
        self._slot_count = slots
        self._token = secrets.token_bytes(TOKEN_BYTES)
        self._callers: set[Caller] = set()
        self._server: asyncio.Server | None = None
        self._is_closed = False
        self.is_stopping = False
        """True once the replica is stopping: an infrastructure failure from now on is reported as `unreachable`, so
        that the caller retries the call at another replica.
        """

    async def open(self, host: str) -> Whereabouts:
        """Starts to listen at a free port, and returns where: `host`, the port, and the replica's id, slots and token.
        Listens at the interface with the address `host`, or at all interfaces if this machine has none with it (NAT).

        Errors: OSError if the server can't listen.
        """
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(self._accept, host, 0, backlog=BACKLOG)
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL:
                raise
            everywhere = "::" if ":" in host else "0.0.0.0"
            self._server = await loop.create_server(self._accept, everywhere, 0, backlog=BACKLOG)
        port: int = self._server.sockets[0].getsockname()[1]
        return Whereabouts(self._replica, self._slot_count, (host, port), self._token)

    async def close(self) -> None:
        """Stops listening, disconnects all callers, cancels their calls, and waits until these have ended."""
        self._is_closed = True
        if self._server is not None:
            self._server.close()
        cancelled = [task for caller in self._callers for task in caller.disconnect()]
        await asyncio.gather(*cancelled, return_exceptions=True)

    def _accept(self) -> Frames:
        caller = Caller(self._token, self._answer_call, self._callers.discard)
        self._callers.add(caller)
        if self._is_closed:
            caller.disconnect()
        return caller.connection

    async def _answer_call(self, call: wire.ReplicaCall) -> wire.ReplicaAnswer:
        """Carries out a call as soon as a slot is free, and returns the answer. If no slot is free and the call may not
        wait, returns an answer of the kind `full` at once. Exceptions become answers of their kind (`wire.AnswerKind`).
        """
        if self._slots.locked() and not call.may_wait:
            return wire.error_answer(call.number, "full", f"all {self._slot_count} slots are taken")
        async with self._slots:
            try:
                return wire.completion_answer(call.number, await self._complete(wire.decode_request(call.request)))
            except EpisodeFailure as failure:
                if self.is_stopping and failure.failure.kind == FailureKind.INFRA:
                    return wire.error_answer(call.number, "unreachable", f"the replica is stopping: {failure}")
                return wire.failure_answer(call.number, failure)
            except UNREACHABLE as error:
                return wire.error_answer(call.number, "unreachable", describe(error))
            except Exception as error:
                return wire.error_answer(call.number, "broken", describe(error))


class BatchedReplica:
    """A batched replica takes calls over lanes, which bypass Serve.

    A deployment for lanes passes the number of slots in Serve's `user_config`. Without it, or under TLS (lanes are in
    plain text), the replica does not listen, and is called by Serve's handle. Subclasses override `complete`.
    """

    _end: LaneServer | None = None
    _whereabouts: Whereabouts | None = None

    async def complete(self, request: CompletionRequest) -> Completion:
        """Returns the model's completion of a request.

        Errors: EpisodeFailure if the model fails; an error in UNREACHABLE (a lost connection, a dead actor) if a retry
        may succeed. Any other is a mistake of the replica's code.
        """
        raise NotImplementedError

    async def reconfigure(self, config: dict[str, Any]) -> None:
        """Listens for callers, with `config["slots"]` slots. Does nothing under TLS, or if it listens with that number
        already. With another number it listens at a new port, and cancels the calls at the old one.

        Serve calls it at the start, and again when the number of replicas changes. Errors: OSError if it can't listen.
        """
        if tls.is_on() or (self._whereabouts is not None and self._whereabouts.slots == config["slots"]):
            return
        replica, before = serve.get_replica_context().replica_id.unique_id, self._end
        self._end = LaneServer(replica, self.complete, config["slots"])
        self._whereabouts = await self._end.open(ray.util.get_node_ip_address())
        if before is not None:
            await before.close()

    def mark_stopping(self) -> None:
        """Marks the replica as stopping, so that callers retry failed calls at other replicas.

        It has to be called before the engine is shut down, as Serve does not see calls on lanes, and doesn't wait for
        them. Any thread may call it.
        """
        if self._end is not None:
            self._end.is_stopping = True

    @property
    def transport(self) -> Transport:
        """Returns `batched` if the replica listens for lanes, else `handle`."""
        return "batched" if self._whereabouts is not None else "handle"

    async def whereabouts(self) -> Whereabouts:
        """Returns where the replica listens, with its token and slots. Errors: RuntimeError if it does not listen."""
        if self._whereabouts is None:
            raise RuntimeError("this replica does not listen; reach it by its handle")
        return self._whereabouts
