"""Workers that are up before there is a plan."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import ray
from conftest import REPOSITORY, eventually, ray_gym, raylet_children
from ray import cloudpickle
from test_worker import Connected, setup_of

from ray_gym.config.file import read_config
from ray_gym.errors import UserError
from ray_gym.run.cluster import early_workers

SCRIPTED = REPOSITORY / "configs" / "tic_tac_toe_scripted.yaml"


async def test_it_greets_once_it_is_open(tmp_path: Path) -> None:
    early = early_workers.Worker("no_such_environment", ["no_such_engine"])
    hello = asyncio.create_task(early.hello())
    await asyncio.sleep(0)
    assert not hello.done()
    early.open(cloudpickle.dumps(("w", setup_of(tmp_path, Connected(), {}, 1), 1)))
    assert (await hello).file == "hello-w"
    await early.close()


class Refusing:
    def connect(self) -> None:
        raise UserError("models.narrow: not here")


async def test_code_that_it_cannot_import_is_told_when_it_greets() -> None:
    early = early_workers.Worker("tic_tac_toe", ["scripted"])
    early.open(b"cno_such_module\nThing\n.")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        await early.hello()


async def test_what_hinders_it_is_told_when_it_greets(tmp_path: Path) -> None:
    early = early_workers.Worker("tic_tac_toe", ["scripted"])
    early.open(cloudpickle.dumps(("w", setup_of(tmp_path, Connected(), {"narrow": Refusing()}, 1), 1)))
    with pytest.raises(UserError, match="not here"):
        await early.hello()


class Reference:
    """Stands for Ray's, of a call that is over when `is_over` is set."""

    def __init__(self, is_over: Future[None]) -> None:
        self.future = lambda: is_over


@pytest.mark.parametrize("ends_well", [True, False])
async def test_others_are_made_once_those_are_up_or_gone(ends_well: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    async def make_worker(*_: Any) -> str:
        return "made as always"

    monkeypatch.setattr(early_workers, "make_worker", make_worker)
    is_open: Future[None] = Future()
    first = SimpleNamespace(open=SimpleNamespace(remote=lambda _: Reference(is_open)))
    early = early_workers.EarlyWorkers([first], "here")
    setup: Any = None
    here = SimpleNamespace(node_id="here")
    assert await early.make("elsewhere", setup, 1, SimpleNamespace(node_id="there")) == "made as always"
    assert await early.make("0", setup, 1, here) is first
    others = [asyncio.create_task(early.make(name, setup, 1, here)) for name in "12"]
    await asyncio.sleep(0.01)
    assert not any(other.done() for other in others)
    is_open.set_result(None) if ends_well else is_open.set_exception(ConnectionError())
    assert await asyncio.gather(*others) == ["made as always"] * 2


def test_without_a_cluster_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "local")
    with early_workers.start_early_workers(read_config(SCRIPTED, [])):
        assert not ray.is_initialized()


def test_a_submitted_job_joins_once_all_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")  # where nothing is to be joined
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}")
    with early_workers.start_early_workers(read_config(SCRIPTED, [])):
        assert not ray.is_initialized()


def test_an_address_that_is_none_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "nowhere")
    with pytest.raises(UserError, match="RAY_ADDRESS"), early_workers.start_early_workers(read_config(SCRIPTED, [])):
        pass


@pytest.mark.ray
def test_a_config_that_is_wrong_leaves_none_of_them(cluster: dict[str, str], tmp_path: Path) -> None:
    wrong = ["tasks.generate=null", "tasks.path=nowhere.jsonl"]
    done = ray_gym("rollout", str(SCRIPTED), f"output.dir={tmp_path}", *wrong, environment=cluster)
    assert done.returncode == 2 and "nowhere.jsonl" in done.stderr and "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())
    eventually(lambda: not raylet_children(cluster, "Worker"), 10)
