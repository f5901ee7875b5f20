"""Checks that each attack on the running service is answered 4xx, and leaves no trace in files, logs or counts."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from attacks import ALICE, BOB, BODIES, CLOSED, GIVEN, MARK, OF_ALICE, OTHER, PATHS, REPEATED, ROLLOUT, SESSION
from conftest import eventually
from guarded_service import TOKENS, GuardedService
from raw_http import head, send

pytestmark = [pytest.mark.ray, pytest.mark.services]

JSON = "Content-Type: application/json"
LENGTH = "Content-Length: "


@dataclass(frozen=True)
class Attacked:
    """Alice has all that the service holds before the attacks, and Bob has nothing."""

    service: GuardedService
    ids: dict[str, str]
    key: str
    """Key of Alice's session."""

    def path(self, template: str) -> str:
        return re.sub("|".join(self.ids), lambda found: self.ids[found[0]], template)

    def ask(self, method: str, path: str, token: str | None = BOB, **more: Any) -> httpx.Response:
        headers = {**({"Authorization": f"Bearer {token}"} if token else {}), **more.pop("headers", {})}
        with httpx.Client(base_url=self.service.address, timeout=60) as http:
            return http.request(method, self.path(path), headers=headers, **more)

    def footprint(self) -> tuple[dict[str, int], dict[str, float]]:
        """Returns the sizes of the service's files, and what it counts, without the request that asks for it."""
        files = {str(path): path.stat().st_size for path in sorted(self.service.directory.rglob("*")) if path.is_file()}
        text = self.ask("GET", "/metrics", ALICE).text
        names = ("ray_gym_sessions", "ray_gym_rollouts", "ray_gym_http_requests_in_flight", "ray_gym_http_streams")
        lines = [line.rsplit(" ", 1) for line in text.splitlines() if line.startswith(names)]
        return files, {name: float(value) for name, value in lines}


@pytest.fixture(scope="module")
def attacked(guarded_service: GuardedService) -> Iterator[Attacked]:
    with guarded_service.client() as http:
        rollout = submitted_at_once(http, 4)
        sessions = [http.post("/v1/sessions", json={"environment": "words"}).json() for _ in range(2)]
        ids = {ROLLOUT: rollout, SESSION: sessions[0]["id"], OTHER: sessions[1]["id"]}
        eventually(lambda: http.get(f"/v1/rollouts/{rollout}").json()["ended_at"], 60)
        yield Attacked(guarded_service, ids, sessions[0]["api_key"])


def submitted_at_once(http: httpx.Client, times: int) -> str:
    """The same request under the same key is one rollout, also if all of them come before there is one."""
    with ThreadPoolExecutor(times) as threads:
        keyed = {"json": {}, "headers": {"Idempotency-Key": "the-first"}}
        answers = list(threads.map(lambda _: http.post("/v1/rollouts", **keyed), range(times)))  # type: ignore[arg-type]
    assert sorted(answer.status_code for answer in answers) == [200] * (times - 1) + [201]
    [rollout] = {str(answer.json()["id"]) for answer in answers}
    assert [one["id"] for one in http.get("/v1/rollouts").json()["rollouts"]] == [rollout]
    return rollout


@pytest.fixture(autouse=True)
def no_trace(attacked: Attacked) -> Iterator[None]:
    before = attacked.footprint()
    yield
    eventually(lambda: attacked.footprint() == before, 20)


def refused(answer: httpx.Response, *statuses: int) -> dict[str, Any]:
    """Returns the error, which has the one shape, without anything of the attack or of a token in it."""
    assert answer.status_code in (statuses or range(400, 500)), (answer.status_code, answer.text[:500])
    told: dict[str, Any] = answer.json()["error"]
    assert set(told) == {"message", "type", "code", "param"}
    assert not any(token in answer.text for token in TOKENS.values())
    assert not any(name.lower().startswith("access-control") for name in answer.headers)
    return told


# ---- paths and methods ----


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path[:40])
def test_no_path_leads_anywhere_else(attacked: Attacked, path: str) -> None:
    answer = send(attacked.service.address, [head("GET", path, token=BOB)])
    assert answer.status in (400, 404, 405, 414), answer
    assert set(answer.json()) == {"error"} and b"root:" not in answer.body
    assert "X-Injected: 1" not in answer.head


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "TRACE", "PUT", "PATCH", "CONNECT", "DELETE", MARK.upper()])
def test_other_methods_do_nothing(attacked: Attacked, method: str) -> None:
    for path in ("/v1/rollouts", "/v1/sessions", "/v1/chat/completions"):
        answer = send(attacked.service.address, [head(method, path, "Connection: close", token=ALICE)])
        assert 400 <= answer.status < 500, (path, answer)
        assert "access-control" not in answer.head.lower()


# ---- who calls ----


@pytest.mark.parametrize("given", GIVEN, ids=range(len(GIVEN)))
def test_without_a_token_nothing_is_told(attacked: Attacked, given: str | None) -> None:
    headers = {} if given is None else {"Authorization": attacked.path(given)}
    for method, path in [("GET", "/v1/rollouts"), ("GET", f"/v1/sessions/{SESSION}"), ("GET", "/openapi.json")]:
        refused(attacked.ask(method, path, None, headers=headers), 401)
    refused(attacked.ask("POST", f"/v1/sessions/{SESSION}/score", None, headers=headers), 401)


@pytest.mark.parametrize(("method", "path", "body"), OF_ALICE)
def test_what_is_another_caller_s_is_not_there(attacked: Attacked, method: str, path: str, body: Any) -> None:
    foreign = refused(attacked.ask(method, path, BOB, json=body), 404)
    unknown = refused(attacked.ask(method, re.sub("[A-Z]{7}", "0" * 32, path), BOB, json=body), 404)
    told = [json.dumps(one).replace(attacked.path(f"{ROLLOUT}"), "0" * 32) for one in (foreign, unknown)]
    assert told[0].replace(attacked.path(SESSION), "0" * 32) == told[1]


@pytest.mark.parametrize(("method", "path"), CLOSED)
def test_a_session_s_key_opens_nothing_but_its_session(attacked: Attacked, method: str, path: str) -> None:
    refused(attacked.ask(method, path, attacked.key, **({"json": {}} if method == "POST" else {})), 403)


def test_a_session_s_key_can_t_be_changed_into_another_s(attacked: Attacked) -> None:
    forged = attacked.key.replace(attacked.ids[SESSION], attacked.ids[OTHER])
    refused(attacked.ask("GET", f"/v1/sessions/{OTHER}", forged), 401)
    refused(attacked.ask("GET", f"/v1/sessions/{SESSION}", attacked.key[:-1]), 401)


def test_no_page_of_the_web_may_read(attacked: Attacked) -> None:
    asking = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    refused(attacked.ask("OPTIONS", "/v1/rollouts", None, headers=asking), 401)
    refused(attacked.ask("OPTIONS", "/v1/rollouts", ALICE, headers=asking), 405)
    answer = attacked.ask("GET", "/healthz", None, headers=asking)
    assert not any(name.startswith("access-control") for name in answer.headers)


# ---- bodies ----


@pytest.mark.parametrize("kind", BODIES)
def test_bodies_that_are_meant_to_hurt(attacked: Attacked, kind: str) -> None:
    body, status = BODIES[kind]
    answer = attacked.ask("POST", "/v1/rollouts", content=body, headers={"Content-Type": "application/json"})
    refused(answer, status)
    if status in (400, 413):  # not JSON that can be taken, wherever it is sent
        of_models = () if kind == REPEATED else (f"/v1/sessions/{SESSION}/tools", "/v1/chat/completions")
        for path in ("/v1/sessions", *of_models):
            refused(attacked.ask("POST", path, content=body, headers={"Content-Type": "application/json"}), status)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_forms_are_not_taken(attacked: Attacked, kind: str) -> None:
    refused(attacked.ask("POST", "/v1/rollouts", ALICE, content=b"{}", headers={"Content-Type": kind}), 415)


def test_a_key_used_before_comes_with_the_same_body_or_not_at_all(attacked: Attacked) -> None:
    headers = {"Idempotency-Key": "the-first"}
    refused(attacked.ask("POST", "/v1/rollouts", ALICE, json={"seed": 5}, headers=headers), 409)
    again = attacked.ask("POST", "/v1/rollouts", ALICE, json={}, headers=headers)
    assert again.status_code == 200 and again.json()["id"] == attacked.ids[ROLLOUT]
    for key in ("", "x" * 201, "\u00e9".encode("latin-1"), "a\tb"):
        refused(attacked.ask("POST", "/v1/rollouts", ALICE, json={}, headers={"Idempotency-Key": key}), 400)


def test_what_has_ended_can_t_be_cancelled_however_often(attacked: Attacked) -> None:
    for _ in range(2):
        refused(attacked.ask("DELETE", f"/v1/rollouts/{ROLLOUT}", ALICE), 409)


@pytest.mark.parametrize("place", ["x", "-1.0", "999999.1", "1.999999", "../../etc", "1.1\u0661".encode(), "9" * 33])
def test_a_place_in_a_stream_that_is_none(attacked: Attacked, place: Any) -> None:
    refused(attacked.ask("GET", f"/v1/rollouts/{ROLLOUT}/stream", ALICE, headers={"Last-Event-ID": place}), 422)
    refused(attacked.ask("GET", f"/v1/rollouts/{ROLLOUT}/episodes", ALICE, params={"cursor": place}), 422)


# ---- below HTTP ----


def raw(attacked: Attacked, *pieces: bytes) -> int:
    answer = send(attacked.service.address, pieces)
    assert not any(token in answer.head or token.encode() in answer.body for token in TOKENS.values())
    return answer.status


def test_headers_that_are_none(attacked: Attacked) -> None:
    injected = "X-Session-ID: a\r\nX-Injected: 1"
    for bad in (
        "X-Session-ID: a\x00b",
        "X-Session-ID: \xd7\xf8",
        "X-Request-ID: \xff",
        "traceparent: \xff",
        "X-A: \x0bb",
    ):
        assert raw(attacked, head("GET", "/v1/models", bad, "Connection: close", token=BOB)) == 400, bad
    for name in ("serve_multiplexed_model_id", "Serve-Multiplexed-Model-Id", "x_session_id"):
        assert raw(attacked, head("GET", "/v1/models", f"{name}: \xff", token=BOB)) == 400, name
    answer = send(attacked.service.address, [head("GET", f"/v1/rollouts/{MARK}", injected, token=BOB)])
    assert answer.status == 404 and "injected" not in answer.head.lower()


def test_headers_without_end(attacked: Attacked) -> None:
    many = [f"X-{n}: {MARK}" for n in range(10_000)]
    assert raw(attacked, head("GET", "/v1/models", *many, token=BOB)) in (400, 431)
    long = f"X-Long: {MARK * 100_000}"
    assert raw(attacked, head("GET", "/v1/models", long, token=BOB)) in (400, 431)
    assert raw(attacked, head("GET", "/v1/models", *many[:101], token=BOB)) == 431
    assert raw(attacked, head("GET", f"/v1/models?{'x' * 60_000}", token=BOB)) in (400, 414)


def test_one_request_is_not_two(attacked: Attacked) -> None:
    """A request with both a length and chunks, or with two lengths, is refused: a proxy in front could see another
    request than the service does.
    """
    inner = head("DELETE", f"/v1/sessions/{SESSION}", token=ALICE)
    both = head("POST", "/v1/rollouts", JSON, f"{LENGTH}{len(inner) + 5}", "Transfer-Encoding: chunked", token=ALICE)
    assert 400 <= raw(attacked, both, b"0\r\n\r\n" + inner) < 500
    twice = head("POST", "/v1/rollouts", JSON, f"{LENGTH}2", f"{LENGTH}{len(inner) + 2}", token=ALICE)
    assert 400 <= raw(attacked, twice, b"{," + inner) < 500
    for odd in ("xchunked", "chunked, identity", " chunked", "identity"):
        told = head("POST", "/v1/rollouts", JSON, f"Transfer-Encoding: {odd}", f"{LENGTH}6", token=ALICE)
        assert raw(attacked, told, b'{"a":1' + inner) in (*range(400, 500), 501), odd
    assert attacked.ask("GET", f"/v1/sessions/{SESSION}", ALICE).json()["score"] is None


def test_chunks_without_end(attacked: Attacked) -> None:
    start = head("POST", "/v1/rollouts", JSON, "Transfer-Encoding: chunked", token=ALICE)
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    assert raw(attacked, start, *[chunk] * 64) == 413
    assert raw(attacked, start, b"zz\r\n" + MARK.encode()) in (400, 408, 0)


@pytest.mark.parametrize("sent", [b"", b'{"seed": '])
def test_a_client_that_stops_sending(attacked: Attacked, sent: bytes) -> None:
    start = head("POST", "/v1/rollouts", JSON, f"{LENGTH}100", token=ALICE)
    assert raw(attacked, start, sent) == 408


def test_a_client_that_never_ends_its_headers_holds_nobody_up(attacked: Attacked) -> None:
    url = urlsplit(attacked.service.address)
    with ExitStack() as open_ones:
        for _ in range(200):
            slow = open_ones.enter_context(socket.create_connection((url.hostname, url.port), timeout=30))
            slow.sendall(b"POST /v1/rollouts HTTP/1.1\r\nHost: localhost\r\nX-Mark: " + MARK.encode())
        assert attacked.ask("GET", "/v1/rollouts", ALICE).status_code == 200


@pytest.mark.parametrize("host", ["", "[::1", "evil.example", "a:b:c", "localhost:99999999"])
def test_a_name_that_is_none(attacked: Attacked, host: str) -> None:
    """With tokens the name doesn't matter, and it breaks nothing."""
    assert raw(attacked, head("GET", f"/v1/rollouts/{MARK}", "Connection: close", token=BOB, host=host)) in (400, 404)


def test_nothing_of_all_that_is_written_down(attacked: Attacked) -> None:
    """Comes last: what the others have sent is in no file of the service, and in no log of its cluster."""
    kept = [path for path in attacked.service.directory.rglob("*") if path.is_file()]
    logs = attacked.service.logs
    assert kept and len(logs) > 5
    for path in (*kept, *logs):
        found = path.read_bytes()
        for secret in (MARK, ALICE, BOB, attacked.key, attacked.key.rpartition(".")[2]):
            assert secret.encode() not in found, (path, secret[:8])
    assert "Traceback" not in attacked.service.said.read_text()
    assert attacked.ask("GET", "/readyz", ALICE).json()["status"] == "ready"
