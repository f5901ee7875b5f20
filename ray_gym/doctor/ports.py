"""The ports that a service and the dashboard are reached by."""

from __future__ import annotations

import http.client
import socket

LOOK_S = 5.0
EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
SERVE_HEALTH = "/-/healthz"
"""Of every proxy of Serve, whatever else it has."""


def port_problem(host: str, port: int) -> str | None:
    """Why a service can't listen there. None if the port is free, or Serve has it already."""
    try:
        ((family, kind, _, _, address), *_) = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen()
    except OSError as error:
        if answer(EVERYWHERE.get(host, host), port, SERVE_HEALTH)[1].startswith(b"success"):
            return None
        return f"can't listen at {host}:{port}: {error.strerror or error}"
    return None


def answer(host: str, port: int, path: str) -> tuple[int, bytes]:
    """Status (0: none came) and the beginning of the body, to a request without any token."""
    connection = http.client.HTTPConnection(host, port, timeout=LOOK_S)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read(1024)
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()
