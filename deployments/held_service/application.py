"""Builds the application that `import_path` names in a config file of Serve, from the `args` in that file."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict
from ray import serve
from ray.serve import Application

from ray_gym.config.file import validate
from ray_gym.deployments.held_service.holder import STOP_S, Holder

START_RETRIES = 1_000
"""Number of failed starts after which Serve gives up. A later start may succeed: the service before it may still be
going down.
"""


class HeldService(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    config: str
    """Path of a service's config, on the node of the holder."""
    overrides: list[str] = []
    """Overrides of the config, KEY=VALUE, as `ray-gym serve` takes them."""


def build(args: dict[str, Any]) -> Application:
    """Builds the application from its `args`. Errors: UserError for those that a service doesn't take.

    It has one replica, and no route: the gateway has the routes. It is up once the service is, and unhealthy once that
    has ended.
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
