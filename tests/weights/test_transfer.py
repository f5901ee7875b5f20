"""Weights by vLLM's transfer: each replica gets its own arguments, and what fails in the middle never serves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from unittest.mock import create_autospec

import pytest
import pytest_asyncio
from replica_double import SOON, Model
from vllm.distributed.weight_transfer.base import VLLMWeightSyncClient
from vllm.distributed.weight_transfer.nccl_common import NCCLWeightTransferInitInfo
from vllm.distributed.weight_transfer.nccl_engine import NCCLWeightTransferUpdateInfo
from vllm.v1.engine.async_llm import AsyncLLM

from ray_gym.deployments.vllm.transfer import carry_out
from ray_gym.errors import UserError
from ray_gym.weights import fleet
from ray_gym.weights.checkpoint import Checkpoint, Folder, Transferred, next_checkpoint
from ray_gym.weights.orders import Transfer
from ray_gym.weights.record import decode, encode
from ray_gym.weights.transfer import Transfers, tasks_of
from ray_gym.weights.transfer_client import TransferClient
from ray_gym.weights.update import UpdateFailed

INIT = {"master_address": "10.0.0.1", "master_port": 1234, "rank_offset": 2, "world_size": 8}
QUICK = replace(SOON, load_s=0.3)


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "LOOK_S", 0.02)


@pytest_asyncio.fixture
async def model() -> AsyncIterator[Model]:
    model = Model(3)
    await model.joined()
    yield model
    await model.close()


def transfers(model: Model) -> Transfers:
    return Transfers(model.fleet, 2, model.changing, lambda: model.served, model._commit)


def infos(step: Any, info: Any) -> list[Any]:
    return [task.info for task in tasks_of(Transfer(step, info), ["a", "b", "c"], 2).values()]  # type: ignore[union-attr]


def test_every_replica_has_ranks_of_its_own_in_the_group() -> None:
    made = infos("init", INIT)
    assert [info["rank_offset"] for info in made] == [2, 4, 6]
    for info in made:
        taken = NCCLWeightTransferInitInfo(**info)  # the installed vLLM's
        assert (taken.world_size, taken.master_port) == (8, 1234)


def test_a_group_that_does_not_add_up_is_refused() -> None:
    with pytest.raises(UserError, match="world_size: 7, but 2 ranks of the trainer and 3 replicas with 2 each are 8"):
        infos("init", {**INIT, "world_size": 7})
    with pytest.raises(UserError, match="update_info: 5 entries, but 3 replicas have 2 processes each"):
        infos("update", [{}] * 5)


def test_what_is_for_all_goes_to_all_and_lists_are_cut_by_process() -> None:
    update = {"names": ["a"], "dtype_names": ["float32"], "shapes": [[1]]}
    assert infos("update", update) == [update] * 3 and NCCLWeightTransferUpdateInfo(**update)
    assert infos("update", [0, 1, 2, 3, 4, 5]) == [[0, 1], [2, 3], [4, 5]]
    assert infos("init", {"packed": True}) == [{"packed": True}] * 3  # CUDA IPC has no ranks


async def test_each_step_is_a_call_that_the_installed_engine_has() -> None:
    """Its backends can't run here; the double has the engine's methods and their arguments."""
    engine = create_autospec(AsyncLLM, instance=True)
    update = {"names": ["a"], "dtype_names": ["float32"], "shapes": [[1]]}
    for task in (Transfer("init", INIT), Transfer("start"), Transfer("update", update), Transfer("finish", version=7)):
        await carry_out(engine, task)
    assert engine.init_weight_transfer_engine.await_args.args[0].init_info == INIT
    engine.start_weight_update.assert_awaited_once_with()
    assert engine.update_weights.await_args.args[0].update_info == update
    engine.finish_weight_update.assert_awaited_once_with("7")


def test_the_client_is_what_vllm_drives() -> None:
    assert issubclass(TransferClient, VLLMWeightSyncClient)


async def test_a_transfer_pauses_serves_its_version_and_resumes(model: Model) -> None:
    moving = transfers(model)
    await moving.init(INIT, SOON)
    await moving.start(4, SOON)
    assert all(host.paused for host in model.hosts.values())
    await moving.update({}, SOON)
    assert await moving.finish(SOON) == 4
    assert model.serving() == {4} and model.current == Checkpoint(4, Transferred(Checkpoint(0, None)))
    assert decode(encode(model.served)) == model.served
    await moving.start(5, SOON)  # the group stays
    assert await moving.finish(SOON) == 5
    assert model.current.loadable == Checkpoint(0, None), "what a replica that starts loads"


@pytest.mark.parametrize("step", ["start", "update", "finish"])
@pytest.mark.parametrize("fault", ["no memory", "hang", "die"])
async def test_a_transfer_that_fails_costs_the_replicas(model: Model, step: str, fault: str) -> None:
    moving = transfers(model)
    await moving.init(INIT, QUICK)
    model.hosts["replica-1"].faults[f"transfer {step}"] = fault
    with pytest.raises(UpdateFailed, match="started again with version 0, which came from a folder last"):
        await moving.start(4, QUICK)
        await moving.update({}, QUICK)
        await moving.finish(QUICK)
    assert not any(host.alive for host in model.hosts.values()) and model.current == Checkpoint(0, None)
    with pytest.raises(UserError, match="no transfer is under way"):
        await moving.finish(QUICK)
    model.start("again")  # as Serve does
    await asyncio.wait_for(model.followers["again"].check_health(), 5)
    assert model.serving() == {0}
    await model.update(next_checkpoint(model.current, 4, Folder("/new")))
    assert model.serving() == {4}


async def transferred(model: Model, version: int) -> Transfers:
    moving = transfers(model)
    await moving.init(INIT, QUICK)
    await moving.start(version, QUICK)
    await moving.finish(QUICK)
    return moving


async def test_what_was_transferred_is_lost_with_the_transfer_after_it_and_is_current_no_more(model: Model) -> None:
    moving = await transferred(model, 4)
    model.hosts["replica-1"].faults["transfer finish"] = "no memory"
    with pytest.raises(UpdateFailed, match="started again with version 0, which came from a folder last"):
        await moving.start(5, QUICK)
        await moving.finish(QUICK)
    assert model.current == Checkpoint(0, None) and not model.changing.locked()


async def test_an_update_that_fails_after_a_transfer_goes_back_to_what_came_from_a_folder(model: Model) -> None:
    await transferred(model, 4)
    model.hosts["replica-1"].faults["load 5"] = "no memory"
    with pytest.raises(
        UpdateFailed, match=r"version 0 serves \(version 4 was transferred, and is in no folder\); killed"
    ):
        await model.update(next_checkpoint(model.current, 5, Folder("/new")), QUICK)
    assert model.current == Checkpoint(0, None) and model.serving() == {0}
    assert [host.alive for host in model.hosts.values()] == [True, False, True]


async def test_an_update_that_was_never_begun_leaves_what_was_transferred(model: Model) -> None:
    await transferred(model, 4)
    model.hosts["replica-1"].faults["pause"] = "no memory"
    with pytest.raises(UpdateFailed, match="version 4 serves on all replicas again"):
        await model.update(next_checkpoint(model.current, 5, Folder("/new")), QUICK)
    assert model.current.version == 4 and model.serving() == {4}


async def test_a_replica_that_starts_can_load_something_also_when_an_adapter_is_on_what_was_transferred(
    model: Model,
) -> None:
    await transferred(model, 4)
    await model.update(next_checkpoint(model.current, 5, Folder("/adapter", adapter=True)))
    assert model.serving() == {5} and model.current.loadable == Checkpoint(0, None)
    model.start("late")
    await asyncio.wait_for(model.followers["late"].check_health(), 5)
    assert model.serving() == {0, 5}


async def test_a_trainer_that_dies_in_between_does_not_leave_the_model_paused(model: Model) -> None:
    moving = transfers(model)
    await moving.init(INIT, SOON)
    await moving.start(4, replace(SOON, pause_s=0.1, load_s=0.1, confirm_s=0.1))
    await asyncio.wait_for(model.changing.acquire(), 5)
    assert not any(host.alive for host in model.hosts.values())
    model.changing.release()


async def test_replicas_that_are_not_the_group_s_need_another_init(model: Model) -> None:
    moving = transfers(model)
    with pytest.raises(UserError, match="call it again"):
        await moving.start(4, SOON)
    await moving.init(INIT, SOON)
    model.start("late")
    await model.joined()
    with pytest.raises(UserError, match="call it again"):
        await moving.start(4, SOON)
    await moving.init({**INIT, "world_size": 10}, SOON)
    with pytest.raises(UserError, match="version: 0 is not greater"):
        await moving.start(0, SOON)
    await moving.start(4, SOON)
    assert await moving.finish(SOON) == 4 and model.serving() == {4}
