"""Checks sessions that end their workers, over HTTP: they are found and say why they failed, and those beside them
continue.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import eventually
from served import Served

from ray_gym.client import Client, ServiceError, Session
from ray_gym.service.api import SessionRequest

pytestmark = [pytest.mark.ray, pytest.mark.chaos]

OFFER = "minefield"


@pytest.fixture
def client(service: Served) -> Iterator[Client]:
    with service.client() as client:
        yield client


def opened(client: Client, notes: Path, **task: Any) -> Session:
    return client.open_session(SessionRequest(environment=OFFER, task={"notes": str(notes), **task}))


def step(session: Session, on: str) -> str:
    return session.call_tool("step", {"on": on}).content


def noted(notes: Path, what: str) -> int:
    return len(list(notes.glob(f"{what}-*")))


def test_who_ends_its_workers_is_charged_and_who_was_beside_it_goes_on(
    service: Served, client: Client, tmp_path: Path
) -> None:
    resting, busy, deadly = (opened(client, tmp_path) for _ in range(3))
    assert step(resting, "grass") == "1 steps"
    said: list[str] = []
    walker = threading.Thread(target=lambda: said.append(step(busy, "bog")))
    walker.start()
    eventually(lambda: noted(tmp_path, "bog"), 30)

    def let_go() -> None:
        eventually(lambda: noted(tmp_path, "mine") == 3, 90)
        (tmp_path / "let go").touch()

    helper = threading.Thread(target=let_go)
    helper.start()
    with pytest.raises(
        ServiceError, match=r"[34] workers died in a row while its command 1 was carried out"
    ) as refused:
        step(deadly, "mine")  # three, where the other one's step had not begun again at the third
    assert (refused.value.status, refused.value.code) == (409, "episode_is_over")
    helper.join()
    walker.join()
    assert said == ["1 steps"] and f"{noted(tmp_path, 'mine')} workers" in str(refused.value)
    assert step(resting, "grass") == "2 steps" and step(busy, "grass") == "2 steps"
    score = deadly.score().score
    assert score is not None and score.status == "failed" and score.failure is not None
    row = service.row(OFFER, deadly.opened.id)
    assert (row["status"], row["failure"]["kind"], row["failure"]["where"]) == ("failed", "environment", "worker")
    assert resting.score().score.reward == busy.score().score.reward == 2  # type: ignore[union-attr]
    assert service.row(OFFER, resting.opened.id)["status"] == "completed"


def test_a_session_whose_setup_ends_its_workers_is_charged(service: Served, client: Client, tmp_path: Path) -> None:
    fine = opened(client, tmp_path)
    deadly = opened(client, tmp_path, mined_start=True)
    assert noted(tmp_path, "start") == 3
    failure = deadly.info().score.failure  # type: ignore[union-attr]
    assert failure is not None and "3 workers died in a row while its setup was carried out" in failure["message"]
    service.row(OFFER, deadly.opened.id)
    for committed_only in (False, True):
        with pytest.raises(ServiceError, match="3 workers died in a row while its setup was carried out") as refused:
            step(deadly, "grass")
        assert (refused.value.status, refused.value.code) == (409, "episode_is_over")
        if not committed_only:
            service.kill_workers()
    step(fine, "grass")
    assert fine.score().score.reward == 1  # type: ignore[union-attr]
