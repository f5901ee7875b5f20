"""Checks both clients on a service that refuses, breaks connections off and never ends; and what they send."""

from __future__ import annotations

import asyncio
import pickle
import time
from collections.abc import Iterator
from typing import Any

import pytest
from broken_service import BrokenService, breaks_off, broken_service, falls_silent, never_ends, refused, says, streams
from conftest import free_port
from either_client import EitherClient

from ray_gym import AsyncClient, Client, ServiceError
from ray_gym.client import Patience, RolloutRequest, SessionRequest

QUICK = Patience(deadline_s=20, tries=4, first_pause_s=0.01)
STATUS = {
    "id": "run", "environment": "guess", "state": "running", "episodes": 4, "statuses": {"completed": 1},
    "stop_reasons": {}, "reward_mean": None, "failure": None, "created_at": 1.0, "started_at": None, "ended_at": None,
}  # fmt: skip
DONE, CANCELLED = STATUS | {"state": "done"}, STATUS | {"state": "cancelled"}
SESSION = {"id": "s1", "environment": "guess", "task_id": "t", "participants": {}, "stop": None, "score": None}
OPENED = SESSION | {
    "openai_path": "/v1/sessions/s1/openai",
    "anthropic_path": "/v1/sessions/s1/anthropic",
    "mcp_path": "/v1/sessions/s1/mcp",
    "api_key": "only-this",
}
DOWN = {"Retry_After": "0"}


@pytest.fixture(scope="module")
def listening() -> Iterator[BrokenService]:
    with broken_service() as service:
        yield service


@pytest.fixture
def service(listening: BrokenService) -> BrokenService:
    listening.forget()
    return listening


@pytest.fixture(params=[Client, AsyncClient], ids=["sync", "async"])
def kind(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def client(kind: Any, runner: asyncio.Runner, service: BrokenService) -> Iterator[Any]:
    client = EitherClient(kind(service.url, "secret", patience=QUICK), runner)
    yield client
    client.close()


def event(name: str, data: str, cursor: str) -> bytes:
    return f"event: {name}\nid: {cursor}\ndata: {data}\n\n".encode()


def group(number: int) -> bytes:
    return event("group", f'{{"group_id": "g{number}", "task_id": "t", "episodes": []}}', str(number))


def asked(service: BrokenService) -> list[str]:
    return [f"{seen.method} {seen.path}" for seen in service.seen]


# ---- tried again, or not ----


def test_a_post_is_sent_again_with_the_same_key(client: Any, service: BrokenService) -> None:
    service.will(refused(503, "unavailable", "starting", **DOWN), breaks_off(), refused(502, "bad_gateway", ""))
    service.will(says(STATUS, 201), says(STATUS, 201))
    request = RolloutRequest(environment="guess", generate=2, repeats=2)
    assert client.submit(request).id == "run"
    assert len(service.seen) == 4 and len({(seen.key, seen.path) for seen in service.seen}) == 1
    assert service.seen[0].key and service.seen[0].authorization == "Bearer secret"
    assert service.seen[3].body == {"environment": "guess", "generate": 2, "repeats": 2}
    client.submit(request, key="of my own")
    assert service.seen[4].key == "of my own"


def test_a_refusal_says_all_of_it_and_is_not_repeated(client: Any, service: BrokenService) -> None:
    service.will(refused(422, "invalid_request", "expected a number", "tasks.0.secret"))
    with pytest.raises(ServiceError) as caught:
        client.submit(RolloutRequest(tasks=[{"secret": "x"}]))
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.status, error.code, error.message) == (422, "invalid_request", "expected a number")
    assert (error.param, error.tries) == ("tasks.0.secret", 1) and len(service.seen) == 1
    assert str(error) == "422 invalid_request: tasks.0.secret: expected a number"


@pytest.mark.parametrize(
    ("message", "param", "told"),
    [
        ("tasks[0].answer: missing", "tasks[0].answer", "tasks[0].answer: missing"),
        ("environment: there is no 'nego' here", "environment", "environment: there is no 'nego' here"),
        ("key: a: b", "key", "key: a: b"),
        ("keys: a", "key", "key: keys: a"),
        ("expected a number", None, "expected a number"),
    ],
)
def test_a_field_is_told_once(message: str, param: str | None, told: str) -> None:
    assert str(ServiceError(422, "invalid_request", message, param)) == f"422 invalid_request: {told}"


def test_who_is_told_to_come_back_too_late_gives_up(client: Any, service: BrokenService) -> None:
    service.will(refused(429, "too_many", "64 rollouts wait", Retry_After="3600"))
    with pytest.raises(ServiceError, match="429 too_many: 64 rollouts wait"):
        client.rollouts()


def test_words_that_are_not_the_service_s(client: Any, service: BrokenService) -> None:
    service.will(*[says("<html>", 502)] * 4, says({"hello": "world"}), says(None, 307, Location=service.url))
    for status, code in [(502, "http_502"), (200, "not_understood"), (307, "http_307")]:
        with pytest.raises(ServiceError) as caught:
            client.rollouts()
        assert (caught.value.status, caught.value.code) == (status, code)
    assert len(service.seen) == 6  # a redirection is not followed: the token is for this address only


def test_an_answer_that_does_not_end(kind: Any, runner: asyncio.Runner, service: BrokenService) -> None:
    client = EitherClient(kind(service.url, patience=Patience(deadline_s=0.3)), runner)
    service.will(never_ends())
    began = time.monotonic()
    with pytest.raises(TimeoutError, match=f"GET {service.url}/v1/rollouts: no answer in time"):
        client.rollouts()
    assert time.monotonic() - began < 10
    client.close()


def test_nobody_listens(kind: Any, runner: asyncio.Runner) -> None:
    client = EitherClient(kind(f"http://127.0.0.1:{free_port()}", patience=QUICK), runner)
    with pytest.raises(ConnectionError, match="4 tries; is the service up"):
        client.rollouts()
    client.close()


# ---- rollouts ----


def test_cancelled_by_an_earlier_try(client: Any, service: BrokenService) -> None:
    service.will(breaks_off(), refused(409, "ended", "was cancelled already"), says(CANCELLED))
    assert client.cancel("run").state == "cancelled"
    assert asked(service) == ["DELETE /v1/rollouts/run"] * 2 + ["GET /v1/rollouts/run"]
    service.will(refused(409, "ended", "was cancelled already"))
    with pytest.raises(ServiceError, match="409 ended"):
        client.cancel("run")


@pytest.mark.services
def test_wait(client: Any, service: BrokenService) -> None:
    service.will(says(STATUS), breaks_off(), says(STATUS), says(DONE))
    assert client.wait("run", 20).state == "done" and len(service.seen) == 4
    service.will(*[says(STATUS)] * 50)
    with pytest.raises(TimeoutError, match=r"run is still running \(1 of 4 episodes are over\) after 1 s"):
        client.wait("run", 1)


def test_episodes_of_all_pages(client: Any, service: BrokenService) -> None:
    pages = [([{"n": 1}, {"n": 2}], "a"), ([], "a"), ([], "a"), ([{"n": 3}], None)]
    service.will(*[says({"episodes": episodes, "next": cursor}) for episodes, cursor in pages])
    assert client.episodes("run", page_size=2, samples=True) == [{"n": 1}, {"n": 2}, {"n": 3}]
    more = {"limit": "2", "samples": "true"}
    assert [seen.query for seen in service.seen] == [more] + [more | {"cursor": "a"}] * 3


def test_groups_come_once_however_often_the_connection_breaks(client: Any, service: BrokenService) -> None:
    service.will(
        refused(503, "unavailable", "starting", **DOWN),
        streams(b": keep-alive\n\n", group(1), group(2)[:-30]),
        breaks_off(),
        streams(group(2)),
        refused(429, "too_many", "streams", **DOWN),
        streams(b"retry: 1\n\n", b"event: news\nid: 3\ndata: of another kind\n\n", breaks=False),
        streams(group(4), event("end", "{}", "5")),
    )
    groups = client.groups("run")
    assert [(cursor, done.group_id) for cursor, done in groups] == [("1", "g1"), ("2", "g2"), ("4", "g4")]
    assert [seen.query.get("cursor") for seen in service.seen] == [None, None, "1", "1", "2", "2", "3"]


def test_groups_from_a_cursor(client: Any, service: BrokenService) -> None:
    service.will(streams(event("end", "{}", "9"), breaks=False))
    assert client.groups("run", cursor="8", samples=True) == []
    assert service.seen[0].query == {"cursor": "8", "samples": "true"}


def test_a_stream_that_never_comes_further(client: Any, service: BrokenService) -> None:
    service.will(*[streams(b": keep-alive\n\n", group(1)[:-20]) for _ in range(4)])
    with pytest.raises(ConnectionError, match=r"/v1/rollouts/run/stream.*4 tries"):
        client.groups("run")
    assert len(service.seen) == 4


def test_a_stream_that_lasts_may_break_any_number_of_times(
    kind: Any, runner: asyncio.Runner, service: BrokenService
) -> None:
    patience = Patience(tries=2, first_pause_s=0.01, lasting_s=0)
    client = EitherClient(kind(service.url, patience=patience), runner)
    service.will(*[streams(b": keep-alive\n\n", breaks=False) for _ in range(5)], streams(event("end", "{}", "1")))
    assert client.groups("run") == [] and len(service.seen) == 6
    client.close()


def test_silence_does_not_count_as_lasting(kind: Any, runner: asyncio.Runner, service: BrokenService) -> None:
    """A silent connection does not count as lasting. Otherwise a service that accepts connections and never says a
    thing would be asked for ever.
    """
    patience = Patience(tries=2, first_pause_s=0.01, silence_s=0.3, lasting_s=0.29)
    client = EitherClient(kind(service.url, patience=patience), runner)
    service.will(*[falls_silent(b": keep-alive\n\n") for _ in range(2)])
    with pytest.raises(TimeoutError, match="2 tries"):
        client.groups("run")
    client.close()


def test_a_stream_that_falls_silent(kind: Any, runner: asyncio.Runner, service: BrokenService) -> None:
    client = EitherClient(kind(service.url, patience=Patience(silence_s=0.3, first_pause_s=0.01)), runner)
    service.will(falls_silent(group(1)), streams(group(2), event("end", "{}", "3")))
    assert [cursor for cursor, _ in client.groups("run")] == ["1", "2"]
    client.close()


def test_a_stream_that_is_refused_or_not_understood(client: Any, service: BrokenService) -> None:
    service.will(refused(404, "unknown_rollout", "there is no rollout 'run'"))
    with pytest.raises(ServiceError, match="404 unknown_rollout"):
        client.groups("run")
    service.will(streams(event("group", "{}", "1")))
    with pytest.raises(ServiceError, match="not_understood"):
        client.groups("run")


def test_a_stream_is_left_by_who_has_seen_enough(service: BrokenService) -> None:
    service.will(streams(group(1), group(2)), says({"rollouts": []}))
    with Client(service.url, patience=QUICK) as client:
        groups = client.groups("run")
        assert next(groups)[0] == "1"
        groups.close()
        assert client.rollouts().rollouts == []


# ---- sessions ----


def test_a_session(client: Any, service: BrokenService) -> None:
    heard = {"messages": [{"role": "user", "content": "higher"}], "stop": None}
    service.will(says(OPENED, 201), says({"content": "found", "error": None, "stop": None}), says(heard))
    service.will(says(SESSION), says(SESSION), says(None, 204))
    session = client.open_session(SessionRequest(environment="guess", seed=7))
    assert (session.id, session.api_key) == ("s1", "only-this")
    assert session.openai_base_url == f"{service.url}/v1/sessions/s1/openai"
    assert session.mcp_url == f"{service.url}/v1/sessions/s1/mcp"
    assert session.anthropic_base_url == f"{service.url}/v1/sessions/s1/anthropic"
    assert session.call_tool("guess", '{"number": 3}', call_id="c1").content == "found"
    assert session.say("Is it 3\ud83d", participant="user").messages[0].content == "higher"
    assert session.score().id == session.info().id == "s1"
    session.close()
    assert asked(service) == [
        "POST /v1/sessions",
        "POST /v1/sessions/s1/tools",
        "POST /v1/sessions/s1/messages",
        "POST /v1/sessions/s1/score",
        "GET /v1/sessions/s1",
        "DELETE /v1/sessions/s1",
    ]
    opened, called, said, scored = service.seen[:4]
    assert opened.body == {"environment": "guess", "seed": 7} and scored.body is None
    assert called.body == {"participant": "policy", "name": "guess", "arguments": '{"number": 3}', "id": "c1"}
    assert said.body == {"participant": "user", "content": "Is it 3?"}
    assert len({seen.key for seen in (opened, called, said, scored)}) == 4


def test_a_context_closes_its_session_also_one_that_is_gone(service: BrokenService) -> None:
    service.will(says(OPENED, 201), refused(404, "unknown_session", "gone"))
    with Client(service.url, patience=QUICK) as client, client.open_session() as session:
        assert session.id == "s1"
    assert asked(service)[-1] == "DELETE /v1/sessions/s1"


async def test_an_asynchronous_context_does_too(service: BrokenService) -> None:
    service.will(says(OPENED, 201), says(None, 204))
    async with AsyncClient(service.url, patience=QUICK) as client, await client.open_session() as session:
        assert session.id == "s1"
    assert asked(service)[-1] == "DELETE /v1/sessions/s1"


# ---- the rest ----


def test_a_service_that_is_not_ready_says_so(client: Any, service: BrokenService) -> None:
    starting = {"status": "starting", "models": []}
    service.will(
        says(starting, 503), refused(503, "unavailable", "full", **DOWN), says({**starting, "status": "ready"})
    )
    assert [client.readiness().status, client.readiness().status] == ["starting", "ready"]


def test_what_there_is(client: Any, service: BrokenService) -> None:
    service.will(says({"status": "ok", "news": 1}), says("# HELP"), says({"openapi": "3"}), says({"environments": []}))
    assert client.health().status == "ok" and client.metrics() == '"# HELP"'
    assert client.openapi() == {"openapi": "3"} and client.environments() == []
    assert asked(service) == ["GET /healthz", "GET /metrics", "GET /openapi.json", "GET /v1/environments"]


def test_an_id_stays_in_its_place(client: Any, service: BrokenService) -> None:
    service.will(refused(404, "unknown_rollout", "no"))
    with pytest.raises(ServiceError):
        client.rollout("../environments?x=1#y")
    assert asked(service) == ["GET /v1/rollouts/..%2Fenvironments%3Fx%3D1%23y"]


def test_address_and_token_from_the_environment(service: BrokenService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_GYM_URL", f"{service.url}/behind/a/proxy/")
    monkeypatch.setenv("RAY_GYM_TOKEN", "from outside")
    service.will(says({"rollouts": []}))
    with Client() as client:
        assert client.rollouts().rollouts == []
        assert client.openai_base_url == f"{service.url}/behind/a/proxy/v1" and "from outside" not in repr(vars(client))
    assert service.seen[0].path == "/behind/a/proxy/v1/rollouts"
    assert service.seen[0].authorization == "Bearer from outside"
    monkeypatch.delenv("RAY_GYM_URL")
    with pytest.raises(ValueError, match="base_url: give the address of the service"):
        Client()
