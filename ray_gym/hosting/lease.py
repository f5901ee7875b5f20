"""Keeps track of the runs that use a Serve application: leases, and the janitor that deletes an application which
nobody uses any more.

An application belongs to the runs that use it. The driver of each holds a lease: an actor that dies with the driver,
however the driver dies. The janitor is a detached actor, one for each application. It alone decides that an application
is not used any more, so that nobody takes one over while it is being taken down: first for the last driver that goes
(`close`), and for itself when no lease has been held for a while (`grace_s`), since a driver that was killed takes down
nothing.
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
"""The Ray namespace of leases and janitors."""
GRACE_S = 60.0
"""Seconds that an application stays up with no driver on it: a run whose driver was killed may be resumed meanwhile."""
LOOK_S = 2.0
ANSWER_S = 30.0
"""Seconds within which Ray starts a janitor again that was killed."""


class Lease:
    """A driver's lease on an application is an actor that does nothing, and lives exactly as long as the driver. Only
    its name counts.

    Its process imports nothing of ours, and waits for ever in a call (until Ray has to start it again): an actor that
    waits for calls looks for signals a hundred times a second. With that a lease takes a third of the CPU time, 0.4 s
    when it starts and 2 ms a second.
    """

    def __init__(self, app: str, run_id: str) -> None:
        """Takes the lease. It is held on return: names are registered at once, before there is a process."""
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
        """Says whether another driver holds a lease on the application too."""
        return bool(held(self._app) - {self._name})

    def release(self) -> bool:
        """Gives the lease back. Returns True if the application is now the caller's to delete: nobody else uses it, and
        nobody will.
        """
        ray.kill(self._actor)
        janitor = find_janitor(self._app)
        return janitor is not None and bool(_asked(janitor.close.remote(self._name)))


class _Janitor:
    def __init__(self, app: str, digest: str, grace_s: float) -> None:
        """Starts to watch the leases. Also called when Ray starts the janitor again after its death."""
        self._app = app
        self._digest = digest
        self._grace_s = grace_s
        self._deciding = threading.Lock()
        self._closing = False
        threading.Thread(target=self._watch, daemon=True).start()

    def digest(self) -> str | None:
        """Returns the digest of the options that the application was deployed with; None if it is being taken down. Ask
        while holding a lease.
        """
        with self._deciding:
            return None if self._closing else self._digest

    def close(self, released: str = "") -> bool:
        """Says whether no lease is held (but the one that is being released). If so, the application is given to nobody
        any more.
        """
        with self._deciding:
            self._closing = self._closing or not held(self._app) - {released}
            return self._closing

    def _watch(self) -> None:
        used_at = time.monotonic()
        while True:
            time.sleep(min(LOOK_S, self._grace_s))
            try:
                if held(self._app):
                    used_at = time.monotonic()
                elif time.monotonic() - used_at > self._grace_s and self.close():
                    serve.delete(self._app, _blocking=True)
                    return dismiss(self._app)
            except Exception:  # the controller is being started again, say: there is another look
                continue


def held(app: str) -> set[str]:
    """Returns the names of the leases on an application."""
    return {name for name in _names() if name.startswith(f"lease|{app}|")}


def start_janitor(app: str, digest: str, grace_s: float) -> None:
    """Starts the janitor of an application.
    Errors: RunFailed if the application has one, which only another driver at this moment can have started.
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
    """Returns the janitor of an application, or None if no run started the application, or it is gone."""
    try:
        return ray.get_actor(_janitor_name(app), namespace=NAMESPACE)
    except ValueError:
        return None


def digest_of(app: str) -> str | None:
    """Returns the digest that the janitor of an application knows; None without a janitor, or while the application is
    being taken down.
    """
    janitor = find_janitor(app)
    answer: str | None = None if janitor is None else _asked(janitor.digest.remote())
    return answer


def dismiss(app: str) -> None:
    """Ends the janitor of an application that is deleted, if there is one, and the holder of its weights. Their names
    are free when this returns.
    """
    dismiss_holder(app)
    janitor = find_janitor(app)
    if janitor is None:
        return
    ray.kill(janitor)
    deadline = time.monotonic() + ANSWER_S
    while _janitor_name(app) in _names() and time.monotonic() < deadline:
        time.sleep(0.05)


def _asked(reference: Any) -> Any | None:
    """Returns the janitor's answer, or None if it does not answer: then it is gone, or will take care of the
    application itself.
    """
    try:
        return ray.get(reference, timeout=ANSWER_S)
    except (RayActorError, GetTimeoutError):
        return None


def _names() -> set[str]:
    actors = ray.util.list_named_actors(all_namespaces=True)
    return {actor["name"] for actor in actors if actor["namespace"] == NAMESPACE}


def _janitor_name(app: str) -> str:
    return f"janitor|{app}"
