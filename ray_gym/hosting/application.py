"""Brings a model up as a Serve application of a run, finds it, attaches to it, and deletes it when its last
run ends.
"""

from __future__ import annotations

import difflib
import hashlib
import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import ray
from pydantic import BaseModel
from ray import serve
from ray.serve.schema import ApplicationStatus

from ray_gym.errors import RunFailed, UserError
from ray_gym.hosting import tls
from ray_gym.hosting.import_paths import as_variable
from ray_gym.hosting.lease import GRACE_S, Lease, digest_of, dismiss, find_janitor, start_janitor
from ray_gym.weights.holder import FirstWeights, is_changed, start_holder

RELEASE_S = 15.0
"""Longest time that the lease of a driver that was just killed may live on, in seconds."""
HEALTH_CHECK_S = 1.0
"""Serve replaces a replica that died at its next check, and one whose `check_health` fails at the third in a row."""
START_RETRIES = 1_000
"""Serve gives an application up for good when so many replicas (or three times their number) did not start. A controller that was
started again also counts those that were killed while they started, and has forgotten that there ever was one that did."""
MOST_QUESTIONS = 10_000
"""At a replica at once, where calls go past Serve: what else it is asked (`whereabouts`, `load`) never waits."""
FAILED_START = "A replica failed to start"
"""Beginning of Serve's message when a replica did not start and Serve is going to try again."""


@dataclass(frozen=True, slots=True)
class Replicas:
    """A deployment to make. `of` is the class of a replica, `arguments` are its constructor's."""

    of: type
    arguments: tuple[Any, ...]
    count: int
    max_ongoing_requests: int
    """Calls that one takes at a time."""
    actor_options: dict[str, Any]
    """Ray's options of a replica's actor: num_cpus, num_gpus, label_selector, runtime_env."""
    start_timeout_s: float
    what: str
    """Name of the replica in errors about its start."""
    loading: str
    """Name of the model, in the message to the user that it is being loaded."""
    digest: str
    """Digest of all options: an application that an earlier driver left is taken over only if it has the same."""
    autoscaling: dict[str, Any] | None = None
    """Serve's autoscaling_config, if replicas come and go with the calls; `count` are there from the start."""
    batched: bool = False
    """Calls come past Serve: `of` is a `BatchedReplica`, which counts its calls itself."""
    more: dict[str, Any] = field(default_factory=dict)
    """Further settings of the deployment."""
    weights: FirstWeights | None = None
    """For a model whose weights can be changed while it serves."""

    def bind(self) -> Any:
        deployment = serve.deployment(
            self.of,
            name="model",
            **({"autoscaling_config": self.autoscaling} if self.autoscaling else {"num_replicas": self.count}),
            max_ongoing_requests=MOST_QUESTIONS if self.batched else self.max_ongoing_requests,
            user_config={"slots": self.max_ongoing_requests} if self.batched else None,
            max_constructor_retry_count=START_RETRIES,
            graceful_shutdown_timeout_s=10,
            graceful_shutdown_wait_loop_s=0.5,
            health_check_period_s=HEALTH_CHECK_S,
            ray_actor_options=self._actor_options(),
            **self.more,
        )
        return deployment.bind(*self.arguments)

    def _actor_options(self) -> dict[str, Any]:
        """Adds this driver's import paths to `actor_options`: Serve may belong to a driver with other ones, which the
        replicas would get.
        """
        runtime_env = self.actor_options.get("runtime_env") or ray.get_runtime_context().runtime_env
        env_vars = {**as_variable(), **runtime_env.get("env_vars", {})}
        return {**self.actor_options, "runtime_env": {**runtime_env, "env_vars": env_vars}}


class Application:
    """A Serve application and a driver's lease on it. Workers get it without the lease."""

    def __init__(self, grace_s: float = GRACE_S, release_s: float = RELEASE_S, named_by: str = "run.name") -> None:
        """Creates it without deploying anything. `named_by` is the key of the config that its name comes from."""
        self.name = ""
        self._named_by = named_by
        self._grace_s = grace_s
        self._release_s = release_s
        self._lease: Lease | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lease": None}  # the lease is the driver's

    def start(self, run_id: str, model: str, replicas: Replicas, say: Callable[[str], None]) -> None:
        """Blocks until every replica is up. One that an earlier driver of the run left is taken over if it is the same.

        Under TLS it is deployed for calls by handles, which is said in one line.

        Errors: UserError (another run's application; what the replica found wrong), RunFailed.
        """
        if replicas.batched and tls.is_on():
            say(tls.handles_note(model))
            replicas = replace(replicas, batched=False)
        start_serve()
        if self.hold(name_of(run_id, model), run_id, replicas.digest):
            say(f"model {model}: found {self.name} up, left by an earlier driver of this run")
            return
        say(f"model {model}: loading {replicas.loading} as the Serve application {self.name}")
        if replicas.weights is not None:
            start_holder(self.name, replicas.weights)
        target = serve.RunTarget(target=replicas.bind(), name=self.name, route_prefix=None)
        serve.run_many([target], wait_for_applications_running=False)
        self._wait_until_up(model, replicas)

    def hold(self, name: str, run_id: str, digest: str) -> bool:
        """Takes a lease on the application, and returns True if it is up, or False if the caller is to deploy it. Any
        other application of that name is deleted.
        Errors: UserError (another run's application), RunFailed.
        """
        self.name = name
        self._lease = Lease(name, run_id)  # before the look, so that nobody takes it down in between
        if self._is_left(digest):
            return True
        start_janitor(name, digest, self._grace_s)
        return False

    def attach(self, app: str, run_id: str, model: str) -> dict[str, Any]:
        """Use an application that is up. Gives what its replica says of itself. Errors: UserError."""
        start_serve()
        self.name = app
        self._lease = Lease(app, run_id)  # before the look, so that its owner can't take it down in between
        running = applications()
        status = running.get(app)
        if status is None:
            close = difflib.get_close_matches(app, running, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            listing = ", ".join(sorted(running)) or "none"
            raise UserError(f"models.{model}.app: no Serve application {app!r} is up; {hint}up: {listing}")
        if status != ApplicationStatus.RUNNING:
            raise UserError(f"models.{model}.app: the application {app!r} is {status.value}, not RUNNING")
        if find_janitor(app) is not None and digest_of(app) is None:
            raise UserError(f"models.{model}.app: the application {app!r} is being taken down by its last run")
        description: dict[str, Any] = serve.get_app_handle(app).describe.remote().result(timeout_s=30)
        return description

    def stop(self) -> None:
        """Give the lease back; if it was the last one on an application that a run started, take it down and wait until it is gone.

        Errors: RunFailed if Serve does not take it down; its janitor will try on.
        """
        lease, self._lease = self._lease, None
        if lease is not None and lease.release():
            self._delete()

    def end_changed(self, run_id: str, model: str) -> None:
        """Take down what an earlier driver of the run left, if its weights were changed since: for who begins with those of the config.

        Nothing is done to one that a live driver uses. Errors: RunFailed.
        """
        self.name = name_of(run_id, model)
        if is_changed(self.name):
            self._lease = Lease(self.name, run_id)
            self._is_released()
            self.stop()

    def _is_left(self, digest: str) -> bool:
        """Says whether an earlier driver of the run left the very application that is wanted. Any other that it left is
        deleted.
        Errors: UserError if a live driver uses it, or no run started it.
        """
        there, janitor = self.name in applications(), find_janitor(self.name)
        if not there and janitor is None:
            return False
        if janitor is None:
            raise UserError(
                f"{self._named_by}: there is a Serve application {self.name} that no run started; choose another name"
            )
        if not self._is_released():
            raise UserError(
                f"{self._named_by}: a run of this name has the Serve application {self.name} up, and a live driver uses it; "
                "wait for that one to end, or choose another name"
            )
        if digest_of(self.name) == digest and applications().get(self.name) == ApplicationStatus.RUNNING:
            return True
        self._delete()
        return False

    def _is_released(self) -> bool:
        """Says whether no other driver uses the application. Waits for the lease of a driver that was just killed to
        go.
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

    def _wait_until_up(self, model: str, replicas: Replicas) -> None:
        """Waits until the application is running. Errors: UserError or RunFailed, with the replica's own reason."""
        deadline = time.monotonic() + replicas.start_timeout_s
        while (status := serve.status().applications[self.name]).status != ApplicationStatus.RUNNING:
            messages = [status.message, *(deployment.message for deployment in status.deployments.values())]
            if status.status == ApplicationStatus.DEPLOY_FAILED or any(FAILED_START in text for text in messages):
                raise _start_error(model, replicas.what, "\n".join(messages))
            if time.monotonic() > deadline:
                limit = f"start_timeout_s ({replicas.start_timeout_s:g} s)"
                raise RunFailed(f"models.{model}: not up within {limit}: {' '.join(' '.join(messages).split())[-400:]}")
            time.sleep(0.2)


def name_of(run_id: str, model: str) -> str:
    """Returns the name of the application that a run deploys for a model of its config."""
    return f"{run_id}-{model}"


def start_serve() -> None:
    """Serve without HTTP proxies (unless it is up with some): episodes reach models by handles, so no port is taken."""
    logging.getLogger("ray.serve").setLevel(logging.WARNING)
    serve.start(proxy_location="Disabled", logging_config={"log_level": "WARNING"})


def applications() -> dict[str, ApplicationStatus]:
    """Returns the status of every application of Serve, by name."""
    return {name: application.status for name, application in serve.status().applications.items()}


def digest_options(options: BaseModel, *more: object) -> str:
    """Equal for options (and whatever else makes a deployment) that are equal."""
    return hashlib.sha256(f"{options.model_dump_json()} {more!r}".encode()).hexdigest()


def _start_error(model: str, what: str, text: str) -> Exception:
    """The replica's own reason, out of what Serve makes of it."""
    wrong = re.search(r"UserError: (.+)", text)
    if wrong:
        return UserError(f"models.{model}: {wrong.group(1)}")
    reasons = re.findall(r"^\S*(?:Error|Exception): .+$", text, re.MULTILINE)
    return RunFailed(f"models.{model}: {what} did not start: {reasons[-1] if reasons else text.strip()[-500:]}")
