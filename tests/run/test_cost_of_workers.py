"""Plays two workers without a cluster, at an endpoint that charges for every request, under one budget."""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from paying import CALLS, Till, config_at, open_till

from ray_gym.config.sections import RunConfig
from ray_gym.errors import UserError
from ray_gym.models.price import money_in, picos_in
from ray_gym.run.directory.directory import RunDirectory, create
from ray_gym.run.directory.posix_storage import PosixStorage
from ray_gym.run.directory.receipt import Receipt
from ray_gym.run.driver.carrying_out import setup_of
from ray_gym.run.driver.grants import SPENT, Grants
from ray_gym.run.lease import EpisodeKey, Lease
from ray_gym.run.plan import Plan, make_plan
from ray_gym.run.worker.worker import Worker

MOST = 0.03
EPISODES = 24


def plan_at(till: Till, folder: Path, max_cost: float) -> Plan:
    config = {**config_at(till, folder, EPISODES), "limits": {"max_cost": max_cost}}
    return make_plan(RunConfig.model_validate(config), folder / "paid.yaml")


def made_directory(folder: Path) -> RunDirectory:
    directory = RunDirectory(PosixStorage.of(folder / "run"))
    create(directory)
    return directory


async def work(worker: Worker, name: str, grants: Grants, leases: list[Lease]) -> set[EpisodeKey]:
    """Does what a driver does for a worker, until its episodes are over or the budget is used up."""
    over: set[EpisodeKey] = set()
    waiting = [(lease,) for lease in leases]
    while len(over) < len(leases) and grants.failure is None:
        report = await worker.exchange(waiting, (), None, await grants.allot(name))
        waiting = []
        over |= set(report.over)
        assert report.funds is not None
        grants.take(name, report.funds)
        if grants.budget.charged:
            assert grants.budget.charged <= json.loads((grants.directory.path / SPENT).read_text())["picos"]
    return over


async def play(plan: Plan, directory: RunDirectory, grants: Grants, killed: Till | None = None) -> set[EpisodeKey]:
    """Plays all episodes on two workers. `killed`: they are given up when this till has got some requests, and account
    for nothing more.
    """
    setup = replace(setup_of(plan, directory), journal=None)
    workers = {name: Worker(name, setup, 8) for name in ("a", "b")}
    leases = [Lease(spec) for spec in plan.specs]
    shares = {"a": leases[::2], "b": leases[1::2]}
    for worker in workers.values():
        await worker.hello()
    working = asyncio.gather(*(work(worker, name, grants, shares[name]) for name, worker in workers.items()))
    if killed is not None:
        while len(killed.times) < 20:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        working.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await working
        over: set[EpisodeKey] = set()
    else:
        over = set().union(*await working)
    for name, worker in workers.items():
        last = await worker.cancel()
        if killed is None and last.funds is not None:
            grants.take(name, last.funds)
        grants.close(name)
    return over


async def test_two_workers_share_what_may_be_spent(tmp_path: Path) -> None:
    with open_till() as till:
        plan, directory = await asyncio.to_thread(plan_at, till, tmp_path, MOST), made_directory(tmp_path)
        grants = Grants.load(MOST, directory, ())
        over = await play(plan, directory, grants)
        assert 0 < len(over) < EPISODES and till.most_at_once > 2
        assert 0.6 * picos_in(MOST) < till.charged <= picos_in(MOST)
        assert grants.budget.charged == till.charged, "nothing was in flight when it was used up"
        await grants.end()
        assert Grants.load(MOST, directory, ()).budget.charged == till.charged
        directory.close()


async def test_a_driver_counts_what_earlier_ones_may_have_spent(tmp_path: Path) -> None:
    with open_till() as till:
        plan, directory = await asyncio.to_thread(plan_at, till, tmp_path, MOST), made_directory(tmp_path)
        await play(plan, directory, Grants.load(MOST, directory, ()), killed=till)
        again = Grants.load(MOST, directory, ())
        assert till.charged > 0
        assert till.charged <= again.budget.charged <= picos_in(MOST)
        await play(plan, directory, again)
        assert till.charged <= again.budget.charged <= picos_in(MOST)
        directory.close()


async def test_enough_money_lets_all_episodes_end(tmp_path: Path) -> None:
    with open_till() as till:
        plan, directory = await asyncio.to_thread(plan_at, till, tmp_path, 10), made_directory(tmp_path)
        grants = Grants.load(10, directory, ())
        assert len(await play(plan, directory, grants)) == EPISODES and len(till.times) == EPISODES * CALLS
        assert grants.failure is None and grants.budget.charged == till.charged
        directory.close()


def test_a_run_without_a_limit_until_now_has_spent_what_its_rows_cost(tmp_path: Path) -> None:
    directory = made_directory(tmp_path)
    row = Receipt(EpisodeKey("e", 0), "completed", "finished", "", None, 1.0, 0, 0, 0, costs=(("m", 0.25), ("n", 0.5)))
    assert money_in(Grants.load(1, directory, [row, row]).budget.charged) == 1.5
    for kept, spent in ((1.0, 1.5), (2.0, 2.0)):  # of a time with a limit, and the rows are of one without it
        directory.write(SPENT, json.dumps({"picos": picos_in(kept)}))
        assert money_in(Grants.load(1, directory, [row, row]).budget.charged) == spent
    directory.close()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"picos": "many"}', '{"picos": null}'])
def test_a_damaged_account_is_named(tmp_path: Path, text: str) -> None:
    directory = made_directory(tmp_path)
    directory.write(SPENT, text)
    with pytest.raises(UserError, match=r"run/spent\.json: this file is damaged"):
        Grants.load(1, directory, ())
    directory.close()
