"""Reports a gateway's requests, and the service's counts, in Prometheus' text format. The label `gateway` distinguishes
the replicas.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ray_gym.deployments.gateway.guards.limits import Slots

CONTENT_TYPE = CONTENT_TYPE_LATEST
METHODS = frozenset({"GET", "POST", "DELETE", "HEAD", "PUT", "PATCH", "OPTIONS"})
"""Methods that are labels of their own; all others have the label `other`."""
NO_ROUTE = "none"
"""Label `route` of requests that fit no route. With their own paths as labels, clients could create any number of
series.
"""
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
"""Upper bounds of the histogram's buckets, in seconds."""
CUT = "cut"
"""Label `status` of requests that got no answer, since the client disconnected."""


class Metrics:
    """Holds the metrics of one gateway."""

    def __init__(self, gateway: str, requests: Slots, streams: Slots) -> None:
        self._registry = CollectorRegistry()
        self._gateway = gateway
        self._requests = Counter(
            "ray_gym_http_requests",
            "Requests that were answered.",
            ("gateway", "method", "route", "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "ray_gym_http_request_duration_seconds",
            "From a request's headers to the end of its answer.",
            ("gateway", "method", "route"),
            buckets=SECONDS,
            registry=self._registry,
        )
        self._add_gauge("ray_gym_http_requests_in_flight", "Requests that are being answered.", requests)
        self._add_gauge("ray_gym_http_streams_open", "Streams that are open.", streams)

    def count(self, method: str, route: str, status: str, seconds: float) -> None:
        """Counts a request that has ended. `route`: path of its route, or `NO_ROUTE`. `status`: HTTP status, or `CUT`.
        `seconds`: from its headers to the end of its answer.
        """
        known = method if method in METHODS else "other"
        self._requests.labels(self._gateway, known, route, status).inc()
        self._seconds.labels(self._gateway, known, route).observe(seconds)

    def _add_gauge(self, name: str, what: str, slots: Slots) -> None:
        gauge = Gauge(name, what, ("gateway",), registry=self._registry)
        gauge.labels(self._gateway).set_function(lambda: slots.taken)

    def text(self, counts: Mapping[str, float] | None) -> bytes:
        """Returns all metrics as text. `counts`: the service's counts, whose keys are KIND.STATE; None if it did not
        answer.
        """
        own: bytes = generate_latest(self._registry)
        return own + service_text(counts)


def service_text(counts: Mapping[str, float] | None) -> bytes:
    """Returns the service's counts as metrics in text. The keys of `counts` are KIND.STATE: the kind names the metric,
    the state is its label. None means that the service did not answer; then the metric `ray_gym_service_up` is 0.
    """
    registry = CollectorRegistry()
    up = Gauge("ray_gym_service_up", "Whether the service behind the gateway answers.", registry=registry)
    up.set(counts is not None)
    kinds: dict[str, Gauge] = {}
    for key, value in (counts or {}).items():
        kind, _, state = key.partition(".")
        if kind not in kinds:
            kinds[kind] = Gauge(f"ray_gym_{kind}", f"The service's {kind}, by state.", ("state",), registry=registry)
        kinds[kind].labels(state).set(value)
    text: bytes = generate_latest(registry)
    return text


class RequestCounter:
    """Counts HTTP requests and their durations in metrics. It is the outermost layer, so it also counts requests that
    other layers refuse.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), CUT

        async def note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, note)
        finally:
            route = str(getattr(scope.get("route"), "path", NO_ROUTE))
            self._metrics.count(scope["method"], route, status, time.perf_counter() - began)
