"""Checks, opens, deploys and takes down the gateway for `ray-gym serve`."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

from ray import serve
from ray.serve.config import BackpressureConfig
from ray.serve.exceptions import RayServeException

from ray_gym.config.sections import ServiceSection
from ray_gym.deployments.gateway import proxy
from ray_gym.deployments.gateway.app import GatewayReplica, GatewaySetup
from ray_gym.deployments.gateway.guards.auth import is_loopback
from ray_gym.deployments.gateway.guards.tokens import digests, make_secret, read_tokens
from ray_gym.deployments.gateway.ray_auth import warning
from ray_gym.deployments.gateway.serve_http import Running, open_http, shut_down_if_idle
from ray_gym.errors import RunFailed, UserError
from ray_gym.hosting.application import Application
from ray_gym.models.base import Engine

GRACE_S = 5.0
"""Seconds that it stays up after `ray-gym serve` was killed. Without the service it only says that there is none."""
BESIDE = 64
"""Requests that a replica takes on top of `max_requests`, to refuse them itself, in the shape of all errors."""
WAITING = 1024
"""Requests, with their bodies, that wait in Serve's proxy for a replica: for moments, but all clients at once when it
is busy. Further ones are refused by the proxy itself.
"""
FULL = BackpressureConfig(retry_after_s=1)
HEALTH_S = 1
"""Seconds between Serve's looks whether a replica is alive: callers wait that long before one that has died is
replaced.
"""
DRAIN_S = 10
"""Seconds that requests in flight have to end when the gateway goes."""


class HttpGateway:
    environment = proxy.ENVIRONMENT

    def __init__(self, section: ServiceSection, directory: Path, folder: Path) -> None:
        """Creates it without deploying anything. `directory` is the service's, `folder` the config's."""
        self._section = section
        self._directory = directory
        self._folder = folder
        self._tokens: dict[str, str] = {}
        self._started_serve = False
        self._application = Application(GRACE_S, name_key="service.name")

    def check(self) -> ServiceSection:
        """Checks the config before anything starts, and returns the section for its callers: a single one may use all
        of each limit. Errors: UserError.
        """
        section = self._section
        if section.tokens is not None:
            self._tokens = read_tokens(section.tokens, self._folder)
        elif not is_loopback(section.host):
            raise UserError(
                f"service.tokens: service.host is {section.host}, which others can reach: set service.tokens.file or "
                "service.tokens.env, or service.host=127.0.0.1"
            )
        self._section = section.share_for(max(1, len(self._tokens)))  # without tokens all are one
        return self._section

    def open(self, say: Callable[[str], None]) -> str:
        """Starts Serve with its HTTP, before anything else starts it without. Returns the address. Errors: UserError,
        RunFailed.
        """
        section = self._section
        running, self._started_serve = open_http(section.host, section.port, bool(self._tokens), say)
        self._warn(running, say)
        return running.address

    def start(self, actor: str, namespace: str, engines: Mapping[str, Engine]) -> None:
        """Deploys the gateway, and blocks until it answers. Errors: UserError, RunFailed."""
        section = self._section
        known = digests(make_secret(self._directory), self._tokens)
        setup = GatewaySetup(section, self._directory, actor, namespace, engines, known)
        deployment = serve.deployment(
            GatewayReplica,
            name="gateway",
            num_replicas=section.gateways,
            max_ongoing_requests=section.max_requests + BESIDE,
            max_queued_requests=WAITING,
            backpressure_config=FULL,
            health_check_period_s=HEALTH_S,
            graceful_shutdown_timeout_s=DRAIN_S,
            graceful_shutdown_wait_loop_s=0.5,
            ray_actor_options={"num_cpus": 0},
            logging_config={"enable_access_log": False},  # the metrics count; no log has what clients send
        )
        name = f"{section.name}-gateway"
        # A gateway that a killed service left knows that service's models and callers: it is never the same.
        self._application.hold(name, actor, digest=uuid.uuid4().hex)
        try:
            serve.run(deployment.bind(setup), name=name, route_prefix="/")
        except RayServeException as error:
            raise UserError(f"service.name: Serve refuses the gateway: {error}") from None
        except RuntimeError as error:
            raise RunFailed(f"the gateway did not start: {error}") from None

    def stop(self) -> None:
        """Takes the gateway down, so that nothing comes in any more. Errors: RunFailed if Serve does not take
        it down.
        """
        self._application.stop()

    def close(self) -> None:
        """Shuts Serve down, if it was started here and no application is left. To be called once the models are gone,
        too.
        """
        if self._started_serve:
            shut_down_if_idle()

    def _warn(self, running: Running, say: Callable[[str], None]) -> None:
        if not is_loopback(running.host or "") and (told := warning(running.address)):
            say(told)
