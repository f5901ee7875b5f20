"""Checks the ports at which a service and the dashboard are reached."""

from __future__ import annotations

import http.client
import socket

LOOK_S = 5.0
"""Seconds that a connection may wait for an answer."""
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Addresses that stand for all interfaces, with the loopback address to connect to instead."""
SERVE_HEALTH = "/-/healthz"
"""Path that every proxy of Serve answers."""


def port_problem(host: str, port: int) -> str | None:
    """Returns the reason why a service can't listen at an address of this machine; None if the port is free, or a proxy
    of Serve answers there.
    """
    try:
        ((family, kind, _, _, address), *_) = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen()
    except OSError as error:
        if get(EVERYWHERE.get(host, host), port, SERVE_HEALTH)[1].startswith(b"success"):
            return None
        return f"can't listen at {host}:{port}: {error.strerror or error}"
    return None


def get(host: str, port: int, path: str) -> tuple[int, bytes]:
    """Sends a GET request without any token, and returns the status (0 without an answer) and the first 1024 bytes of
    the body.
    """
    connection = http.client.HTTPConnection(host, port, timeout=LOOK_S)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read(1024)
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()
