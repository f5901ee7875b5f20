"""Tells whether Ray encrypts its connections (`RAY_USE_TLS`), and how models may be reached then.

Lanes are plain TCP. Where Ray's own connections are encrypted, calls go by Serve's handles, which are Ray's.
"""

from __future__ import annotations

import ipaddress
import os
from urllib.parse import urlsplit

from ray_gym.hosting.affinity import Transport

USE_TLS = "RAY_USE_TLS"
"""Environment variable that every process of a cluster under TLS has: without it, it can't talk to the others."""


def is_on() -> bool:
    """Returns True if this process's cluster is under TLS. Reads the variable as Ray does."""
    return os.environ.get(USE_TLS, "0").lower() in ("1", "true")


def choose_transport(transport: Transport) -> Transport:
    """Returns the transport to use where `transport` is wanted: under TLS always `handle`."""
    return "handle" if is_on() else transport


def handles_note(model: str) -> str:
    """Returns a line for the user: calls to a model that were to be batched go by handles."""
    return f"model {model}: calls go by Serve's handles, as {USE_TLS} is set and `transport: batched` is in plain text"


def endpoint_note(model: str, url: str) -> str | None:
    """Returns a line for the user if an endpoint is reached in plain text although the cluster is under TLS, else
    None.
    """
    parts = urlsplit(url)
    if not is_on() or parts.scheme == "https" or _is_this_machine(parts.hostname or ""):
        return None
    return f"note: models.{model}.base_url: {url} is reached in plain text, although {USE_TLS} is set; give an https address"


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
