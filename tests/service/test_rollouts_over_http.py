"""Tests rollouts through their doors, played by real workers: the service is in this process, and its models are
scripted.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import httpx
import pytest
from asked import asked
from conftest import REPOSITORY
from fastapi import FastAPI, Header
from starlette.responses import JSONResponse

from ray_gym.config.sections import RunConfig
from ray_gym.deployments.gateway.doors.rollouts import rollout_routes
from ray_gym.engines.scripted import ScriptedEngine
from ray_gym.engines.scripted_model import ScriptedOptions
from ray_gym.load import load
from ray_gym.openai_api.refused import Refused
from ray_gym.record.schema import without_volatile
from ray_gym.run.cluster.cluster import connect
from ray_gym.service.service import Service, ServiceSetup

pytestmark = pytest.mark.ray

MODELS = {
    "random": {"player": "ray_gym.envs.tic_tac_toe.players:random_player"},
    "minimax": {"player": "ray_gym.envs.tic_tac_toe.players:minimax_player"},
    "slow": {"player": "ray_gym.envs.tic_tac_toe.players:random_player", "delay_s": 0.2},
}
ROLLOUTS = "/v1/rollouts"
NONE = {"rollouts": [], "next": None}
SLOW = {"generate": 20, "participants": {"policy": {"model": "slow"}}}
"""At four games in flight, some five seconds."""


@pytest.fixture(scope="module", autouse=True)
def joined() -> Iterator[None]:
    """Starts a cluster of this process: the session's has a token, which Ray reads when it is imported."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_ADDRESS", "local")
        environment.setenv("PYTHONPATH", str(REPOSITORY))
        with connect():
            yield


def setup(root: Path, policy: Mapping[str, Any] | None = None, **service: Any) -> ServiceSetup:
    config = {
        "environment": {"id": "tic_tac_toe"},
        "tasks": {"generate": 2},
        "models": {name: {"engine": "scripted", **options} for name, options in MODELS.items()},
        "participants": {
            "policy": policy or {"model": "random", "tool_choice": "required"},
            "user": {"model": "minimax", "tool_choice": "required"},
        },
        "limits": {"max_turns": 5, "max_steps_per_turn": 1},
        "sandbox": {"kind": "process"},
        "fanout": {"workers": 1, "concurrency": 4},
        "output": {"roll_s": 0.2},
        "service": {"active_rollouts": 1, "queued_rollouts": 1, "max_episodes": 200, **service},
    }
    engines = {name: ScriptedEngine(ScriptedOptions.model_validate(options)) for name, options in MODELS.items()}
    return ServiceSetup(RunConfig.model_validate(config), root, root, engines)


def caller_of(authorization: Annotated[str, Header()] = "ann") -> str:
    return authorization


def app_of(service: Service) -> FastAPI:
    app = FastAPI()
    app.include_router(rollout_routes(asked(service), caller_of))

    @app.exception_handler(Refused)
    async def refuse(_: Any, error: Refused) -> JSONResponse:
        told = {"code": error.code, "message": error.message, "param": error.param, "retry": error.retry_after_s}
        return JSONResponse(told, error.status)

    return app


@dataclass
class Door:
    service: Service
    client: httpx.AsyncClient

    async def submit(self, request: dict[str, Any], key: str | None = None) -> httpx.Response:
        return await self.client.post(ROLLOUTS, json=request, headers={"Idempotency-Key": key} if key else {})

    async def made(self, request: dict[str, Any], key: str | None = None) -> str:
        answer = await self.submit(request, key)
        assert answer.status_code == 201, answer.text
        run_id: str = answer.json()["id"]
        return run_id

    async def status(self, run_id: str) -> dict[str, Any]:
        answer = await self.client.get(f"{ROLLOUTS}/{run_id}")
        status: dict[str, Any] = answer.json()
        return status

    async def until(self, run_id: str, holds: Callable[[dict[str, Any], int], bool]) -> dict[str, Any]:
        commits = -1
        while True:
            status, commits = await self.service.wait("ann", run_id, commits, 30)
            if holds(status.model_dump(), commits) or status.ended_at is not None:
                return status.model_dump()

    async def stream(self, run_id: str, headers: dict[str, str] | None = None, **query: Any) -> list[dict[str, Any]]:
        answer = await self.client.get(f"{ROLLOUTS}/{run_id}/stream", params=query, headers=headers or {})
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"].startswith("text/event-stream")
        return events_of(answer.text)

    async def pages(self, run_id: str, limit: int) -> list[dict[str, Any]]:
        """Returns all episodes of a rollout that has ended, page by page."""
        found: list[dict[str, Any]] = []
        cursor = None
        while True:
            query = {"limit": limit} | ({"cursor": cursor} if cursor else {})
            page = (await self.client.get(f"{ROLLOUTS}/{run_id}/episodes", params=query)).json()
            found += page["episodes"]
            cursor = page["next"]
            if cursor is None:
                return found
            assert len(page["episodes"]) == limit, "and the last one says that it is the last"


def events_of(text: str) -> list[dict[str, Any]]:
    """Returns a stream's events: their fields, with the data read."""
    events = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            events.append({**fields, "data": json.loads(fields["data"])})
    return events


@asynccontextmanager
async def serving(root: Path, **service: Any) -> AsyncIterator[Door]:
    running = Service(setup(root, **service))
    await running.start()
    transport = httpx.ASGITransport(app_of(running))
    async with httpx.AsyncClient(transport=transport, base_url="http://service", timeout=60) as client:
        try:
            yield Door(running, client)
        finally:
            await running.close()


def rows(folder: Path) -> dict[str, dict[str, Any]]:
    table = load(folder).episodes
    found = {row["episode_id"]: without_volatile(row) for row in table.to_pylist()}
    assert len(found) == table.num_rows, "an episode is there twice"
    return found


async def test_a_rollout_from_its_request_to_its_last_episode(tmp_path: Path) -> None:
    request = {"tasks": [{}, {"task_id": "mine"}, {}], "repeats": 2, "seed": 3}
    async with serving(tmp_path) as door:
        answers = await asyncio.gather(*(door.submit(request, "once") for _ in range(4)))
        assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
        (run_id,) = {answer.json()["id"] for answer in answers}
        other = await door.submit({**request, "seed": 4}, "once")
        assert (other.status_code, other.json()["code"]) == (409, "key_reused")

        *groups, end = await door.stream(run_id)
        assert [event["event"] for event in groups] == ["group"] * 3 and end["event"] == "end"
        assert end["data"]["state"] == "done" and end["data"]["statuses"] == {"completed": 6}
        assert end["data"] == await door.status(run_id) and end["data"]["ended_at"] >= end["data"]["started_at"]
        streamed = [episode for event in groups for episode in event["data"]["episodes"]]
        assert {one["data"]["task_id"] for one in groups} >= {"mine"}
        assert all(len({e["group_id"] for e in one["data"]["episodes"]}) == 1 for one in groups)

        for again in ({"cursor": groups[0]["id"]}, {"headers": {"Last-Event-ID": groups[0]["id"]}}):
            assert await door.stream(run_id, **again) == [*groups[1:], end]
        assert await door.pages(run_id, limit=4) == await door.pages(run_id, limit=500) == streamed
        assert len({episode["episode_id"] for episode in streamed}) == 6
        short = (await door.stream(run_id, samples=False))[0]["data"]["episodes"][0]
        assert "samples" not in short and short["events"] == streamed[0]["events"]

        listed = (await door.client.get(ROLLOUTS)).json()["rollouts"]
        assert [one["id"] for one in listed] == [run_id]
        late = await door.client.delete(f"{ROLLOUTS}/{run_id}")
        assert (late.status_code, late.json()["code"]) == (409, "already_over")
        assert (await door.service.counts())["rollouts.done"] == 1
    summary = json.loads((tmp_path / "rollouts" / run_id / "summary.json").read_text())
    assert summary["episodes"] == 6 and "command" not in summary and not summary["cancelled"]


async def test_a_program_plays_in_a_rollout(tmp_path: Path) -> None:
    program = {"model": "random", "agent": {"command": ["sh", "-c", "echo I give up"]}}
    async with serving(tmp_path, policy=program) as door:
        run_id = await door.made({"generate": 2})
        ended = await door.until(run_id, lambda status, _: False)
        episodes = await door.pages(run_id, limit=4)
    assert (ended["state"], ended["statuses"]) == ("done", {"completed": 2}), ended["failure"]
    assert all("I give up" in json.dumps(one["events"]) for one in episodes)


async def test_requests_that_are_refused_leave_no_trace(tmp_path: Path) -> None:
    async with serving(tmp_path) as door:
        bad = await door.submit({"tasks": [{}, {}, {}, {"initial_moves": "no"}]}, "key")
        assert (bad.status_code, bad.json()["param"]) == (422, "tasks[3].initial_moves")
        assert (await door.submit({"generate": 201})).status_code == 422
        assert (await door.submit({"environment": "../../etc"})).json()["param"] == "environment"
        assert (await door.client.post(ROLLOUTS, content=b"{")).status_code == 422
        assert list((tmp_path / "rollouts").iterdir()) == [] and (await door.client.get(ROLLOUTS)).json() == NONE
        run_id = await door.made({"generate": 1}, "key")
        for path in (run_id, "0" * 32, "..%2f..%2fetc", f"{run_id}%2f.."):
            headers = {"Authorization": "bob" if path == run_id else "ann"}
            for method, door_of in (("GET", ""), ("DELETE", ""), ("GET", "/episodes"), ("GET", "/stream")):
                answer = await door.client.request(method, f"{ROLLOUTS}/{path}{door_of}", headers=headers)
                assert answer.status_code in (404, 405), (method, path, door_of)
        assert (await door.client.get(ROLLOUTS, headers={"Authorization": "bob"})).json() == NONE
        for cursor in ("99.0", "x", "1.1.1"):
            for door_of in ("episodes", "stream"):
                query = {"cursor": cursor}
                assert (await door.client.get(f"{ROLLOUTS}/{run_id}/{door_of}", params=query)).status_code == 422
        await door.until(run_id, lambda status, _: False)


async def test_a_full_queue_and_cancelling(tmp_path: Path) -> None:
    async with serving(tmp_path) as door:
        playing = await door.made(SLOW)
        waiting = await door.made(SLOW)
        full = await door.submit(SLOW)
        assert full.status_code == 429 and full.json()["retry"] > 0
        for run_id in (waiting, playing):
            if run_id == playing:
                await door.until(playing, lambda _, commits: commits > 0)
            told = await door.client.delete(f"{ROLLOUTS}/{run_id}")
            assert (told.status_code, told.json()["state"]) == (202, "cancelled")
            assert (await door.client.delete(f"{ROLLOUTS}/{run_id}")).status_code == 409
        *groups, end = await door.stream(playing)
        assert end["data"]["state"] == "cancelled" and 0 < len(groups) < 20
        assert sum(end["data"]["statuses"].values()) == len(groups), "what was finished is kept"
        assert [event["event"] for event in await door.stream(waiting)] == ["end"]
    async with serving(tmp_path) as door:
        assert {(await door.status(run_id))["state"] for run_id in (playing, waiting)} == {"cancelled"}
        assert await door.stream(playing) == [*groups, end], "and is not resumed"


async def test_one_caller_leaves_places_in_the_queue_for_others(tmp_path: Path) -> None:
    async with serving(tmp_path, queued_rollouts=3, caller_share=0.5) as door:
        own = [await door.made(SLOW) for _ in range(2)]
        full = await door.submit(SLOW)
        assert full.status_code == 429 and "2 rollouts of yours are not over" in full.json()["message"]
        page = (await door.client.get(ROLLOUTS, params={"limit": 1})).json()
        rest = (await door.client.get(ROLLOUTS, params={"cursor": page["next"]})).json()
        assert [one["id"] for one in page["rollouts"] + rest["rollouts"]] == own[::-1] and rest["next"] is None
        assert (await door.client.get(ROLLOUTS, params={"cursor": "1.2"})).status_code == 422
        other = await door.client.post(ROLLOUTS, json=SLOW, headers={"Authorization": "bob"})
        assert other.status_code == 201
        for run_id in own:
            await door.client.delete(f"{ROLLOUTS}/{run_id}")
        await door.client.delete(f"{ROLLOUTS}/{other.json()['id']}", headers={"Authorization": "bob"})


async def test_a_service_that_is_started_again_goes_on_with_what_was_under_way(tmp_path: Path) -> None:
    async with serving(tmp_path) as door:
        half = await door.made(SLOW, "half")
        queued = await door.made({"generate": 1})
        streaming = asyncio.create_task(door.stream(half))
        await door.until(half, lambda _, commits: commits > 0)
        await door.service.close()
        *seen, last = await streaming
        assert last["event"] == "group", "no end, so that the client comes back"
        with pytest.raises(Refused) as refused:
            await door.service.wait("ann", half, 10**6, 30)
        assert refused.value.status == 503
    kept = rows(tmp_path / "rollouts" / half)
    assert 0 < len(kept) < 20
    async with serving(tmp_path) as door:
        assert (await door.submit(SLOW, "half")).status_code == 200
        *rest, end = await door.stream(half, headers={"Last-Event-ID": last["id"]})
        assert end["data"]["state"] == "done" and end["data"]["statuses"] == {"completed": 20}
        ids = [event["data"]["group_id"] for event in [*seen, last, *rest]]
        assert len(ids) == len(set(ids)) == 20
        assert (await door.until(queued, lambda *_: False))["state"] == "done"
    whole = rows(tmp_path / "rollouts" / half)
    assert len(whole) == 20 and all(whole[episode_id] == row for episode_id, row in kept.items())


async def test_a_stream_ends_at_once_when_its_client_goes(tmp_path: Path) -> None:
    async with serving(tmp_path) as door:
        run_id = await door.made(SLOW)
        gone = asyncio.Event()
        sent: list[bytes] = []

        async def receive() -> dict[str, Any]:
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            sent.append(message.get("body", b""))
            if len(sent) == 2:
                gone.set()

        await asyncio.wait_for(stream_by_hand(app_of(door.service), run_id, receive, send), 10)
        assert b"".join(sent).startswith(b": groups") and b"event: end" not in b"".join(sent)
        await door.client.delete(f"{ROLLOUTS}/{run_id}")


Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


async def stream_by_hand(app: FastAPI, run_id: str, receive: Receive, send: Send) -> None:
    path = f"{ROLLOUTS}/{run_id}/stream"
    asked = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [],
    }
    await app(
        {**asked, "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "root_path": ""}, receive, send
    )


async def test_how_models_failed_outside_of_rollouts_is_told_once_a_kind(tmp_path: Path) -> None:
    service = Service(setup(tmp_path))
    assert await service.troubles() == []
    for told in ("model m: environment in p (mine.py:4): KeyError: 'a'", "model n: infra in q: HTTP 401"):
        for _ in range(2):
            await service.note_failure(told)
    await service.note_failure("model m: environment in p (mine.py:4): KeyError: 'b'")
    told = ["model m: environment in p (mine.py:4): KeyError: 'a'", "model n: infra in q: HTTP 401"]
    assert await service.troubles() == told


async def test_a_rollout_that_can_not_go_on_says_why(tmp_path: Path) -> None:
    """The config has another model under the old name: what was begun is not to be mixed with it."""
    async with serving(tmp_path) as door:
        run_id = await door.made(SLOW)
    config = setup(tmp_path)
    other = config.config.models["slow"].model_copy(update={"engine": "openai"})
    changed = config.config.model_copy(update={"models": {**config.config.models, "slow": other}})
    service = Service(ServiceSetup(changed, tmp_path, tmp_path, config.engines))
    await service.start()
    status, _ = await service.wait("ann", run_id, 10**6, 30)
    await service.close()
    assert status.state == "failed" and status.failure is not None and status.failure.startswith("models.slow: ")
