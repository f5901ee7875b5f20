"""Checks whether this Ray cluster requires Ray's own token, which protects the Jobs API, the dashboard and Ray's ports.
The gateway's tokens protect only Serve's port.
"""

from __future__ import annotations

from ray._private.authentication.authentication_utils import is_token_auth_enabled

WARNING = (
    "note: {address} can be reached from other machines, and this Ray cluster has no token of its own (RAY_AUTH_MODE is "
    "not token): anybody who reaches its ports can run code on it. docs/ray_auth.md says how to set one"
)


def auth_warning(address: str) -> str | None:
    """Returns a warning for the user if the cluster requires no token, else None. `address`: address of the gateway.

    This process has to be connected to the cluster: then both have the same mode of authentication.
    """
    return None if is_token_auth_enabled() else WARNING.format(address=address)
