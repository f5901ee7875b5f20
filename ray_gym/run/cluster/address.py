"""Finds the cluster's address, and checks that the cluster lets this process in.

This is checked before Ray joins the cluster, because Ray itself takes 90 s to report a failure, or never does.
"""

from __future__ import annotations

import os
import socket

import grpc
from ray._private.services import canonicalize_bootstrap_address
from ray.exceptions import AuthenticationError

from ray_gym.errors import UserError
from ray_gym.hosting import tls
from ray_gym.hosting.head import ask_head

TIMEOUT_S = 5
"""Seconds that a connection to the cluster's head, and its answer, may take."""
LONGEST_REASON = 500
"""Characters of what a call failed by that are told."""
ANY = ("auto", "local")
"""Values of RAY_ADDRESS that name no particular cluster."""


class NoCluster(UserError):
    """Says that no head of a Ray cluster listens at the address."""


class NoHead(NoCluster):
    """Says that something listens at the address, but does not answer this process as a head does."""


def check_address(address: str) -> None:
    """Checks that a cluster at the address HOST:PORT lets this process in; a connection and an answer may take
    `TIMEOUT_S` seconds each. An empty address, "auto" and "local" name no cluster, and are not checked.

    Errors: UserError for an address of another form, or a token that the cluster does not take; NoCluster if nothing
    listens there; NoHead if what does is no head of a cluster, or none for this process.
    """
    if not address or address in ANY:
        return
    if "://" in address:
        raise UserError(
            f"RAY_ADDRESS: {address!r} is the address of a dashboard or of Ray Client, and this has to join the cluster: set it to "
            "HOST:6379 of its head, or submit this by `ray job submit` (for which RAY_API_SERVER_ADDRESS names the dashboard)"
        )
    host, colon, port = address.rpartition(":")
    if not colon or not (port.isascii() and port.isdigit()):
        raise UserError(
            f"RAY_ADDRESS: {address!r} is no address; it is like 10.0.0.1:6379, or unset for a cluster on this machine"
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=TIMEOUT_S).close()
    except (OSError, OverflowError, UnicodeError) as error:
        raise NoCluster(
            f"RAY_ADDRESS: nothing answers at {address}: {error}; start a cluster there, or unset it"
        ) from None
    _ask(address)


def address_here() -> str | None:
    """Returns the address of the cluster that RAY_ADDRESS names or, if that is unset or "auto", of the one that `ray
    start` has started on this machine ("auto" takes any that runs here); None if there is none of the latter or it is
    gone, and for "local".

    Errors: UserError if RAY_ADDRESS is not HOST:PORT, a file that TLS needs is missing, or the cluster refuses this
    process's token; NoCluster if no cluster answers at RAY_ADDRESS; NoHead if what listens at the address is no head.
    """
    tls.check_files()
    given = os.environ.get("RAY_ADDRESS", "")
    if given not in ("", *ANY):
        check_address(given)
        return given
    try:
        address: str | None = canonicalize_bootstrap_address(None)
    except (ConnectionError, ValueError):  # none runs; nothing is in the file of `ray start`
        return None
    try:
        check_address(address or "")
    except NoHead as error:  # it may be one that this process does not reach: none of its own is started beside it
        raise NoHead(f"{error}. `ray start` has told of it; RAY_ADDRESS=local is for a cluster of your own") from None
    except NoCluster:
        return None
    return address


def _ask(address: str) -> None:
    """Asks the head at the address whether it is alive. Errors: UserError for a refused token; NoHead if none answers."""
    try:
        ask_head(address, TIMEOUT_S)
    except AuthenticationError as error:
        raise UserError(f"the cluster at {address} asks for a token: {error}") from None
    except grpc.RpcError as error:
        if error.code() == grpc.StatusCode.UNAUTHENTICATED:
            raise UserError(
                f"the cluster at {address} refuses this process's token, or that it has none: set RAY_AUTH_MODE=token, and "
                "RAY_AUTH_TOKEN_PATH or RAY_AUTH_TOKEN to the token that the cluster was started with; or RAY_ADDRESS=local for a "
                "cluster of your own"
            ) from None
        raise NoHead(
            f"what listens at {address} is no head of a Ray cluster: {_reason(error)}; RAY_ADDRESS is HOST:6379 of a "
            f"head unless that was started with another port, and 8265 is that of its dashboard; {_of_tls()}"
        ) from None


def _reason(error: grpc.RpcError) -> str:
    """Returns the status of a failed call, and in gRPC's own words what it failed by, on one line: under TLS it's they
    that tell a certificate which is not taken.
    """
    words = " ".join((error.details() or "").split())
    return f"{error.code().name.lower()} ({words[:LONGEST_REASON]})"


def _of_tls() -> str:
    if tls.is_on():
        return f"{tls.USE_TLS} is set, so it has to be under TLS too, with a certificate that {tls.AUTHORITY} signs"
    return f"a cluster under TLS asks for {tls.USE_TLS}=1 here, too"
