"""Checks sessions whose run is started again, because its driver has ended: none is lost, not even one that is just
being opened.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest
from asked import asked
from conftest import REPOSITORY
from fastapi import FastAPI

from ray_gym.config.sections import GroupsSection, RunConfig
from ray_gym.deployments.gateway.doors import session_router
from ray_gym.deployments.gateway.doors.sessions import session_routes
from ray_gym.deployments.gateway.guards import errors
from ray_gym.engines.scripted import ScriptedEngine
from ray_gym.engines.scripted_model import ScriptedOptions
from ray_gym.metrics.recorder import Recorder
from ray_gym.run.cluster.cluster import connect
from ray_gym.service.api import SessionInfo, SessionRequest
from ray_gym.service.offers import offers_of
from ray_gym.service.service import Service
from ray_gym.service.sessions import sessions as module
from ray_gym.service.sessions.registry import Registry
from ray_gym.service.sessions.session_run import SessionRun
from ray_gym.service.sessions.sessions import SessionPlace, Sessions
from ray_gym.service.setup import ServiceSetup

pytestmark = pytest.mark.ray

PLAYER = {"player": "ray_gym.envs.tic_tac_toe.players:random_player"}


@pytest.fixture(scope="module", autouse=True)
def joined() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("RAY_ADDRESS", "local")
        environment.setenv("PYTHONPATH", str(REPOSITORY))
        with connect():
            yield


def setup(root: Path, service: Mapping[str, Any], **output: Any) -> ServiceSetup:
    config = {
        "environment": {"id": "tic_tac_toe"},
        "tasks": {"generate": 1},
        "models": {"small": {"engine": "scripted", **PLAYER}},
        "participants": {"policy": {"model": "small"}, "user": {"model": "small"}},
        "groups": {"incomplete": "wait"},
        "output": {"roll_s": 0.2, "dir": str(root), **output},
        "service": {"session_workers": 1, **service},
    }
    engines = {"small": ScriptedEngine(ScriptedOptions.model_validate(PLAYER))}
    return ServiceSetup(RunConfig.model_validate(config), root, root, engines)


def sessions_in(root: Path, **service: Any) -> Sessions:
    made = setup(root, service)
    return Sessions(made.config, made.engines, offers_of(made.config), root, Recorder())


async def info(placed: SessionPlace) -> SessionInfo:
    assert placed.worker is not None
    async with asyncio.timeout(60):
        told: SessionInfo = await placed.worker.call_session.remote("info", placed.session_id)
    return told


class Held:
    """Holds a step until it may go on."""

    def __init__(self, step: Callable[..., Any]) -> None:
        self._step = step
        self.reached, self.goes_on = threading.Event(), threading.Event()

    def take(self, *arguments: Any) -> Any:
        self.reached.set()
        assert self.goes_on.wait(60)
        return self._step(*arguments)


@pytest.mark.parametrize(("where", "name"), [(module, "_spec"), (Registry, "add")])
async def test_one_that_is_being_opened_meanwhile_is_there_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: Any, name: str
) -> None:
    sessions = sessions_in(tmp_path)
    first = await sessions.open("ann", SessionRequest(), None)
    await info(first)
    held = Held(getattr(where, name))
    monkeypatch.setattr(where, name, lambda *arguments: held.take(*arguments))
    opening = asyncio.create_task(sessions.open("ann", SessionRequest(), None))
    assert await asyncio.to_thread(held.reached.wait, 60)
    before = run_of(sessions)
    await end_driver(before)
    assert (await info(await sessions.place("ann", first.session_id))).id == first.session_id
    held.goes_on.set()
    async with asyncio.timeout(60):
        placed = await opening
    assert (await info(placed)).id == placed.session_id
    run = run_of(sessions)
    assert run is not before and run._commits is not None
    assert run._commits.dispatcher.in_flight == 2
    await sessions.close()


async def test_one_caller_leaves_sessions_for_others_and_each_sees_its_own(tmp_path: Path) -> None:
    sessions = sessions_in(tmp_path, max_sessions=3, caller_share=0.5)
    opened = [await sessions.open("ann", SessionRequest(seed=seed), None) for seed in range(2)]
    with pytest.raises(module.Refused, match="2 sessions of yours are open, and 2 may be"):
        await sessions.open("ann", SessionRequest(), None)
    other = await sessions.open("bob", SessionRequest(), None)
    with pytest.raises(module.Refused, match="3 sessions are open"):
        await sessions.open("bob", SessionRequest(), None)
    await info(opened[0])
    assert opened[0].worker is not None
    await opened[0].worker.call_session.remote("score", opened[0].session_id, "end")
    async with asyncio.timeout(30):
        assert (await sessions.wait_until_committed("ann", opened[0].session_id, 30)).worker is None
    page = sessions.list_page("ann", None, 1)
    rest = sessions.list_page("ann", page.next, 1)
    assert rest.next is None
    assert [(one.id, one.state) for one in (*page.sessions, *rest.sessions)] == [
        (opened[1].session_id, "open"),
        (opened[0].session_id, "committed"),
    ]
    assert [one.id for one in sessions.list_page("bob", None, 9).sessions] == [other.session_id]
    assert len({one.created_at for one in (*page.sessions, *rest.sessions)}) == 2
    await sessions.open("ann", SessionRequest(seed=2), None)
    await sessions.close()


async def test_an_episode_is_there_once_it_is_committed_and_until_then_says_when_to_come_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_router, "COMMIT_S", 0.1)
    service = Service(
        setup(tmp_path, {}, roll_rows=2, roll_s=3600)
    )  # the second episode brings the commit, and nothing else does
    await service.start()
    app = FastAPI()
    errors.register(app)
    app.include_router(session_routes(session_router.SessionRouter(asked(service)), lambda: "ann", lambda *_: "a key"))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost", timeout=60) as http:
        first, second = [(await http.post("/v1/sessions", json={})).json()["id"] for _ in range(2)]
        assert (await http.post(f"/v1/sessions/{first}/score")).status_code == 200
        for _ in range(2):
            early = await http.get(f"/v1/sessions/{first}/episode")
            assert (early.status_code, early.json()["error"]["code"]) == (409, "not_committed")
            assert early.headers["Retry-After"] == "1"
        assert (await http.post(f"/v1/sessions/{second}/score")).status_code == 200
        assert (await service.wait_until_committed("ann", first, 30)).worker is None
        for session_id in (first, second):
            row = await http.get(f"/v1/sessions/{session_id}/episode")
            assert row.status_code == 200 and row.json()["episode_id"] == session_id
    await service.close()


async def test_one_that_cannot_be_recorded_is_not_played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = sessions_in(tmp_path)
    await info(await sessions.open("ann", SessionRequest(), None))

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(Registry, "add", full)
        with pytest.raises(module.Refused, match="can't be recorded now: No space left on device"):
            await sessions.open("ann", SessionRequest(), "a key")
    run = run_of(sessions)
    assert sessions.counts() == {"sessions.open": 1}
    assert run._commits is not None and run._commits.dispatcher.in_flight == 1
    assert run.plan.config.groups == GroupsSection(), "a session that fails is not played again without its caller"
    await info(await sessions.open("ann", SessionRequest(), "a key"))
    await sessions.close()


async def test_an_error_that_nobody_foresaw_ends_no_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sessions = sessions_in(tmp_path)
    ended, going_on = [await sessions.open("ann", SessionRequest(), None) for _ in range(2)]
    await info(going_on)
    run = run_of(sessions)

    def broken(*_: Any) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(Registry, "remove", broken)
        assert ended.worker is not None and run._driving is not None
        await ended.worker.call_session.remote("close", ended.session_id)
        await asyncio.wait({run._driving}, timeout=60)
    assert not run.is_up
    assert (await info(await sessions.place("ann", going_on.session_id))).score is None
    assert "sessions of tic_tac_toe: OSError: [Errno 5] Input/output error" in caplog.text
    assert (await sessions.place("ann", ended.session_id)).worker is None, "it is committed"
    await sessions.close()


def run_of(sessions: Sessions) -> SessionRun:
    return sessions._runs["tic_tac_toe"]


async def end_driver(run: SessionRun) -> None:
    run._stopping.set()
    assert run._driving is not None
    await asyncio.wait({run._driving}, timeout=60)
