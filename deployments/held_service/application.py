"""Builds the Serve application that runs `ray-gym serve`, from the `args` in a config file of Serve."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict
from ray import serve
from ray.serve import Application

from ray_gym.config.file import validate
from ray_gym.deployments.held_service.holder import STOP_S, Holder

START_RETRIES = 1_000
"""Number of failed starts after which Serve gives up. Starts fail while an earlier service is still stopping."""


class HeldService(BaseModel):
    """Holds the `args` of the Serve application that runs `ray-gym serve`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    config: str
    """Path of the service's config, on the node of the replica."""
    overrides: list[str] = []
    """Overrides of the config (KEY=VALUE), as `ray-gym serve` takes them."""


def build(args: dict[str, Any]) -> Application:
    """Returns the Serve application for the `args` of a config file (see `HeldService`). Errors: UserError for unknown
    or wrong arguments.

    The application has one replica and no routes: the service's gateway has the routes. It is running once the service
    is ready, and unhealthy once the service has ended.
    """
    held = validate(HeldService, args, "args")
    deployment = serve.deployment(
        Holder,
        name="service",
        num_replicas=1,
        max_constructor_retry_count=START_RETRIES,
        health_check_period_s=5,
        graceful_shutdown_timeout_s=STOP_S + 10,
        graceful_shutdown_wait_loop_s=0.5,
        ray_actor_options={"num_cpus": 1},
    )
    return deployment.bind(held.config, tuple(held.overrides))
