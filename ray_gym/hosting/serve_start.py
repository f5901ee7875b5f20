"""Starts Serve on the cluster, or joins the one that is up, or that another process is starting or ending. Ray itself
fails if two processes start Serve at the same moment.
"""

from __future__ import annotations

import logging
import time
from typing import Any

import ray
from ray import serve
from ray.exceptions import ActorAlreadyExistsError, RayError
from ray.serve._private.constants import SERVE_CONTROLLER_NAME, SERVE_NAMESPACE
from ray.serve.context import _check_cached_client_alive

from ray_gym.errors import RunFailed

JOIN_S = 90.0
"""Seconds that a Serve which another process starts may take until it answers. Serve gives its proxy 60 s."""
PAUSE_S = 0.2
"""Seconds between two looks at such a Serve."""


def start_or_join(proxy_location: str, **options: Any) -> bool:
    """Starts Serve, or waits for the Serve that another process has started. Returns True if this call started it; only
    then the options hold. A Serve of this process that does not come up is shut down again, any other is left alone.

    `proxy_location`, `options`: those of `serve.start`. A Serve with another location than `Disabled` is waited for
    until it has a proxy.

    Errors: those of `serve.start` (RayError, OSError, RuntimeError) if this process can't start Serve; RunFailed if
    that of another process does not come up within JOIN_S seconds.
    """
    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    deadline = time.monotonic() + JOIN_S
    while True:
        try:
            if (controller := find_controller()) is None:
                _start(proxy_location=proxy_location, logging_config={"log_level": "WARNING"}, **options)
                return is_own()
            _wait_until_up(controller, proxy_location != "Disabled", max(0.0, deadline - time.monotonic()))
            return False
        except _NotUp as error:
            if time.monotonic() > deadline:
                started = "Serve, which another process has started on this cluster"
                raise RunFailed(f"{started}, does not answer within {JOIN_S:g} s: {error}") from None
        time.sleep(PAUSE_S)


def is_own() -> bool:
    """Says whether the Serve that is up was started by this driver, or by a process that this driver started."""
    controller = find_controller()
    return controller is not None and controller._actor_id.job_id.hex() == ray.get_runtime_context().get_job_id()


class _NotUp(Exception):
    """Says that the Serve of another process does not answer yet, or not any more."""


def find_controller() -> Any | None:
    """Returns the handle of the controller of the Serve on this cluster, which may be starting or ending; None if there
    is none.
    """
    try:
        return ray.get_actor(SERVE_CONTROLLER_NAME, SERVE_NAMESPACE)
    except ValueError:
        return None


def _start(**options: Any) -> None:
    """Starts Serve. Errors: _NotUp if another process starts it now; else those of `serve.start`, after which the Serve
    of this process is shut down, as its controller would retry for ever.
    """
    try:
        serve.start(**options)
    except ActorAlreadyExistsError:
        raise _NotUp("it is being started") from None
    except (RayError, OSError, RuntimeError):
        if is_own():
            serve.shutdown()
        raise


def _wait_until_up(controller: Any, with_proxy: bool, within_s: float) -> None:
    """Waits until a Serve that is there answers, and with `with_proxy` one of its proxies, if it has any. Errors: _NotUp
    if they fail, or don't answer in time.
    """
    try:
        ray.get(controller.check_alive.remote(), timeout=within_s)
        proxies = ray.get(controller.get_proxies.remote(), timeout=within_s) if with_proxy else {}
        if proxies:
            answers = [proxy.ready.remote() for proxy in proxies.values()]
            first, _ = ray.wait(answers, num_returns=1, timeout=within_s)
            ray.get(first or answers, timeout=0.1)
    except RayError as error:
        raise _NotUp(last_line(error)) from None
    _check_cached_client_alive()  # forgets an earlier Serve


def last_line(error: Exception) -> str:
    """Returns the last line of an error, which in Ray's long texts says what happened; its type if it has no text."""
    return next(iter(reversed(str(error).strip().splitlines())), type(error).__name__)
