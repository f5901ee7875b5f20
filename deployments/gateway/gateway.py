"""Checks, deploys and deletes the gateway, for `ray-gym serve`."""

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
from ray_gym.deployments.gateway.ray_auth import auth_warning
from ray_gym.deployments.gateway.serve_http import HttpAddress, open_http, shut_down_if_idle
from ray_gym.errors import RunFailed, UserError
from ray_gym.hosting.application import Application
from ray_gym.hosting.serve_start import last_line
from ray_gym.models.base import Engine

GRACE_S = 5.0
"""Seconds that the gateway stays up after `ray-gym serve` was killed; meanwhile it answers 503."""
BESIDE = 64
"""Number of requests over `max_requests` that a replica takes, in order to refuse them with the gateway's own errors.
"""
WAITING = 1024
"""Number of requests, with their bodies, that may wait in Serve's proxy for a replica. The proxy itself refuses further
ones.
"""
FULL = BackpressureConfig(retry_after_s=1)
"""Serve's answer if the queue of its proxy is full."""
HEALTH_S = 1
"""Seconds between Serve's health checks of a replica: callers wait about that long until a dead one is replaced."""
DRAIN_S = 10
"""Seconds that requests in flight have to end when the gateway is deleted."""


class HttpGateway:
    """Offers a service over HTTP. The methods are called in the order check, open, start, stop, close."""

    environment = proxy.ENVIRONMENT
    """Environment variables that processes of the cluster need before Serve starts."""

    def __init__(self, section: ServiceSection, directory: Path, folder: Path) -> None:
        """Creates the gateway without deploying anything. `directory`: the service's directory. `folder`: folder of the
        config, in which a relative path of a token file is looked up.
        """
        self._section = section
        self._directory = directory
        self._folder = folder
        self._tokens: dict[str, str] = {}
        self._started_serve = False
        self._application = Application(GRACE_S, name_key="service.name")

    def check(self) -> ServiceSection:
        """Checks the config before anything starts: reads the callers' tokens, and returns the section with limits for
        their number. With a single caller, that one may use all of each limit.

        Errors: UserError if the tokens can't be read, or if there are none and other machines can reach the service's
        host.
        """
        section = self._section
        if section.tokens is not None:
            self._tokens = read_tokens(section.tokens, self._folder)
        elif not is_loopback(section.host):
            raise UserError(
                f"service.tokens: service.host is {section.host}, which others can reach: set service.tokens.file or "
                "service.tokens.env, or service.host=127.0.0.1"
            )
        self._section = section.share_for(max(1, len(self._tokens)))  # without tokens there is one caller
        return self._section

    def open(self, say: Callable[[str], None]) -> str:
        """Starts Serve with an HTTP proxy, and returns the proxy's URL. It has to be called before models start Serve
        without a proxy. `say`: prints a line for the user.

        Errors: UserError if the proxy can't listen at the config's address, or a Serve that is up already doesn't fit
        the config; RunFailed if Serve went down meanwhile.
        """
        section = self._section
        running, self._started_serve = open_http(section.host, section.port, bool(self._tokens), say)
        self._warn(running, say)
        return running.address

    def start(self, actor: str, namespace: str, engines: Mapping[str, Engine]) -> None:
        """Deploys the gateway, and blocks until it answers.

        `actor`, `namespace`: name and Ray namespace of the Service actor. `engines`: engines that have been started, by
        the name of the model. Errors: UserError if the service's secret can't be read or made, if another service has a
        gateway of this name, or if Serve refuses it; RunFailed if it does not start, an old one is not deleted, or
        another service is starting one of this name.
        """
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
            logging_config={"enable_access_log": False},  # metrics count requests; logs must not have clients' data
        )
        name = f"{section.name}-gateway"
        # A gateway that a killed service left has that service's models and callers, so it is never reused.
        self._application.hold(name, actor, digest=uuid.uuid4().hex)
        try:
            serve.run(deployment.bind(setup), name=name, route_prefix="/")
        except RayServeException as error:
            told = last_line(error).removeprefix("ray.serve.exceptions.RayServeException: ")
            raise UserError(f"service.name: Serve refuses the gateway: {told}") from None
        except RuntimeError as error:
            raise RunFailed(f"the gateway did not start: {error}") from None

    def stop(self) -> None:
        """Deletes the gateway, so that no requests come any more. Errors: RunFailed if Serve does not delete it."""
        self._application.stop()

    def close(self) -> None:
        """Shuts Serve down, if this process started it and no application is left. It has to be called after the models
        were stopped.
        """
        if self._started_serve:
            shut_down_if_idle()

    def _warn(self, running: HttpAddress, say: Callable[[str], None]) -> None:
        if not is_loopback(running.host or "") and (told := auth_warning(running.address)):
            say(told)
