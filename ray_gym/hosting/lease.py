"""Keeps track of the runs that use a Serve application: leases, and the janitor that deletes an application which
nobody uses any more.

An application belongs to the runs that use it. The driver of each run holds a lease: an actor that dies with the
driver, however the driver dies. The janitor is a detached actor, one for each application. It alone decides that an
application is not used any more, so that no driver takes one over while it is being deleted. It decides so when the
last driver releases its lease (`close`), and by itself when there has been no lease for `grace_s` seconds, since a
driver that was killed deletes nothing.
"""

from __future__ import annotations

import threading
import time
import uuid
from contextlib import suppress
from typing import Any

import ray
from ray import serve
from ray.exceptions import GetTimeoutError, RayActorError

from ray_gym.errors import RunFailed
from ray_gym.weights.holder import dismiss_holder

NAMESPACE = "ray_gym_app_leases"
"""Ray namespace of the actors of leases and janitors."""
GRACE_S = 60.0
"""Seconds that an application stays up without a lease: a run whose driver was killed may be resumed meanwhile."""
LOOK_S = 2.0
"""Seconds between two checks of a janitor for leases."""
ANSWER_S = 30.0
"""Seconds to wait for a janitor's answer, or its end: Ray restarts a janitor that was killed within that time."""


class AppLease:
    """A driver's lease on an application is an actor that does nothing, and lives as long as the driver. Only its name
    counts.

    The actor's process imports nothing of this project, and waits for ever in a call: an actor that waits for calls
    checks for signals a hundred times a second. That saves two thirds of its CPU time: a lease takes 0.4 s at its
    start, and 2 ms a second.
    """

    def __init__(self, app: str, run_id: str) -> None:
        """Takes the lease. It holds on return: Ray registers the actor's name at once, before its process starts."""
        self._app = app
        self._name = f"lease|{app}|{run_id}|{uuid.uuid4().hex}"
        nothing = ray.remote(num_cpus=0, max_restarts=-1)(threading.Event)  # it may lose its process, or its node
        self._actor = nothing.options(name=self._name, namespace=NAMESPACE).remote()
        self._actor.wait.remote()

    def __del__(self) -> None:
        """Kills the actor, as an actor with a call under way outlives its handles."""
        if ray.is_initialized():
            with suppress(Exception):
                ray.kill(self._actor)

    def is_shared(self) -> bool:
        """Returns True if another driver holds a lease on the application too."""
        return bool(leases_of(self._app) - {self._name})

    def release(self) -> bool:
        """Releases the lease. Returns True if the caller has to delete the application now: no other driver has a lease
        on it, and none can take it over any more. Returns False if another driver has one, there is no janitor, or the
        janitor does not answer.
        """
        ray.kill(self._actor)
        janitor = find_janitor(self._app)
        return janitor is not None and bool(_ask(janitor.close.remote(self._name)))


class _Janitor:
    def __init__(self, app: str, digest: str, grace_s: float) -> None:
        """Starts a thread that watches the leases. Ray also calls this when it restarts the janitor after its death."""
        self._app = app
        self._digest = digest
        self._grace_s = grace_s
        self._deciding = threading.Lock()
        self._closing = False
        threading.Thread(target=self._watch, daemon=True).start()

    def digest(self) -> str | None:
        """Returns the digest of the options that the application was deployed with; None if the application is being
        deleted. The caller has to hold a lease.
        """
        with self._deciding:
            return None if self._closing else self._digest

    def close(self, released: str = "") -> bool:
        """Returns True if there is no lease but the one named `released`, which is being given back. From then on it
        always returns True, and no driver can take the application over any more.
        """
        with self._deciding:
            self._closing = self._closing or not leases_of(self._app) - {released}
            return self._closing

    def _watch(self) -> None:
        used_at = time.monotonic()
        while True:
            time.sleep(min(LOOK_S, self._grace_s))
            try:
                if leases_of(self._app):
                    used_at = time.monotonic()
                elif time.monotonic() - used_at > self._grace_s and self.close():
                    serve.delete(self._app, _blocking=True)
                    return dismiss(self._app)
            except Exception:  # for instance while Serve's controller restarts; the next check retries
                continue


def leases_of(app: str) -> set[str]:
    """Returns the names of the leases on an application."""
    return {name for name in _actor_names() if name.startswith(f"lease|{app}|")}


def start_janitor(app: str, digest: str, grace_s: float) -> None:
    """Starts the janitor of an application.

    Errors: RunFailed if the application has one already, since another driver is starting it right now.
    """
    options = {
        "name": _janitor_name(app),
        "namespace": NAMESPACE,
        "lifetime": "detached",
        "max_restarts": -1,
        "max_task_retries": -1,
    }
    try:
        ray.remote(num_cpus=0)(_Janitor).options(**options).remote(app, digest, grace_s)
    except ValueError:
        raise RunFailed(f"another run is starting the Serve application {app} right now; choose another name") from None


def find_janitor(app: str) -> Any | None:
    """Returns the actor of an application's janitor; None if there is none, as no run started the application, or the
    application was deleted.
    """
    try:
        return ray.get_actor(_janitor_name(app), namespace=NAMESPACE)
    except ValueError:
        return None


def deployed_digest(app: str) -> str | None:
    """Returns the digest of the options that an application was deployed with. Returns None if it has no janitor, the
    janitor does not answer, or the application is being deleted.
    """
    janitor = find_janitor(app)
    answer: str | None = None if janitor is None else _ask(janitor.digest.remote())
    return answer


def dismiss(app: str) -> None:
    """Kills the janitor of a deleted application, if there is one, and the holder of its weights. Waits up to
    `ANSWER_S` seconds for each until its name is free.
    """
    dismiss_holder(app)
    janitor = find_janitor(app)
    if janitor is None:
        return
    ray.kill(janitor)
    deadline = time.monotonic() + ANSWER_S
    while _janitor_name(app) in _actor_names() and time.monotonic() < deadline:
        time.sleep(0.05)


def _ask(reference: Any) -> Any | None:
    """Returns the janitor's answer to a call. Returns None if the janitor is dead, or does not answer within `ANSWER_S`
    seconds: a janitor that lives deletes an unused application by itself.
    """
    try:
        return ray.get(reference, timeout=ANSWER_S)
    except (RayActorError, GetTimeoutError):
        return None


def _actor_names() -> set[str]:
    actors = ray.util.list_named_actors(all_namespaces=True)
    return {actor["name"] for actor in actors if actor["namespace"] == NAMESPACE}


def _janitor_name(app: str) -> str:
    return f"janitor|{app}"
