"""Builds the gateway's FastAPI application, and the Serve replica that it runs in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from fastapi import APIRouter, FastAPI
from ray import serve
from ray.exceptions import RayError

from ray_gym.config.sections import ServiceSection
from ray_gym.deployments.gateway.doors.door_targets import DoorTarget, EndpointTarget, ModelTarget, Note, Target
from ray_gym.deployments.gateway.doors.general import general_routes
from ray_gym.deployments.gateway.doors.messages_door import messages_router
from ray_gym.deployments.gateway.doors.openai_door import openai_router
from ray_gym.deployments.gateway.doors.rollouts import rollout_routes
from ray_gym.deployments.gateway.doors.session_router import SessionRouter
from ray_gym.deployments.gateway.doors.sessions import session_routes
from ray_gym.deployments.gateway.guards import errors
from ray_gym.deployments.gateway.guards.auth import Authentication, Doorkeeper, caller_of
from ray_gym.deployments.gateway.guards.body import BodyLimits
from ray_gym.deployments.gateway.guards.headers import HeaderCheck
from ray_gym.deployments.gateway.guards.limits import RequestLimit, Slots, StreamLimit
from ray_gym.deployments.gateway.guards.pace import PacedAnswers
from ray_gym.deployments.gateway.guards.surface import Surface
from ray_gym.deployments.gateway.guards.tokens import read_secret
from ray_gym.deployments.gateway.metrics import Metrics, RequestCounter
from ray_gym.deployments.gateway.remote_service import PROBE_S, RemoteService
from ray_gym.engines.endpoint import EndpointOptions
from ray_gym.hosting.door import ServeDoor
from ray_gym.installed.version import version
from ray_gym.models.base import Model
from ray_gym.models.door import PATHS
from ray_gym.models.engine import Engine, HasDoor, OpensDoor, Tokenizing
from ray_gym.openai_api.refused import Refused
from ray_gym.service.service import Service

DESCRIPTION = """Rollouts for multi-turn reinforcement learning: submit them, read their episodes as they end, or drive a session yourself.

Every error has the same body, in the shape of OpenAI's API (of Anthropic's at its Messages API, with 529 for 503). `429` and `503`
say in `Retry-After` when to come back. A `POST` with an `Idempotency-Key` can be sent again: it is done once."""

SILENCE_S = 600
"""Seconds that a model may take for an answer, or for the next piece of a streamed one."""
EVERYWHERE = (400, 401, 403, 404, 405, 408, 413, 414, 415, 422, 429, 431, 500, 503, 504)
"""HTTP statuses that any route, or a layer before the routes, may answer with."""


@dataclass(frozen=True)
class GatewaySetup:
    """Holds all that a gateway's replica needs. There are no secrets in it: `digests` are useless without the service's
    secret, which the replica reads from the service's directory.
    """

    section: ServiceSection
    directory: Path
    """The service's directory."""
    actor: str
    """Name of the Service actor."""
    namespace: str
    """Ray namespace of the Service actor."""
    engines: Mapping[str, Engine]
    """Engines that have been started, by the name of the model."""
    digests: Mapping[str, bytes] = field(repr=False)
    """Keyed digests of the callers' tokens, by the caller's name."""


def make_app(
    section: ServiceSection, doorkeeper: Doorkeeper, metrics: Metrics, slots: AppSlots, routers: Sequence[APIRouter]
) -> FastAPI:
    """Returns the application, with all limits and checks in front of the routers."""
    app = FastAPI(
        title="ray_gym",
        version=version(),
        description=DESCRIPTION,
        docs_url=None,  # the page would load scripts from elsewhere
        redoc_url=None,
        responses=errors.describe_statuses(*EVERYWHERE),
        redirect_slashes=False,
    )
    errors.register(app)
    for router in routers:
        app.include_router(router)
    # A request passes the layers from the last one that is added to the first.
    app.add_middleware(StreamLimit, slots=slots.streams)
    app.add_middleware(BodyLimits, most_bytes=int(section.max_body_mb * 2**20), deadline_s=section.body_deadline_s)
    app.add_middleware(RequestLimit, slots=slots.requests)
    app.add_middleware(Authentication, doorkeeper=doorkeeper)
    app.add_middleware(HeaderCheck)
    app.add_middleware(Surface)
    app.add_middleware(PacedAnswers)
    app.add_middleware(RequestCounter, metrics=metrics)
    return app


@dataclass(frozen=True)
class AppSlots:
    """Holds the slots of one gateway for requests and for streams."""

    requests: Slots
    streams: Slots

    @classmethod
    def of(cls, section: ServiceSection) -> AppSlots:
        """Returns free slots, as many in all and for each caller as the config allows."""

        def slots(most: int, what: str) -> Slots:
            return Slots(most, section.most_of_one(most), what)

        return cls(slots(section.max_requests, "requests"), slots(section.max_streams, "streams"))


def build_app(setup: GatewaySetup, gateway: str) -> FastAPI:
    """Returns the application of one replica. `gateway`: name of the replica, a label of its metrics. Errors: UserError
    if the service's secret can't be read.
    """
    slots = AppSlots.of(setup.section)
    metrics = Metrics(gateway, slots.requests, slots.streams)
    doorkeeper = Doorkeeper(read_secret(setup.directory), setup.digests)
    service = RemoteService(setup.actor, setup.namespace)
    tokenizers = {name: engine for name, engine in setup.engines.items() if isinstance(engine, Tokenizing)}
    targets = targets_of(setup.engines, partial(note_failure, service))
    routers = [
        general_routes(service, metrics),
        rollout_routes(service, caller_of),
        session_routes(SessionRouter(service), caller_of, doorkeeper.session_key),
        openai_router(targets, tokenizers, lambda request: str(request.state.caller)),
        messages_router(targets, lambda request: str(request.state.caller)),
    ]
    return make_app(setup.section, doorkeeper, metrics, slots, routers)


async def note_failure(service: RemoteService, told: str) -> None:
    """Tells the service of a model's failure, if it can be reached: it is said on the terminal."""
    with suppress(Refused, RayError, TimeoutError):
        await service.ask_within(PROBE_S, Service.note_failure, told)


def targets_of(engines: Mapping[str, Engine], note: Note | None = None) -> dict[str, Target]:
    """Returns the targets to which requests for models outside of sessions go, by the name of the model. `engines`:
    engines that have been started. `note`: notes failures whose words the callers are not told.
    """
    return {name: _make_target(engine, note) for name, engine in engines.items()}


def _make_target(engine: Engine, note: Note | None) -> Target:
    asked = ModelTarget(_connect_once(engine), SILENCE_S, note)
    if isinstance(engine, HasDoor):
        return EndpointTarget(PATHS, DoorTarget(ServeDoor(engine.door, SILENCE_S)), asked)
    if isinstance(engine, OpensDoor):
        return EndpointTarget(engine.passes, DoorTarget(engine.open_door(), note), asked)
    return asked


def _connect_once(engine: Engine) -> Model:
    """Connects to a model. A call that an endpoint refuses or loses is not tried again: its caller is told, and may."""
    if not isinstance(engine.options, EndpointOptions):
        return engine.connect()
    once = copy(engine)
    once.options = engine.options.model_copy(update={"retries": 0})
    return once.connect()


@serve.ingress()
class GatewayReplica:
    """Runs the gateway's application in a Serve replica."""

    def __init__(self, setup: GatewaySetup) -> None:
        self._setup = setup

    def __serve_build_asgi_app__(self) -> FastAPI:
        return build_app(self._setup, serve.get_replica_context().replica_id.unique_id)
