"""The vllm engine of a config: deploys a model as a Serve application, or attaches to one that is up.

An application belongs to the runs that use it. Each run holds a lease on it (an actor that dies with the run's driver); the last
run to go takes the application down, so a run can attach to another's model and outlive it.
"""

from __future__ import annotations

import difflib
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ray
from ray import serve
from ray.serve.config import RequestRouterConfig
from ray.serve.schema import ApplicationStatus

from deployments.vllm.checkpoint import resolve_model
from deployments.vllm.formats import check_formats
from deployments.vllm.options import ChatOptions, VllmOptions
from deployments.vllm.replica import VllmReplica
from ray_gym.errors import RunFailed, UserError
from ray_gym.models.base import EngineCheck
from ray_gym.transport import ServeModel, start_serve

LEASES = "ray_gym_app_leases"
"""The Ray namespace of the leases."""
ROUTER = "ray.serve.experimental.consistent_hash_router.ConsistentHashRouter"


class _Lease:
    """Marks that a run uses an application. Lives exactly as long as the run's driver."""

    def held(self) -> bool:
        return True


class VllmEngine:
    Options = VllmOptions
    gives_tokens = True
    reshapes = ""

    def __init__(self, options: VllmOptions) -> None:
        self.options = options
        self.app = options.app or ""
        self._uses_tools = False
        self._request: EngineCheck | None = None
        self._is_ours = False
        """Whether a run like this one started the application, so that the last run to go takes it down."""
        self._lease: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lease": None}  # the lease is the driver's

    def check(self, request: EngineCheck) -> None:
        where = f"models.{request.model}"
        self._uses_tools = request.uses_tools
        self._request = request
        if self.options.app is None and self.options.model is None:
            raise UserError(f"{where}: set model (what to load) or app (a Serve application to attach to)")
        if self.options.app is not None:
            self._check_attached(where)
        else:
            try:
                resolve_model(self.options.model or "")
            except UserError as error:
                raise UserError(f"{where}.model: {error}") from None
            check_formats(self.options, self.options.model or "", where, self._uses_tools)
            self._check_seeds(request, on_cpu=self.options.gpus == 0)

    def _check_attached(self, where: str) -> None:
        """How a model that is up writes and reads was settled when it came up."""
        for name in sorted(ChatOptions.model_fields.keys() & self.options.model_fields_set):
            raise UserError(f"{where}.{name}: {self.options.app!r} is attached to, and has its own; leave it out here")

    def _check_seeds(self, request: EngineCheck, on_cpu: bool) -> None:
        for participant, sampling in request.samplings.items():
            if on_cpu and sampling.seed is not None:
                raise UserError(
                    f"participants.{participant}.sampling.seed: vLLM on CPU can't take a seed a request (a seeded prompt that is "
                    "prefilled in chunks kills the engine: 'CPU Generator does not use offset'); leave it out"
                )

    def gpus(self) -> float:
        return self.options.gpus_per_replica * self.options.replicas if self.options.app is None else 0

    def start(self, run_id: str, name: str, say: Callable[[str], None]) -> None:
        """Blocks until every replica is up.

        Errors: UserError (a model that doesn't fit, an application that isn't there), RunFailed.
        """
        start_serve()
        if self.options.app is not None:
            self._take_lease(run_id)  # before the look, so that its owner can't take it down in between
            self._attach(name)
            say(f"model {name}: attached to the Serve application {self.app}")
        else:
            self.app = f"{run_id}-{name}"
            if self.app in _applications():
                raise UserError(
                    f"run.name: a run of this name has the Serve application {self.app} up; choose another name"
                )
            self._take_lease(run_id)
            say(f"model {name}: loading {self.options.model} (vLLM) as the Serve application {self.app}")
            self._deploy(name)

    def connect(self) -> ServeModel:
        return ServeModel(self.app, sticky=self.options.affinity == "session")

    def stop(self) -> None:
        """Give the lease back; if it was the last one, take the application down and wait until it is gone."""
        if self._lease is None:
            return
        ray.kill(self._lease)
        self._lease = None
        if not self._is_ours:
            return
        held = [
            actor["name"] for actor in ray.util.list_named_actors(all_namespaces=True) if actor["namespace"] == LEASES
        ]
        if not any(lease.partition("|")[0] == self.app for lease in held if lease != self._lease_name):
            serve.delete(self.app, _blocking=True)

    def _take_lease(self, run_id: str) -> None:
        self._lease_name = f"{self.app}|{run_id}"
        actor = ray.remote(num_cpus=0)(_Lease).options(name=self._lease_name, namespace=LEASES).remote()
        ray.get(actor.held.remote())
        self._lease = actor

    def _attach(self, name: str) -> None:
        applications = _applications()
        status = applications.get(self.app)
        if status is None:
            close = difflib.get_close_matches(self.app, applications, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            listing = ", ".join(sorted(applications)) or "none"
            raise UserError(f"models.{name}.app: no Serve application {self.app!r} is up; {hint}up: {listing}")
        if status != ApplicationStatus.RUNNING:
            raise UserError(f"models.{name}.app: the application {self.app!r} is {status.value}, not RUNNING")
        self._check_fits(name, serve.get_app_handle(self.app).describe.remote().result(timeout_s=30))
        self._is_ours = True

    def _check_fits(self, name: str, description: dict[str, Any]) -> None:
        """Whether the application serves what the config asks for."""
        served = description["model"]
        if self.options.model not in (None, served):
            raise UserError(
                f"models.{name}: model is {self.options.model!r}, but the application {self.app!r} serves {served!r}"
            )
        if self._uses_tools and not description["reads_tool_calls"]:
            raise UserError(f"models.{name}.app: {self.app!r} was started without tool calls (tool_parser)")
        if self._request is not None:
            self._check_seeds(self._request, on_cpu=description["gpus"] == 0)

    def _deploy(self, name: str) -> None:
        options = self.options
        deployment = serve.deployment(
            VllmReplica,
            name="model",
            num_replicas=options.replicas,
            max_ongoing_requests=options.max_ongoing_requests or 2 * int(options.engine_args.get("max_num_seqs", 256)),
            max_constructor_retry_count=1,
            graceful_shutdown_timeout_s=10,
            graceful_shutdown_wait_loop_s=0.5,
            ray_actor_options={
                "num_cpus": options.cpus,
                "num_gpus": options.gpus_per_replica,
                "runtime_env": {"env_vars": {**_quiet(options), **options.env_vars}},
            },
            request_router_config=RequestRouterConfig(request_router_class=ROUTER),
        )
        self._is_ours = True
        target = serve.RunTarget(target=deployment.bind(options, self._uses_tools), name=self.app, route_prefix=None)
        serve.run_many([target], wait_for_applications_running=False)
        self._wait_until_up(name)

    def _wait_until_up(self, name: str) -> None:
        """Errors: UserError or RunFailed, with the replica's own reason."""
        deadline = time.monotonic() + self.options.start_timeout_s
        while (status := serve.status().applications[self.app]).status != ApplicationStatus.RUNNING:
            messages = [status.message, *(deployment.message for deployment in status.deployments.values())]
            if status.status == ApplicationStatus.DEPLOY_FAILED:
                raise _start_error(name, "\n".join(messages))
            if time.monotonic() > deadline:
                limit = f"start_timeout_s ({self.options.start_timeout_s:g} s)"
                raise RunFailed(f"models.{name}: not up within {limit}: {' '.join(' '.join(messages).split())[-400:]}")
            time.sleep(0.2)


def _quiet(options: VllmOptions) -> dict[str, str]:
    quiet = {"VLLM_NO_USAGE_STATS": "1", "VLLM_LOGGING_LEVEL": "WARNING", "TOKENIZERS_PARALLELISM": "false"}
    if options.model and Path(resolve_model(options.model)).exists():
        quiet["HF_HUB_OFFLINE"] = "1"
    return quiet


def _applications() -> dict[str, ApplicationStatus]:
    return {name: application.status for name, application in serve.status().applications.items()}


def _start_error(name: str, text: str) -> Exception:
    """The replica's own reason, out of what Serve makes of it."""
    wrong = re.search(r"UserError: (.+)", text)
    if wrong:
        return UserError(f"models.{name}: {wrong.group(1)}")
    reasons = re.findall(r"^\S*(?:Error|Exception): .+$", text, re.MULTILINE)
    return RunFailed(f"models.{name}: vLLM did not start: {reasons[-1] if reasons else text.strip()[-500:]}")
