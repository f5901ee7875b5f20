"""Tells whether Ray encrypts its connections (`RAY_USE_TLS`), and how models may be reached then.

Lanes, the connections for batched calls, are plain TCP. Where Ray's own connections are encrypted, calls go by Serve's
handles, which are Ray's.
"""

from __future__ import annotations

import ipaddress
import os
from urllib.parse import urlsplit

from ray_gym.hosting.affinity import Transport

USE_TLS = "RAY_USE_TLS"
"""Name of the environment variable that is set in every process of a cluster under TLS: without it, a process can't
talk to the others.
"""


def is_on() -> bool:
    """Returns True if Ray encrypts its connections: the environment variable `RAY_USE_TLS` is 1 or true, in any case of
    letters.
    """
    return os.environ.get(USE_TLS, "0").lower() in ("1", "true")


def choose_transport(transport: Transport) -> Transport:
    """Returns the given transport, but always `handle` if Ray encrypts its connections."""
    return "handle" if is_on() else transport


def handles_note(model: str) -> str:
    """Returns the line which tells the user that calls to a model go by Serve's handles, and not batched, as Ray uses
    TLS.
    """
    return f"model {model}: calls go by Serve's handles, as {USE_TLS} is set and `transport: batched` is in plain text"


def endpoint_note(model: str, url: str) -> str | None:
    """Returns a warning for the user if Ray uses TLS but an endpoint's address does not, else None. Addresses of this
    machine itself need no TLS.
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
