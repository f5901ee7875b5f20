"""Checks how many requests are served at once, what headers may hold, and what every answer has."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from gateway_app import TOKENS, Waiting, client, make, problem

from ray_gym.config.sections import ServiceSection, TokensSection
from ray_gym.deployments.gateway.gateway import HttpGateway


async def test_requests_on_top_are_told_to_come_back_and_places_are_given_back() -> None:
    waiting = Waiting()
    app = make(waiting, max_requests=2)
    async with client(app) as http, asyncio.TaskGroup() as group:
        first = [group.create_task(http.get("/v1/wait")) for _ in range(2)]
        await waiting.until(2)
        refused = await http.get("/v1/who")
        assert problem(refused, 503)["code"] == "unavailable" and int(refused.headers["retry-after"]) >= 1
        for path in ("/healthz", "/readyz", "/metrics"):
            assert (await http.get(path)).status_code == 200
        waiting.go.set()
    assert [task.result().json() for task in first] == ["went", "went"]
    async with client(app) as http:
        assert (await http.get("/v1/who")).status_code == 200


async def test_a_request_without_a_token_takes_no_place() -> None:
    waiting = Waiting()
    async with client(make(waiting, max_requests=1)) as http, asyncio.TaskGroup() as group:
        group.create_task(http.get("/v1/wait"))
        await waiting.until(1)
        problem(await http.get("/v1/who", headers={"Authorization": ""}), 401)
        waiting.go.set()


async def test_a_place_is_given_back_when_the_client_goes() -> None:
    waiting = Waiting()
    app = make(waiting, max_requests=1)
    async with client(app) as http:
        gone = asyncio.create_task(http.get("/v1/wait"))
        await waiting.until(1)
        gone.cancel()
        await asyncio.wait({gone})
        assert (await http.get("/v1/who")).status_code == 200


async def test_one_caller_leaves_places_for_others() -> None:
    waiting = Waiting()
    app = make(waiting, max_requests=8, max_streams=2, caller_share=0.5)
    async with client(app) as alice, client(app, TOKENS["bob"]) as bob, asyncio.TaskGroup() as group:
        group.create_task(alice.get("/v1/rollouts/x/stream"))
        await waiting.until(1)
        assert "1 streams of yours" in problem(await alice.get("/v1/rollouts/y/stream"), 429)["message"]
        for _ in range(3):
            group.create_task(alice.get("/v1/wait"))
        await waiting.until(3)
        refused = await alice.get("/v1/who")
        assert "4 requests of yours" in problem(refused, 429)["message"] and refused.headers["retry-after"] == "1"
        group.create_task(bob.get("/v1/rollouts/x/stream"))
        await waiting.until(1)
        assert (await bob.get("/v1/who")).status_code == 200
        waiting.go.set()


@pytest.mark.parametrize(("callers", "most"), [([], 8), (["alice"], 8), (["alice", "bob"], 6)])
def test_a_caller_alone_has_all_that_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, callers: list[str], most: int
) -> None:
    monkeypatch.setenv("GIVEN", " ".join(f"{caller}={TOKENS[caller]}" for caller in callers))
    section = ServiceSection(tokens=TokensSection(env="GIVEN") if callers else None)
    assert HttpGateway(section, tmp_path, tmp_path).check().most_of_one(8) == most


@pytest.mark.parametrize("by_body", [False, True])
async def test_streams_have_places_of_their_own(by_body: bool) -> None:
    waiting = Waiting()
    app = make(waiting, max_streams=1)
    async with client(app) as http, asyncio.TaskGroup() as group:
        group.create_task(http.get("/v1/rollouts/x/stream"))
        await waiting.until(1)
        if by_body:
            refused = await http.post("/v1/items", json={"name": "x", "stream": True})
            assert (await http.post("/v1/items", json={"name": "x", "stream": False})).status_code == 200
        else:
            refused = await http.get("/v1/rollouts/y/stream")
        assert "streams are open" in problem(refused, 503)["message"]
        assert (await http.get("/v1/who")).status_code == 200
        waiting.go.set()
    async with client(app) as http:
        assert (await http.get("/v1/rollouts/y/stream")).status_code == 200


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Idempotency-Key", ""),
        ("Idempotency-Key", "x" * 201),
        ("Idempotency-Key", "k\u00e9y"),
        ("X-Session-ID", "x" * 201),
        ("X-Session-ID", "a\tb"),
        ("Accept", "a\x01b"),
        ("X-Any", "a\r\nSet-Cookie: b"),
        ("X-Any", "\x7f"),
    ],
)
async def test_headers_that_no_honest_client_sends_are_refused(name: str, value: str) -> None:
    async with client(make()) as http:
        response = await http.get("/v1/who", headers={name: value.encode("latin-1")})
        assert problem(response, 400)["param"].lower() == name.lower()
        assert "set-cookie" not in response.headers


async def test_headers_that_are_fine_get_through_and_none_twice() -> None:
    async with client(make()) as http:
        for value in ("a", "x" * 200, "a b/c~!"):
            assert (await http.get("/v1/who", headers={"Idempotency-Key": value})).status_code == 200
        twice = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
        problem(await http.get("/v1/who", headers=twice), 400)


@pytest.mark.parametrize("path", ["/healthz", "/nope", "/v1/fail/badly", "/v1/who"])
async def test_every_answer_has_an_id_and_keeps_browsers_from_guessing(path: str) -> None:
    async with client(make()) as http:
        response = await http.get(path)
        assert len(response.headers["x-request-id"]) == 32
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["cache-control"] == "no-store" and "content-security-policy" in response.headers
        again = await http.get(path, headers={"X-Request-ID": "given"})
        assert "x-request-id" not in again.headers  # whoever gave it puts it on the answer
