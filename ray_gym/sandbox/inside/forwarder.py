"""Forwards connections from the sandbox's loopback to the door, a Unix socket of the worker's."""

from __future__ import annotations

import contextlib
import socket

from .loop import CHUNK, Loop

AGAIN_S = 0.02
"""Seconds until what was refused for want of room is tried again."""


class Forwarder:
    """A forwarder listens at 127.0.0.1, and connects each caller to the door."""

    def __init__(self, loop: Loop, port: int, door: str) -> None:
        """Listens at a port (0: any that is free). Errors: OSError if the port is taken."""
        self._loop = loop
        self._door = door
        self._listener = socket.create_server(("127.0.0.1", port), backlog=1024)
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self._listen()

    def _listen(self) -> None:
        self._loop.on_read(self._listener.fileno(), self._accept)

    def _accept(self) -> None:
        try:
            caller, _ = self._listener.accept()
        except BlockingIOError:
            return
        except OSError:  # no descriptors are left for now
            self._loop.on_read(self._listener.fileno(), None)
            self._loop.later(AGAIN_S, self._listen)
            return
        caller.setblocking(False)
        caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connect(caller)

    def _connect(self, caller: socket.socket) -> None:
        door = None
        try:
            door = socket.socket(socket.AF_UNIX)
            door.setblocking(False)
            door.connect(self._door)
        except BlockingIOError:  # the door's backlog is full
            _close(door)
            self._loop.later(AGAIN_S, lambda: self._connect(caller))
        except OSError:
            _close(door)
            caller.close()
        else:
            Bridge(self._loop, caller, door)


class Bridge:
    """A bridge copies both directions between two sockets until both have ended."""

    def __init__(self, loop: Loop, one: socket.socket, other: socket.socket) -> None:
        self._loop = loop
        self._sockets = (one, other)
        self._pumps = (Pump(loop, one, other, self), Pump(loop, other, one, self))

    def check(self) -> None:
        """Closes both sockets if both directions have ended."""
        if all(pump.is_done for pump in self._pumps):
            self.close()

    def close(self) -> None:
        for each in self._sockets:
            if each.fileno() >= 0:
                self._loop.forget(each.fileno())
                each.close()


class Pump:
    """A pump copies one direction. It reads no more before the other side has taken what was read."""

    def __init__(self, loop: Loop, source: socket.socket, sink: socket.socket, bridge: Bridge) -> None:
        self._loop, self._source, self._sink, self._bridge = loop, source, sink, bridge
        self._bytes = b""
        self.is_done = False
        loop.on_read(source.fileno(), self._read)

    def _read(self) -> None:
        try:
            self._bytes = self._source.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError:
            self._bridge.close()
            return
        if self._bytes:
            self._write()
            return
        self._loop.on_read(self._source.fileno(), None)
        with contextlib.suppress(OSError):
            self._sink.shutdown(socket.SHUT_WR)
        self.is_done = True
        self._bridge.check()

    def _write(self) -> None:
        try:
            self._bytes = self._bytes[self._sink.send(self._bytes) :]
        except BlockingIOError:
            pass
        except OSError:
            self._bridge.close()
            return
        waits = bool(self._bytes)
        self._loop.on_write(self._sink.fileno(), self._write if waits else None)
        self._loop.on_read(self._source.fileno(), None if waits else self._read)


def _close(open_socket: socket.socket | None) -> None:
    if open_socket is not None:
        open_socket.close()
