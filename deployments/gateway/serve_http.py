"""Opens Serve's HTTP proxy. The first to start Serve settles its address for all, so the address in use counts, not the
one asked for.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass

import ray
from ray import serve
from ray.exceptions import RayError
from ray.serve._private.constants import RAY_SERVE_ENABLE_DIRECT_INGRESS
from ray.serve.context import _get_global_client

from ray_gym.deployments.gateway.guards.auth import is_loopback
from ray_gym.errors import RunFailed, UserError

LOCATION = "HeadOnly"
KEEP_ALIVE_S = 75
"""Seconds that idle connections are kept: longer than load balancers keep them, which else send a request into one that
is being closed.
"""


@dataclass(frozen=True, slots=True)
class Running:
    """Serve's HTTP runs at this address. `host` is None where Serve has no HTTP."""

    host: str | None
    port: int
    root_path: str = ""
    request_timeout_s: float | None = None

    @property
    def address(self) -> str:
        host = f"[{self.host}]" if self.host and ":" in self.host else self.host
        return f"http://{host}:{self.port}{self.root_path}"


def open_http(host: str, port: int, guarded: bool, say: Callable[[str], None]) -> tuple[Running, bool]:
    """Opens Serve's HTTP at that address. Returns the address in use, and True if Serve was started for it. Errors:
    UserError, RunFailed.
    """
    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    found = running_http()
    if found is None:
        _start(host, port)
    running = found or running_http()
    if running is None:
        raise RunFailed("Serve went down while it was started")
    check_running(running, host, port, guarded, direct=RAY_SERVE_ENABLE_DIRECT_INGRESS)
    if running.request_timeout_s:
        say(f"note: Serve was started with request_timeout_s {running.request_timeout_s:g}: streams are cut after that")
    return running, found is None


def running_http() -> Running | None:
    """Returns the address of Serve's HTTP, or None if Serve is not up."""
    client = _get_global_client(raise_if_no_controller_running=False)
    if client is None:
        return None
    options = client.http_config
    location = ray.get(client._controller.get_proxy_location.remote(), timeout=30)
    off = options.host is None or location is None or location.value in ("Disabled", "NoServer")
    return Running(None if off else options.host, options.port, options.root_path, options.request_timeout_s)


def check_running(running: Running, host: str, port: int, guarded: bool, direct: bool = False) -> None:
    """Checks that Serve's HTTP fits the config. Errors: UserError that says what is running, and what to do."""
    settled = "whoever started Serve first on this cluster settled that"
    instead = "or end it for all its applications by `serve shutdown`, and start the service before anything else"
    if running.host is None:
        raise UserError(
            f"service.port: Serve is up without HTTP ({settled}; runs start it so): wait for them, {instead}"
        )
    if not guarded and not is_loopback(running.host):
        raise UserError(
            f"service.tokens: Serve is up at {running.address}, which is not this machine's alone ({settled}), and no tokens are set: "
            f"set service.tokens.file or service.tokens.env, {instead} on a loopback address"
        )
    if not guarded and direct:
        raise UserError(
            "service.tokens: RAY_SERVE_ENABLE_DIRECT_INGRESS (part of RAY_SERVE_THROUGHPUT_OPTIMIZED) opens further ports of each "
            "replica: unset it, or set service.tokens"
        )
    if (_plain(running.host), running.port) != (_plain(host), port):
        raise UserError(
            f"service.port: Serve is up at {running.address} ({settled}), and the config asks for {host}:{port}: "
            f"set service.host={running.host} service.port={running.port}, {instead}"
        )


def check_free(host: str, port: int) -> None:
    """Checks that the port is free. Serve itself would share it with another Serve (SO_REUSEPORT), and each get some of
    the requests.
    Errors: UserError if something listens there.
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
    """Shuts Serve down for the process that started it, unless others have come to use it."""
    if not serve.status().applications:
        serve.shutdown()


def _start(host: str, port: int) -> None:
    if _is_head_node():
        check_free(host, port)
    options = {"host": host, "port": port, "keep_alive_timeout_s": KEEP_ALIVE_S}
    try:
        serve.start(proxy_location=LOCATION, http_options=options, logging_config={"log_level": "WARNING"})
    except (RayError, OSError, RuntimeError) as error:  # of which TimeoutError is one
        reason = str(error).strip().splitlines()[-1:] or [type(error).__name__]
        serve.shutdown()  # otherwise its controller tries for ever
        raise UserError(f"service.port: can't open {host}:{port}: {reason[0]}; choose another host or port") from None


def _is_head_node() -> bool:
    """Says whether this node is the head, where Serve's proxy will be."""
    here = ray.get_runtime_context().get_node_id()
    return any(node["NodeID"] == here and "node:__internal_head__" in node["Resources"] for node in ray.nodes())


def _plain(host: str) -> str:
    return "127.0.0.1" if host == "localhost" else host
