"""Deploys a model as a Serve application of a run, attaches to one that is up, and deletes it after its last run."""

from __future__ import annotations

import difflib
import hashlib
import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import ray
from pydantic import BaseModel
from ray import serve
from ray.exceptions import RayError
from ray.serve.schema import ApplicationStatus

from ray_gym.errors import RunFailed, UserError
from ray_gym.hosting import tls
from ray_gym.hosting.head import own_head_is_gone
from ray_gym.hosting.import_paths import as_variables
from ray_gym.hosting.lease import GRACE_S, AppLease, deployed_digest, dismiss, find_janitor, start_janitor
from ray_gym.hosting.room import SAY_S, no_place
from ray_gym.hosting.serve_start import last_line, start_or_join
from ray_gym.weights.holder import FirstWeights, is_changed, start_holder

RELEASE_S = 15.0
"""Seconds to wait until other drivers have released their leases: that of a driver which was just killed exists for a
while.
"""
HEALTH_CHECK_S = 1.0
"""Seconds between Serve's health checks. A replica that died is replaced at the next check, one whose `check_health`
fails after the third failure in a row.
"""
START_RETRIES = 1_000
"""Number of replicas that did not start after which Serve gives an application up for good (or three times `count`, if
that is less).

A restarted controller also counts replicas that were killed while they started, and does not know that any ever
started: so the number is high.
"""
MOST_QUESTIONS = 10_000
"""Largest number of Serve calls at a replica at once, where completions bypass Serve: `whereabouts` and `load` never
wait for a slot.
"""
FAILED_START = "A replica failed to start"
"""Beginning of Serve's message when a replica did not start and Serve is going to retry."""

UNPLACED = "to be scheduled"
"""Part of Serve's message about replicas that Ray has found no place for within 30 s."""


@dataclass(frozen=True, slots=True)
class DeploymentSpec:
    """Describes the Serve deployment of a model: the class of its replicas, how many there are, and which resources
    they take.
    """

    replica_class: type
    arguments: tuple[Any, ...]
    """Arguments of the constructor of `replica_class`."""
    count: int
    max_ongoing_requests: int
    """Largest number of calls that one replica carries out at a time."""
    actor_options: dict[str, Any]
    """Ray's options of a replica's actor: num_cpus, num_gpus, label_selector, runtime_env."""
    start_timeout_s: float
    """Seconds within which every replica has to be up."""
    replica_name: str
    """Name of the replica in errors about its start."""
    model_name: str
    """Name of the model in the message that it is being loaded."""
    digest: str
    """Digest of all options: an application that an earlier driver left is taken over only if it has the same."""
    autoscaling: dict[str, Any] | None = None
    """Serve's autoscaling_config, if replicas come and go with the calls; `count` replicas are started at first."""
    batched: bool = False
    """True if calls bypass Serve: `replica_class` is a `BatchedReplica`, which limits its calls itself."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Further options of `serve.deployment`."""
    weights: FirstWeights | None = None
    """First weights of a model whose weights can be changed while it serves; else None."""

    def bind(self) -> Any:
        """Returns the deployment, bound to the arguments of its replicas, in the form that `serve.run` takes."""
        deployment = serve.deployment(
            self.replica_class,
            name="model",
            **({"autoscaling_config": self.autoscaling} if self.autoscaling else {"num_replicas": self.count}),
            max_ongoing_requests=MOST_QUESTIONS if self.batched else self.max_ongoing_requests,
            user_config={"slots": self.max_ongoing_requests} if self.batched else None,
            max_constructor_retry_count=START_RETRIES,
            graceful_shutdown_timeout_s=10,
            graceful_shutdown_wait_loop_s=0.5,
            health_check_period_s=HEALTH_CHECK_S,
            ray_actor_options=self._actor_options(),
            **self.settings,
        )
        return deployment.bind(*self.arguments)

    @property
    def bundles(self) -> list[dict[str, float]]:
        """Returns the bundles of a replica's placement group; [] if it has none."""
        return list(self.settings.get("placement_group_bundles") or [])

    def _actor_options(self) -> dict[str, Any]:
        """Returns `actor_options` with this driver's import paths as PYTHONPATH, unless the runtime_env sets that
        variable: otherwise replicas would get the paths of the driver that started Serve. If the options have no
        runtime_env, the driver's is used.
        """
        runtime_env = self.actor_options.get("runtime_env") or ray.get_runtime_context().runtime_env
        env_vars = {**as_variables(), **runtime_env.get("env_vars", {})}
        return {**self.actor_options, "runtime_env": {**runtime_env, "env_vars": env_vars}}


class Application:
    """An application object deploys a Serve application, attaches to it or deletes it, for a driver whose lease it
    holds. Its pickled copies, which workers get, have no lease.
    """

    def __init__(self, grace_s: float = GRACE_S, release_s: float = RELEASE_S, name_key: str = "run.name") -> None:
        """Creates the object; nothing is deployed yet.

        `grace_s`: seconds for which the application stays up without a driver. `release_s`: seconds to wait for the
        lease of a driver that was killed. `name_key`: key of the config that the application's name comes from, for
        errors.
        """
        self.name = ""
        self._name_key = name_key
        self._grace_s = grace_s
        self._release_s = release_s
        self._lease: AppLease | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lease": None}  # the lease is the driver's

    def start(self, run_id: str, model: str, spec: DeploymentSpec, say: Callable[[str], None]) -> None:
        """Deploys the application, and blocks until every replica is up. If an earlier driver of the run has left it up
        with the same options, takes it over instead. `say` gets lines for the user about it.

        Under TLS it is deployed for calls by Serve's handles, never for lanes.

        Errors: UserError if an application of this name is used by a live driver, or was started by no run, or if a
        replica raised a UserError; RunFailed if Serve does not come up, an old one can't be deleted, another run is
        starting it, or it is not up in time.
        """
        if spec.batched and tls.is_on():
            say(tls.handles_note(model))
            spec = replace(spec, batched=False)
        start_serve()
        if self.hold(application_name(run_id, model), run_id, spec.digest):
            say(f"model {model}: found {self.name} up, left by an earlier driver of this run")
            return
        say(f"model {model}: loading {spec.model_name} as the Serve application {self.name}")
        if spec.weights is not None:
            start_holder(self.name, spec.weights)
        target = serve.RunTarget(target=spec.bind(), name=self.name, route_prefix=None)
        serve.run_many([target], wait_for_applications_running=False)
        self._wait_until_up(model, spec, say)

    def hold(self, name: str, run_id: str, digest: str) -> bool:
        """Takes a lease on the application of this name. Returns True if the application is up with this digest of its
        options. Otherwise deletes it, if there is one, starts a janitor for a new one, and returns False: then the
        caller has to deploy the application.

        Errors: UserError if a live driver uses the application, or no run started it; RunFailed if it can't be deleted,
        or another run is starting it.
        """
        self.name = name
        self._lease = AppLease(name, run_id)  # before the check, so that nobody deletes it in between
        if self._take_over(digest):
            return True
        start_janitor(name, digest, self._grace_s)
        return False

    def attach(self, app: str, run_id: str, model: str) -> dict[str, Any]:
        """Takes a lease on an application that is up, and returns the description that one of its replicas gives of
        itself (`describe`).

        Errors: UserError if the application is not up, not RUNNING, or being deleted; RunFailed if Serve does not come
        up; TimeoutError if no replica answers within 30 s.
        """
        start_serve()
        self.name = app
        self._lease = AppLease(app, run_id)  # before the check, so that its owner can't delete it in between
        running = application_statuses()
        status = running.get(app)
        if status is None:
            close = difflib.get_close_matches(app, running, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            listing = ", ".join(sorted(running)) or "none"
            raise UserError(f"models.{model}.app: no Serve application {app!r} is up; {hint}up: {listing}")
        if status != ApplicationStatus.RUNNING:
            raise UserError(f"models.{model}.app: the application {app!r} is {status.value}, not RUNNING")
        if find_janitor(app) is not None and deployed_digest(app) is None:
            raise UserError(f"models.{model}.app: the application {app!r} is being deleted by its last run")
        description: dict[str, Any] = serve.get_app_handle(app).describe.remote().result(timeout_s=30)
        return description

    def stop(self) -> None:
        """Releases the lease, if there is one. If it was the last one on an application that a run started, deletes the
        application and waits until it is gone. Does nothing on a local cluster that is gone already.

        Errors: RunFailed if Serve does not delete it; its janitor will retry.
        """
        lease, self._lease = self._lease, None
        if lease is not None and not own_head_is_gone() and lease.release():
            self._delete()

    def delete_if_changed(self, run_id: str, model: str) -> None:
        """Deletes the application that an earlier driver of the run has left up, if its weights were changed since: the
        run begins with the weights of its config.

        An application that a live driver uses is left alone. Errors: RunFailed if Serve does not delete it.
        """
        self.name = application_name(run_id, model)
        if is_changed(self.name):
            self._lease = AppLease(self.name, run_id)
            self._wait_until_released()
            self.stop()

    def _take_over(self, digest: str) -> bool:
        """Returns True if an earlier driver of the run has left an application with this digest up. One with another
        digest, or that is not RUNNING, is deleted.

        Errors: UserError if a live driver uses it, or no run started it; RunFailed if Serve does not delete it.
        """
        there, janitor = self.name in application_statuses(), find_janitor(self.name)
        if not there and janitor is None:
            return False
        if janitor is None:
            raise UserError(
                f"{self._name_key}: there is a Serve application {self.name} that no run started; choose another name"
            )
        if not self._wait_until_released():
            raise UserError(
                f"{self._name_key}: a run of this name has the Serve application {self.name} up, and a live driver uses it; "
                "wait for that one to end, or choose another name"
            )
        if deployed_digest(self.name) == digest and application_statuses().get(self.name) == ApplicationStatus.RUNNING:
            return True
        self._delete()
        return False

    def _wait_until_released(self) -> bool:
        """Waits until no other driver has a lease on the application, and returns True; returns False if one still has
        after `release_s` seconds. The lease of a driver that was just killed exists for a while.
        """
        assert self._lease is not None
        deadline = time.monotonic() + self._release_s
        while self._lease.is_shared():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.2)
        return True

    def _delete(self) -> None:
        try:
            serve.delete(self.name, _blocking=True)
        except TimeoutError as error:
            raise RunFailed(f"the Serve application {self.name} is not gone yet: {error}") from None
        dismiss(self.name)

    def _wait_until_up(self, model: str, spec: DeploymentSpec, say: Callable[[str], None]) -> None:
        """Blocks until the application is running. While Ray has no place for a replica, `say` gets a line about it each
        minute.

        Errors: UserError if a replica raised one; RunFailed, with the reason, if a replica did not start for another
        reason, or the application is not running within `start_timeout_s` seconds.
        """
        began, says_at = time.monotonic(), -math.inf
        while (status := serve.status().applications[self.name]).status != ApplicationStatus.RUNNING:
            messages = [status.message, *(deployment.message for deployment in status.deployments.values())]
            if status.status == ApplicationStatus.DEPLOY_FAILED or any(FAILED_START in text for text in messages):
                raise _start_error(model, spec.replica_name, "\n".join(messages))
            now, said = time.monotonic(), " ".join(" ".join(messages).split())
            ends, waits = now > began + spec.start_timeout_s, UNPLACED in said
            if ends or (waits and now >= says_at):
                says_at = now + SAY_S
                why = said[-400:] if said and not waits else no_place(spec.actor_options, spec.bundles)
                if ends:
                    raise RunFailed(
                        f"models.{model}: not up within start_timeout_s ({spec.start_timeout_s:g} s): {why}"
                    )
                say(f"model {model}: not up after {now - began:.0f} s: {why}")
            time.sleep(0.2)


def application_name(run_id: str, model: str) -> str:
    """Returns the name of the application that a run deploys for a model of its config."""
    return f"{run_id}-{model}"


def start_serve() -> None:
    """Starts Serve without HTTP proxies, unless it is up already: episodes don't reach models by HTTP, so no port is
    taken. Serve's log shows only warnings and errors from now on. Errors: RunFailed if Serve does not come up.
    """
    try:
        start_or_join("Disabled")
    except (RayError, OSError, RuntimeError) as error:
        raise RunFailed(f"Serve did not start: {last_line(error)}") from None


def application_statuses() -> dict[str, ApplicationStatus]:
    """Returns the status of every application of Serve, by name."""
    return {name: application.status for name, application in serve.status().applications.items()}


def digest_options(options: BaseModel, *more: object) -> str:
    """Returns a digest (SHA-256 in hex) of a deployment's options, and of the values in `more`, on which the deployment
    depends too.
    """
    return hashlib.sha256(f"{options.model_dump_json()} {more!r}".encode()).hexdigest()


def _start_error(model: str, what: str, text: str) -> Exception:
    """Returns the error for a replica that did not start, with the replica's own reason taken out of Serve's text: a
    UserError if the replica raised one, else a RunFailed.
    """
    wrong = re.search(r"UserError: (.+)", text)
    if wrong:
        return UserError(f"models.{model}: {wrong.group(1)}")
    reasons = re.findall(r"^\S*(?:Error|Exception): .+$", text, re.MULTILINE)
    return RunFailed(f"models.{model}: {what} did not start: {reasons[-1] if reasons else text.strip()[-500:]}")
