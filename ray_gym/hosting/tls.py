"""Tells whether Ray encrypts its connections (`RAY_USE_TLS`), and how models may be reached then.

Lanes, the connections for batched calls, are plain TCP. Where Ray's own connections are encrypted, calls go by Serve's
handles, which are Ray's.
"""

from __future__ import annotations

import ipaddress
import os
import ssl
from pathlib import Path
from urllib.parse import urlsplit

from ray_gym.errors import UserError
from ray_gym.hosting.affinity import Transport

USE_TLS = "RAY_USE_TLS"
"""Name of the environment variable that is set in every process of a cluster under TLS: without it, a process can't
talk to the others.
"""
AUTHORITY, CERTIFICATE, KEY = "RAY_TLS_CA_CERT", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY"
"""Names of the variables that hold the paths of Ray's PEM files under TLS."""


def is_on() -> bool:
    """Returns True if Ray encrypts its connections: the environment variable `RAY_USE_TLS` is 1 or true, in any case of
    letters.
    """
    return os.environ.get(USE_TLS, "0").lower() in ("1", "true")


def check_files() -> None:
    """Checks that this process has the three files that Ray needs under TLS: without them, Ray itself ends with a
    traceback, or waits for half a minute and does not say why.

    Errors: UserError for a variable that is unset, a file that can't be read, or one that does not hold what it has to.
    """
    if not is_on():
        return
    for name in (AUTHORITY, CERTIFICATE, KEY):
        path = os.environ.get(name)
        if not path:
            raise UserError(f"{name} is unset: it names a PEM file, which Ray needs as {USE_TLS} is set")
        try:
            text = Path(path).read_bytes()
        except OSError as error:
            raise UserError(f"{name}: {path}: {error.strerror}; it names a PEM file, which Ray needs") from None
        held = b"PRIVATE KEY" if name == KEY else b"CERTIFICATE"
        if held + b"-----" not in text:
            raise UserError(f"{name}: {path} is no PEM file that holds a {held.decode().lower()}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers("ALL:@SECLEVEL=0")  # how strong they have to be is for Ray to say
    try:
        context.load_cert_chain(os.environ[CERTIFICATE], os.environ[KEY], password="")
    except ssl.SSLError as error:
        raise UserError(
            f"{CERTIFICATE} and {KEY}: {os.environ[CERTIFICATE]} and {os.environ[KEY]} are no certificate in PEM and its key, without "
            f"a password{_reason(error)}"
        ) from None


def _reason(error: ssl.SSLError) -> str:
    return f" ({error.reason.lower().replace('_', ' ')})" if error.reason else ""


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
