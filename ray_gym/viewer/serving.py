"""Serves a viewer until it is interrupted, for `ray-gym view`."""

from __future__ import annotations

import errno
import secrets
import socket
from collections.abc import Callable, Sequence
from urllib.parse import urlencode

import uvicorn

from ray_gym.errors import UserError
from ray_gym.installed.extras import require
from ray_gym.viewer.app import make_app
from ray_gym.viewer.guard import Guard
from ray_gym.viewer.places import Places

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def serve(locations: Sequence[str], host: str, port: int, say: Callable[[str], None]) -> None:
    """Serves the runs at these locations, and says the address. `port`: 0 takes a free one. `say`: prints a line.

    Errors: UserError if there are no runs, or the address can't be listened at; NotInstalled without the extra `view`.
    """
    require(("duckdb", "nh3", "markdown_it"), "view", "ray-gym view")
    places = Places.of(locations)
    listening = _listen(host, port)
    bound = int(listening.getsockname()[1])
    token = None if host in LOOPBACK else secrets.token_urlsafe(24)
    guard = Guard(make_app(places), _hosts(host, bound), token)
    for first in places.named()[:1]:
        first.begun()
    shown = f"[{host}]" if ":" in host else host
    say(f"ready: http://{shown}:{bound}/{_first_page(places, token)} (Ctrl-C ends it)")
    config = uvicorn.Config(
        guard, log_level="warning", lifespan="off", ws="none", server_header=False, timeout_graceful_shutdown=1
    )
    uvicorn.Server(config).run(sockets=[listening])


def _first_page(places: Places, token: str | None) -> str:
    """Returns the rest of the address of the page to begin with: the comparison of two runs that were named, else the
    list.
    """
    named = [run.storage.name for run in places.named()]
    query = dict(zip("ab", named, strict=True)) if len(named) == 2 else {}
    asked = urlencode({**query, **({} if token is None else {"token": token})})
    return ("compare" if query else "") + (f"?{asked}" if asked else "")


def _listen(host: str, port: int) -> socket.socket:
    """Returns a socket that listens at an address. Errors: UserError, which names a port in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)
    except OSError as error:
        listening.close()
        reason = error.strerror or error
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            told = f"--port: {host}:{port} can't be used: {reason}; --port 0 takes a free one"
        else:
            told = f"--host: {host} can't be listened at: {reason}; give an address of this machine"
        raise UserError(told) from None
    return listening


def _hosts(host: str, port: int) -> set[str]:
    """Returns the values of the header Host by which the viewer may be reached."""
    names = {host, *LOOPBACK} if host in LOOPBACK else {host}
    if host in ("0.0.0.0", "::"):
        names |= {*LOOPBACK, socket.gethostname(), *_addresses()}
    shown = {f"[{name}]" if ":" in name else name for name in names}
    return {f"{name}:{port}".lower() for name in shown}


def _addresses() -> set[str]:
    """Returns the addresses of this machine."""
    try:
        return {str(found[4][0]) for found in socket.getaddrinfo(socket.gethostname(), None)}
    except OSError:
        return set()
