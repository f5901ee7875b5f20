"""Starts Serve with an HTTP proxy. The first process that starts Serve on a cluster sets the proxy's address, so the
one in use may differ from that of the config.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import ray
from ray import serve
from ray.exceptions import RayActorError, RayError
from ray.serve._private.constants import RAY_SERVE_ENABLE_DIRECT_INGRESS
from ray.serve.context import _get_global_client

from ray_gym.deployments.gateway.guards.auth import is_loopback
from ray_gym.errors import RunFailed, UserError
from ray_gym.hosting.serve_start import find_controller, is_own, last_line, start_or_join

LOCATION = "HeadOnly"
"""Location of Serve's proxy, which runs on the head node only."""
END_S = 30
"""Seconds that Serve may take to end."""
KEEP_ALIVE_S = 75
"""Seconds that idle connections are kept open: longer than load balancers keep them, since these would send requests on
connections that are being closed.
"""


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """Describes the HTTP proxy of a Serve that is up."""

    host: str | None
    """Host that the proxy listens at, None if Serve is up without a proxy."""
    port: int
    root_path: str = ""
    """Prefix of all paths."""
    request_timeout_s: float | None = None
    """Seconds after which Serve cuts a request, None for never."""

    @property
    def address(self) -> str:
        """Returns the URL of the proxy, whose `host` must not be None."""
        host = f"[{self.host}]" if self.host and ":" in self.host else self.host
        return f"http://{host}:{self.port}{self.root_path}"


def open_http(host: str, port: int, guarded: bool, say: Callable[[str], None]) -> tuple[HttpAddress, bool]:
    """Starts Serve with an HTTP proxy, unless Serve is up or another process starts it; then waits for that one.
    Returns the address in use, and True if this process started Serve.

    `host`, `port`: address of the config. `guarded`: True if callers need tokens. `say`: prints a line for the user.
    Errors: UserError if the proxy can't listen there, or a Serve that is up doesn't fit the config; RunFailed if Serve
    did not come up, or went down meanwhile.
    """
    try:
        started = _start(host, port)
        running = find_http()
    except RayError as error:
        raise RunFailed(f"Serve went down while it was started: {last_line(error)}") from None
    if running is None:
        raise RunFailed("Serve went down while it was started")
    check_http(running, host, port, guarded, direct=RAY_SERVE_ENABLE_DIRECT_INGRESS)
    if running.request_timeout_s:
        say(f"note: Serve was started with request_timeout_s {running.request_timeout_s:g}: streams are cut after that")
    return running, started


def find_http() -> HttpAddress | None:
    """Returns the address of Serve's HTTP proxy, with the host None if Serve runs without a proxy; None if Serve is not
    up.
    """
    client = _get_global_client(raise_if_no_controller_running=False)
    if client is None:
        return None
    options = client.http_config
    location = ray.get(client._controller.get_proxy_location.remote(), timeout=30)
    off = options.host is None or location is None or location.value in ("Disabled", "NoServer")
    return HttpAddress(None if off else options.host, options.port, options.root_path, options.request_timeout_s)


def check_http(running: HttpAddress, host: str, port: int, guarded: bool, direct: bool = False) -> None:
    """Checks that Serve's HTTP proxy fits the config.

    `running`: the proxy. `host`, `port`: address of the config. `guarded`: True if callers need tokens. `direct`: True
    if replicas have HTTP ports of their own. Errors: UserError if there is no proxy, if it has another address, or if
    callers need no tokens and other machines can reach it or the replicas' ports.
    """
    settled = "the first process that started Serve on this cluster set that"
    instead = "or end it for all its applications by `serve shutdown`, and start the service before anything else"
    if running.host is None:
        raise UserError(
            f"service.port: Serve is up without HTTP ({settled}; runs start it so, and it stays when they have ended): once none "
            "plays, end it by `serve shutdown`, and start the service before anything else"
        )
    if not guarded and not is_loopback(running.host):
        raise UserError(
            f"service.tokens: Serve is up at {running.address}, which other machines can reach ({settled}), and no "
            f"tokens are set: set service.tokens.file or service.tokens.env, {instead} on a loopback address"
        )
    if not guarded and direct:
        raise UserError(
            "service.tokens: RAY_SERVE_ENABLE_DIRECT_INGRESS (part of RAY_SERVE_THROUGHPUT_OPTIMIZED) opens further ports of each "
            "replica: unset it, or set service.tokens"
        )
    if (_plain_host(running.host), running.port) != (_plain_host(host), port):
        raise UserError(
            f"service.port: Serve is up at {running.address} ({settled}), and the config asks for {host}:{port}: "
            f"set service.host={running.host} service.port={running.port}, {instead}"
        )


def check_free(host: str, port: int) -> None:
    """Checks that this process can listen at a port. Serve itself would share it with another Serve (SO_REUSEPORT), and
    each would get some of the requests. Errors: UserError if another process listens there, or the host or port can't
    be used.
    """
    try:
        ((family, kind, _, _, address), *_) = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen()
    except OSError as error:
        reason = error.strerror or error
        raise UserError(
            f"service.port: can't listen at {host}:{port}: {reason}; choose another service.host or service.port"
        ) from None


def shut_down_if_idle() -> None:
    """Shuts Serve down, unless it has applications, or another process has started another one meanwhile. Only the
    process that started Serve calls it.
    """
    if is_own() and not serve.status().applications:
        _end_controller()
        serve.shutdown()


def _end_controller() -> None:
    """Has Serve's controller end, and waits for that, `END_S` seconds at most. `serve.shutdown` instead waits in a call of
    the controller itself, whose end Ray then tells as a failure.
    """
    with suppress(RayError):
        ray.get(_get_global_client()._controller.graceful_shutdown.remote(wait=False), timeout=END_S)
    deadline = time.monotonic() + END_S
    while time.monotonic() < deadline:
        if find_controller() is None:
            return
        time.sleep(0.1)


def _start(host: str, port: int) -> bool:
    """Starts Serve, or waits for one. Returns True if this process started it. Errors: UserError if the proxy can't
    listen at the address; RunFailed if the Serve of another process does not come up; RayActorError if this one's goes down.
    """
    if find_controller() is None and _is_head_node():
        check_free(host, port)
    options = {"host": host, "port": port, "keep_alive_timeout_s": KEEP_ALIVE_S}
    try:
        return start_or_join(LOCATION, http_options=options)
    except RayActorError:
        raise
    except (RayError, OSError, RuntimeError) as error:  # of which TimeoutError is one
        raise UserError(
            f"service.port: can't open {host}:{port}: {last_line(error)}; choose another host or port"
        ) from None


def _is_head_node() -> bool:
    """Returns True if this node is the head node, on which Serve's proxy will run."""
    here = ray.get_runtime_context().get_node_id()
    return any(node["NodeID"] == here and "node:__internal_head__" in node["Resources"] for node in ray.nodes())


def _plain_host(host: str) -> str:
    return "127.0.0.1" if host == "localhost" else host
