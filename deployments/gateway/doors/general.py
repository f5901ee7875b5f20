"""Defines the routes about the service itself."""

from __future__ import annotations

from fastapi import APIRouter, Depends
from ray.exceptions import RayError
from starlette.responses import Response

from ray_gym.deployments.gateway.guards.auth import bearer
from ray_gym.deployments.gateway.metrics import CONTENT_TYPE, Metrics
from ray_gym.deployments.gateway.remote_service import PROBE_S, RemoteService
from ray_gym.openai_api.refused import Refused
from ray_gym.service.api import EnvironmentList, Health, Readiness
from ray_gym.service.service import Service


def general_routes(service: RemoteService, metrics: Metrics) -> APIRouter:
    """Returns the routes for health, readiness, metrics and environments."""
    router = APIRouter()
    guarded = [Depends(bearer)]

    @router.get("/healthz", tags=["service"])
    async def health() -> Health:
        """Says whether this gateway runs. Open to everybody."""
        return Health(status="ok")

    @router.get("/readyz", tags=["service"], dependencies=guarded)
    async def ready() -> Readiness:
        """Says whether the models and the service are up; 503 until they are."""
        readiness = await service.ask_within(PROBE_S, Service.ready)
        if readiness.status != "ready":
            raise Refused(503, readiness.status, f"the service is {readiness.status}", retry_after_s=2)
        return readiness

    @router.get(
        "/metrics",
        tags=["service"],
        dependencies=guarded,
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Metrics"}},
    )
    async def text() -> Response:
        """Returns the metrics in Prometheus' text format. The service's counts are left out if it does not answer."""
        try:
            counts = await service.ask_within(PROBE_S, Service.counts)
        except (RayError, Refused, TimeoutError):  # the gateway's own metrics are useful also then
            counts = None
        return Response(metrics.text(counts), headers={"Content-Type": CONTENT_TYPE})

    @router.get("/v1/environments", tags=["service"], dependencies=guarded)
    async def environments() -> EnvironmentList:
        """Lists the environments that can be played, each with its description and the JSON schema of its tasks."""
        return await service.ask(Service.environments)

    return router
