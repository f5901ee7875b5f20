"""Checks whether this cluster asks for Ray's own token. Serve's port is another door: this guards the Jobs API, the
dashboard and Ray's ports.
"""

from __future__ import annotations

from ray._private.authentication.authentication_utils import is_token_auth_enabled

WARNING = (
    "note: {address} can be reached from elsewhere, and this Ray cluster has no token of its own (RAY_AUTH_MODE is not token): whoever "
    "reaches its ports runs code on it. docs/ray_auth.md says how to set one"
)


def warning(address: str) -> str | None:
    """Returns a warning, or None if there is nothing to warn of. For a process that is connected: both sides have the
    same mode, or it would not be.
    """
    return None if is_token_auth_enabled() else WARNING.format(address=address)
