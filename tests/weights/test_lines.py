"""Checks lines of adapters on one model: each has versions of its own, and no update of one touches another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
import pytest_asyncio
from replica_double import SOON, Model

from ray_gym.errors import UserError
from ray_gym.weights import fleet
from ray_gym.weights.checkpoint import Checkpoint, Folder, StateDict, Transferred
from ray_gym.weights.lines import ServedLines
from ray_gym.weights.record import decode, encode
from ray_gym.weights.update import UpdateFailed

FIRST = Checkpoint(0, None)
QUICK = replace(SOON, load_s=0.3)


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "LOOK_S", 0.02)


@pytest_asyncio.fixture
async def model() -> AsyncIterator[Model]:
    model = Model(3)
    for line in ("policy", "user"):
        model.served = model.served.having_line(line)
    await model.joined()
    yield model
    await model.close()


def adapter(folder: str) -> Folder:
    return Folder(folder, adapter=True)


async def update(model: Model, line: str, version: int, folder: str) -> None:
    source = adapter(folder) if line else Folder(folder)
    await model.update(model.served.next(line, version, source), QUICK)


async def test_each_line_has_versions_of_its_own(model: Model) -> None:
    assert [model.served.of(line).version for line in ("policy", "user")] == [0, 0]
    await update(model, "policy", 7, "/p7")
    await update(model, "user", 1, "/u1")
    await update(model, "user", 2, "/u2")
    assert model.served.versions == {"": 0, "policy": 7, "user": 2} and model.serving() == {0}
    assert model.serving_on("policy") == {7} and model.serving_on("user") == {2}
    for host in model.hosts.values():
        assert host.done[:3] == ["check policy7", "load policy7", "confirm policy7"] and "pause" not in host.done
        assert host.served.of("policy") == Checkpoint(7, adapter("/p7"), FIRST, "policy")
    with pytest.raises(UserError, match="version: 2 is not greater than 2, which the line user serves"):
        model.served.next("user", 2, adapter("/u3"))


async def test_a_line_that_fails_goes_back_to_what_it_had_and_the_other_stays(model: Model) -> None:
    await update(model, "policy", 1, "/p1")
    model.hosts["replica-1"].faults["load user1"] = "a wrong rank"
    with pytest.raises(UpdateFailed, match=r"a wrong rank. version 0 of user serves on all replicas again"):
        await update(model, "user", 1, "/u1")
    assert model.serving_on("user") == {0} and model.serving_on("policy") == {1}
    await update(model, "user", 1, "/better")
    model.hosts["replica-2"].faults["confirm user2"] = "it is not there"
    with pytest.raises(UpdateFailed, match="version 1 of user serves on all replicas again"):
        await update(model, "user", 2, "/u2")
    assert {host.served.of("user").source for host in model.hosts.values()} == {adapter("/better")}
    assert all(host.alive for host in model.hosts.values()) and model.serving_on("policy") == {1}


async def test_other_weights_below_take_the_adapters_of_all_lines_and_have_the_greatest_version(model: Model) -> None:
    await update(model, "policy", 3, "/p3")
    await update(model, "user", 6, "/u6")
    with pytest.raises(UserError, match="version: 5 is not greater than 6, which the line user serves"):
        model.served.next("", 5, Folder("/below"))
    await update(model, "", 7, "/below")
    assert model.served.versions == {"": 7} and model.serving() == {7}
    assert model.serving_on("policy") == model.serving_on("user") == {7}, "a line without an adapter is what is below"
    await update(model, "user", 8, "/u8")
    assert model.served.of("user").base == Checkpoint(7, Folder("/below"))


async def test_weights_below_that_can_not_be_loaded_give_all_lines_back(model: Model) -> None:
    await update(model, "policy", 3, "/p3")
    await update(model, "user", 6, "/u6")
    model.hosts["replica-1"].faults["load 7"] = "no memory"
    with pytest.raises(UpdateFailed, match="killed, to be started again with it: replica-1"):
        await update(model, "", 7, "/below")
    assert model.served.versions == {"": 0, "policy": 3, "user": 6}
    assert model.serving() == {0} and model.serving_on("policy") == {3} and model.serving_on("user") == {6}
    model.start("replica-1")  # as Serve does
    await asyncio.wait_for(model.followers["replica-1"].check_health(), 5)
    assert model.serving_on("policy") == {3} and model.serving_on("user") == {6}


async def test_a_replica_that_starts_later_loads_what_is_below_and_then_every_line(model: Model) -> None:
    await update(model, "", 1, "/below")
    await update(model, "policy", 2, "/p2")
    await update(model, "user", 3, "/u3")
    model.start("late")
    await asyncio.wait_for(model.followers["late"].check_health(), 5)
    late = model.hosts["late"]
    assert [done for done in late.done if done.startswith("load")] == ["load 1", "load policy2", "load user3"]
    assert late.done[0] == "pause" and late.done[-1] == "resume" and late.served.versions == model.served.versions


async def test_one_that_lost_the_holder_in_the_middle_of_a_line_s_update_is_told_what_serves(model: Model) -> None:
    """The holder ends after a replica has loaded an adapter and before it has committed: nobody else has it."""
    await update(model, "policy", 1, "/p1")
    host = model.hosts["replica-0"]
    await host.load(model.served.next("user", 1, adapter("/u1")))
    model.fleet.drop("replica-0")
    await asyncio.wait_for(_has_joined(model, "replica-0"), 5)
    assert host.served.versions == {"": 0, "policy": 1} and not host.paused


async def _has_joined(model: Model, name: str) -> None:
    await model.followers[name].close()
    model.followers[name] = type(model.followers[name])(model.hosts[name], lambda report: model._next(name, report))
    await model.followers[name].check_health()


def test_what_a_line_does_not_take_is_refused_by_name() -> None:
    served = ServedLines(FIRST).having_line("user")
    for source in (Folder("/whole"), StateDict((None,), "x")):
        with pytest.raises(UserError, match=f"the line user takes adapters only, and {source} is none"):
            served.next("user", 1, source)
    with pytest.raises(UserError, match="the model has no line 'usr'; it has user"):
        served.next("usr", 1, adapter("/u1"))
    with pytest.raises(UserError, match="the model has no line 'user'; it has none"):
        ServedLines(FIRST).next("user", 1, adapter("/u1"))


def test_an_adapter_of_the_model_s_own_is_no_line_and_is_dropped_with_them() -> None:
    served = ServedLines(FIRST).having_line("user")
    own = served.having(served.next("", 4, adapter("/own")))
    both = own.having(own.next("user", 2, adapter("/u2")))
    assert both.versions == {"": 4, "user": 2} and both.of("user").base == FIRST == both.own.whole
    assert both.having(both.next("", 5, Folder("/below"))).versions == {"": 5}


def test_adapters_for_weights_that_were_transferred_are_not_loadable() -> None:
    moved = ServedLines(FIRST).having_line("user").having(Checkpoint(4, Transferred(FIRST)))
    trained = moved.having(moved.next("user", 5, adapter("/u5")))
    assert trained.versions == {"": 4, "user": 5} and trained.loadable.versions == {"": 0}
    assert ServedLines(FIRST).having_line("user").loadable.lines.keys() == {"user"}


def test_the_record_keeps_lines_with_and_without_adapters() -> None:
    served = ServedLines(FIRST).having_line("user").having_line("policy")
    served = served.having(served.next("policy", 2, adapter("/p2")))
    assert decode(encode(served)) == served
