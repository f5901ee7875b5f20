"""Checks which doors a token opens, and which a session's key."""

from __future__ import annotations

import pickle

import pytest
from gateway_app import SECRET, TOKENS, client, make, problem

from ray_gym.config.sections import ServiceSection
from ray_gym.deployments.gateway.app import GatewaySetup
from ray_gym.deployments.gateway.guards.auth import Doorkeeper, is_loopback
from ray_gym.deployments.gateway.guards.tokens import digests

KEEPER = Doorkeeper(SECRET, digests(SECRET, TOKENS))


async def test_a_token_is_its_caller() -> None:
    app = make()
    for name, token in TOKENS.items():
        async with client(app, token) as http:
            assert (await http.get("/v1/who")).json() == name


@pytest.mark.parametrize("path", ["/readyz", "/metrics", "/openapi.json", "/v1/who", "/v1/environments", "/not/there"])
async def test_every_path_but_one_needs_a_token(path: str) -> None:
    async with client(make(), None) as http:
        response = await http.get(path)
        assert problem(response, 401)["code"] == "no_token"
        assert response.headers["www-authenticate"] == "Bearer"
        response = await http.get(path, headers={"Authorization": "Bearer wrong-0123456789abcdef"})
        assert problem(response, 401)["code"] == "wrong_token" and response.headers["www-authenticate"] == "Bearer"
        assert (await http.get("/healthz")).json() == {"status": "ok"}


@pytest.mark.parametrize(
    "given",
    ["", "Bearer", "Bearer ", "Basic {}", "{}", "Bearer {}x", "Bearer .{}", "Bearer \u00e9\u00ff", "Bearer s.\u00e9"],
)
async def test_what_is_no_bearer_token_is_refused(given: str) -> None:
    async with client(make(), None) as http:
        header = given.format(TOKENS["alice"]).encode("latin-1")
        problem(await http.get("/v1/who", headers={"Authorization": header}), 401)


async def test_a_session_s_key_opens_its_session_only() -> None:
    key = KEEPER.session_key("alice", "s-1")
    async with client(make(), key) as http:
        assert (await http.get("/v1/sessions/s-1")).json() == "alice: s-1"
        assert (await http.post("/v1/sessions/s-1/score")).json() == "alice: s-1"
        for path in ("/v1/sessions/s-12", "/v1/sessions/s-2", "/v1/who", "/v1/sessions/", "/metrics"):
            assert problem(await http.get(path), 403)["code"] == "wrong_session"


async def test_a_session_s_key_can_t_be_made_up_or_carried_over() -> None:
    key = KEEPER.session_key("alice", "s-1")
    mac = key.rpartition(".")[2]
    for forged in (f"s-2.{mac}", f"s-1.{mac[:-1]}", f"s-1.{mac}0", "s-1.", f".{mac}", f"s-1.{mac.upper()}"):
        async with client(make(), forged) as http:
            problem(await http.get("/v1/sessions/s-1"), 401)
    changed = make(tokens={**TOKENS, "alice": "another-token-0123456789"})
    async with client(changed, key) as http:
        problem(await http.get("/v1/sessions/s-1"), 401)


async def test_without_tokens_the_caller_is_local_and_keys_still_fit_their_session() -> None:
    app = make(tokens={})
    async with client(app, None) as http:
        assert (await http.get("/v1/who")).json() == "local"
    async with client(app, "whatever-an-openai-client-sends") as http:
        assert (await http.get("/v1/who")).json() == "local"
    async with client(app, Doorkeeper(SECRET, {}).session_key("local", "s-1")) as http:
        assert (await http.get("/v1/sessions/s-1")).json() == "local: s-1"
        problem(await http.get("/v1/sessions/s-2"), 403)


async def test_without_tokens_a_foreign_name_for_this_machine_is_refused() -> None:
    async with client(make(tokens={}), None, host="evil.example") as http:
        assert problem(await http.get("/v1/who"), 403)["code"] == "wrong_host"
    async with client(make(tokens={}), None) as http:
        for host in ("", "[::1", "[x]", "localhost.evil.example", "evil.example:80"):
            assert problem(await http.get("/v1/who", headers={"Host": host}), 403)["code"] == "wrong_host"
    async with client(make(), host="gym.example") as http:
        assert (await http.get("/v1/who")).json() == "alice"


async def test_without_tokens_foreign_pages_are_refused() -> None:
    async with client(make(tokens={}), None) as http:
        for origin in ("https://evil.example", "null", "", "http://[", "http://localhost.evil.example"):
            assert problem(await http.get("/v1/who", headers={"Origin": origin}), 403)["code"] == "wrong_origin"
        for origin in ("http://localhost:3000", "http://127.0.0.1", "http://[::1]:8000"):
            answer = await http.get("/v1/who", headers={"Origin": origin})
            assert answer.json() == "local" and "access-control-allow-origin" not in answer.headers


def test_loopback_is_an_address_or_localhost() -> None:
    assert all(map(is_loopback, ["localhost", "127.0.0.1", "127.9.9.9", "::1"]))
    assert not any(map(is_loopback, ["0.0.0.0", "::", "10.0.0.1", "localhost.example", "", "127.0.0.1.example"]))


def test_what_goes_to_a_replica_has_no_token_and_shows_no_digest(tmp_path: object) -> None:
    known = digests(SECRET, TOKENS)
    setup = GatewaySetup(ServiceSection(), tmp_path, "actor", "namespace", {}, known)  # type: ignore[arg-type]
    pickled = pickle.dumps(setup)
    for name, token in TOKENS.items():
        assert token.encode() not in pickled and SECRET not in pickled
        assert repr(known[name]) not in repr(setup) and repr(known[name]) not in repr(KEEPER)
    assert repr(SECRET) not in repr(KEEPER)
