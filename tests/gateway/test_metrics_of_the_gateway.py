"""Checks what Prometheus reads."""

from __future__ import annotations

import asyncio

import httpx
from gateway_app import StillService, Waiting, client, make, problem
from prometheus_client.parser import text_string_to_metric_families
from ray.exceptions import ActorDiedError

from ray_gym.service.api import Readiness


async def read(http: httpx.AsyncClient) -> dict[tuple[str, ...], float]:
    """Returns the values by name and the values of labels."""
    response = await http.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=")
    return {
        (sample.name, *(value for key, value in sorted(sample.labels.items()) if key != "le")): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
        if not sample.name.endswith("_bucket")
    }


async def test_requests_are_counted_by_their_route_and_never_by_their_path() -> None:
    async with client(make()) as http:
        for session in ("a", "b"):
            await http.get(f"/v1/sessions/{session}")
            await http.get(f"/v1/none/{session}")
        await http.get("/v1/who", headers={"Authorization": ""})
        await http.request("BREW", "/v1/who")
        found = await read(http)
    name = "ray_gym_http_requests_total"
    assert found[name, "g1", "GET", "/v1/sessions/{session_id}", "200"] == 2
    assert found[name, "g1", "GET", "none", "404"] == 2
    assert found[name, "g1", "GET", "none", "401"] == 1
    assert any(key[0] == name and key[2] == "other" for key in found)
    assert found["ray_gym_http_request_duration_seconds_count", "g1", "GET", "/v1/sessions/{session_id}"] == 2


async def test_what_is_open_now() -> None:
    waiting = Waiting()
    async with client(make(waiting)) as http, asyncio.TaskGroup() as group:
        group.create_task(http.get("/v1/wait"))
        group.create_task(http.get("/v1/rollouts/x/stream"))
        await waiting.until(2)
        found = await read(http)
        assert found["ray_gym_http_requests_in_flight", "g1"] == 2 and found["ray_gym_http_streams_open", "g1"] == 1
        waiting.go.set()


async def test_what_the_service_has_and_that_it_is_gone() -> None:
    service = StillService()
    service.numbers = {"rollouts.running": 2, "rollouts.done": 5, "sessions.open": 7}
    async with client(make(service=service)) as http:
        found = await read(http)
        assert found["ray_gym_rollouts", "running"] == 2 and found["ray_gym_rollouts", "done"] == 5
        assert found["ray_gym_sessions", "open"] == 7 and found["ray_gym_service_up",] == 1
        service.numbers = ActorDiedError()
        found = await read(http)
        assert found["ray_gym_service_up",] == 0 and ("ray_gym_sessions", "open") not in found
        assert found["ray_gym_http_requests_total", "g1", "GET", "/metrics", "200"] == 1


async def test_readiness_is_an_answer_or_an_error() -> None:
    service = StillService()
    async with client(make(service=service)) as http:
        assert (await http.get("/readyz")).json() == {"status": "ready", "models": ["small"]}
        service.readiness = Readiness(status="starting", models=[])
        assert problem(await http.get("/readyz"), 503)["code"] == "starting"


async def test_the_interface_is_described_with_its_errors_and_its_tokens() -> None:
    async with client(make()) as http:
        described = (await http.get("/openapi.json")).json()
    assert described["info"]["title"] == "ray_gym" and described["info"]["version"]
    assert described["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
    for path in ("/readyz", "/metrics", "/v1/environments", "/v1/who"):
        operation = described["paths"][path]["get"]
        assert operation["security"] == [{"HTTPBearer": []}]
        for status in ("401", "422", "503"):
            schema = operation["responses"][status]["content"]["application/json"]["schema"]
            assert schema == {"$ref": "#/components/schemas/ErrorAnswer"}
    assert "security" not in described["paths"]["/healthz"]["get"]
