"""Checks that a replica for which Ray finds no place is told about while a run waits for it, and why."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from ray.serve.schema import ApplicationStatus

from ray_gym.errors import RunFailed
from ray_gym.hosting import application, room
from ray_gym.hosting.application import Application, DeploymentSpec

SERVE_SAYS = "has 1 replicas that have taken more than 30s to be scheduled. This may be due to waiting for ..."
WHY = (
    "Ray has no place for a replica, which asks for 2 CPUs (of the cluster's 3 CPUs 2 are free, on one node at most 1)"
    " and a node with zone=a"
)


@pytest.fixture(autouse=True)
def _cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has two nodes with a free CPU each, and a clock that goes by what is slept."""
    monkeypatch.setattr(room, "available_resources_per_node", lambda: {"a": {"CPU": 1.0}, "b": {"CPU": 1.0}})
    monkeypatch.setattr(room, "ray", SimpleNamespace(cluster_resources=lambda: {"CPU": 3.0}))
    clock = [0.0]
    monkeypatch.setattr(
        application,
        "time",
        SimpleNamespace(monotonic=lambda: clock[0], sleep=lambda seconds: clock.append(clock.pop() + 10)),
    )


def waited(monkeypatch: pytest.MonkeyPatch, messages: list[str], start_timeout_s: float = 900) -> list[str]:
    """Returns what is said while Serve gives these messages, one each 10 s, and then says that it is running."""
    statuses = [status_of("DEPLOYING", message) for message in messages] + [status_of("RUNNING", "")]
    states = iter(statuses)
    monkeypatch.setattr(application, "serve", SimpleNamespace(status=lambda: next(states)))
    said: list[str] = []
    spec = DeploymentSpec(
        replica_class=int,
        arguments=(),
        count=1,
        max_ongoing_requests=1,
        actor_options={"num_cpus": 2, "label_selector": {"zone": "a"}},
        start_timeout_s=start_timeout_s,
        replica_name="r",
        model_name="m",
        digest="",
    )
    Application()._wait_until_up("m", spec, said.append)
    return said


def status_of(status: str, message: str) -> Any:
    deployments = {"model": SimpleNamespace(message=message)}
    one = SimpleNamespace(status=ApplicationStatus(status), message="", deployments=deployments)
    return SimpleNamespace(applications={"": one})


def test_it_is_said_each_minute_that_a_replica_has_no_place(monkeypatch: pytest.MonkeyPatch) -> None:
    told = waited(monkeypatch, [""] * 3 + [SERVE_SAYS] * 8 + ["initializing"])
    assert told == [f"model m: not up after {seconds} s: {WHY}" for seconds in (30, 90)]


@pytest.mark.parametrize(("message", "why"), [("", WHY), (SERVE_SAYS, WHY), ("it loads", "it loads")])
def test_the_end_says_why(monkeypatch: pytest.MonkeyPatch, message: str, why: str) -> None:
    told = f"models.m: not up within start_timeout_s (20 s): {why}"
    with pytest.raises(RunFailed, match=f"^{re.escape(told)}$"):
        waited(monkeypatch, [message] * 9, start_timeout_s=20)


def test_what_a_placement_group_asks_for_is_the_sum_of_its_bundles() -> None:
    assert "asks for 2 GPUs (of the cluster's 0 GPUs 0 are free, " in room.no_place({}, [{"GPU": 1}, {"GPU": 1}])
