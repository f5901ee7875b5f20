"""Checks when a run is given up because its first episodes fail by the environment's own code, and when it is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ray_gym.episode.spec import EpisodeSpec
from ray_gym.run.directory.receipt import Receipt
from ray_gym.run.driver.first_tries import FIRST_ENDED, FIRST_FAILED, FIRST_STUCK, FirstTries
from ray_gym.run.driver.tally import Tally
from ray_gym.run.lease import EpisodeKey, Lease, LeaseGroup

BY_CODE = "environment in Mine.score (mine.py:3): KeyError: 'x'"


def groups(count: int, size: int = 1) -> list[LeaseGroup]:
    """Makes the leases of `count` episodes of groups of `size`."""
    leases = [Lease(EpisodeSpec(f"e{n}", f"g{n // size}", "t", n % size, 0, "{}")) for n in range(count)]
    return [tuple(leases[at : at + size]) for at in range(0, count, size)]


def receipt(number: int, failure: str | None = BY_CODE) -> Receipt:
    status, reward = ("failed", None) if failure else ("completed", 1.0)
    return Receipt(EpisodeKey(f"e{number}", 0), status, status, "", failure, reward, 10, 3, 2)


def tally_of(begun: list[LeaseGroup], failures: dict[int, str | None], tasks: float = 100) -> Tally:
    """Counts episodes that were begun, of which those with a number in `failures` are over."""
    tally = Tally(200)
    tally.first_tries.tasks = tasks
    tally.first_tries.begin(begun)
    for number, failure in failures.items():
        tally.add(receipt(number, failure))
    return tally


@pytest.mark.parametrize(
    ("failures", "hopeless"),
    [
        ([BY_CODE] * FIRST_FAILED, True),
        ([BY_CODE] * (FIRST_FAILED - 1), False),
        ([BY_CODE] * FIRST_FAILED + [None], False),
        (["infra in model x: HTTP 503"] * 30, False),
        (["user in user: it said nothing"] * 30, False),
        ([BY_CODE] * FIRST_FAILED + ["user in user: it said nothing"], False),
    ],
)
def test_a_run_is_hopeless_when_all_its_first_episodes_fail_by_code(failures: list[str | None], hopeless: bool) -> None:
    assert tally_of(groups(64), dict(enumerate(failures))).is_hopeless is hopeless


@pytest.mark.parametrize("every", [2, 4, 12])
def test_those_that_end_first_are_not_the_first(every: int) -> None:
    """Bad tasks fail at once, while the good ones wait for their models."""
    tally = tally_of(groups(256), dict.fromkeys(range(0, 256, every), BY_CODE))
    assert tally.finished >= FIRST_FAILED and not tally.is_hopeless


def test_the_repeats_of_one_task_do_not_show_what_becomes_of_others() -> None:
    tally = tally_of(groups(64, size=16), dict.fromkeys(range(48), BY_CODE))
    assert not tally.is_hopeless
    for number in range(48, 64):
        tally.add(receipt(number))
    assert tally.is_hopeless, "of all four tasks that were begun"
    assert tally_of(groups(32, size=16), dict.fromkeys(range(32), BY_CODE), tasks=2).is_hopeless, "there are no more"


def test_a_row_that_is_lost_with_its_worker_has_not_failed() -> None:
    tally = tally_of(groups(16), dict.fromkeys(range(16), BY_CODE))
    tally.add(receipt(3), sign=-1)
    assert not tally.is_hopeless
    tally.add(receipt(3))
    assert tally.is_hopeless


def charged(losses: list[int | tuple[int, int]], is_stuck: bool, of: int = 100, size: int = 1) -> Tally:
    """Counts losses in a run of `of` tasks that has begun its first eight, each of which a sample of a task is charged with:
    its number of (task, sample).
    """
    tally = tally_of(groups(min(of, 8) * size, size), {}, tasks=of)
    for loss in losses:
        charge(tally, loss, is_stuck, size=size)
    return tally


def charge(tally: Tally, loss: int | tuple[int, int], is_stuck: bool = True, held: int = 0, size: int = 1) -> None:
    """Counts a loss. The worker held the first episodes, too, up to the number `held`."""
    task, sample = loss if isinstance(loss, tuple) else (loss, 0)
    lease = Lease(EpisodeSpec(f"e{task * size + sample}", f"g{task}", "t", sample, 0, "{}"))
    ids = [*(f"e{number}" for number in range(held)), lease.spec.episode_id]
    tally.first_tries.lose(ids, [lease], is_stuck)


def test_the_first_three_that_blocked_their_workers_are_enough() -> None:
    assert not charged([0, 1], is_stuck=True).is_hopeless
    tally = charged([2, 0, 1], is_stuck=True)
    assert tally.is_hopeless and tally.first_tries.losses == FIRST_STUCK
    tally.add(receipt(9, failure=None))
    assert not tally.is_hopeless, "another came through"


@pytest.mark.parametrize("is_stuck", [True, False])
def test_those_that_end_their_workers_first_are_not_the_first(is_stuck: bool) -> None:
    """They do so at once, on workers of their own, while the good ones wait for their models."""
    tally = charged([3, 5, 6, 7, 0, 2], is_stuck)
    assert not tally.is_hopeless, "task 1 may come through"
    for task in (1, 4):
        charge(tally, task, is_stuck)
    assert tally.is_hopeless


@pytest.mark.parametrize(("is_stuck", "enough"), [(True, FIRST_STUCK), (False, FIRST_ENDED)])
def test_those_that_were_lost_by_anothers_doing_have_shown_nothing(is_stuck: bool, enough: int) -> None:
    """All were on one worker. Then they are tried one at a time, from both ends."""
    tally = tally_of(groups(8), {})
    tried = [0, 7, 1, 6, 2]
    for count, task in enumerate(tried, 1):
        charge(tally, task, is_stuck, held=8 if count == 1 else 0)
        assert tally.is_hopeless is (count >= enough)
        tally.first_tries.begin(groups(8)[tried[count] : tried[count] + 1] if count < len(tried) else [])


def test_an_episode_that_plays_on_is_one_of_the_first() -> None:
    tally = tally_of(groups(8), {})
    for task in (7, 1, 6, 2, 3):
        charge(tally, task, is_stuck=False, held=0)
    assert not tally.is_hopeless, "task 0 may come through"
    tally.first_tries.lose(["e0", "e4", "e5"], [], is_stuck=False)
    assert tally.is_hopeless, "its worker is gone, too"


@pytest.mark.parametrize(("size", "few", "enough"), [(2, 1, 2), (3, 2, 3), (8, 2, 3), (16, 2, 3), (64, 7, 8)])
def test_a_few_samples_do_not_show_what_becomes_of_their_group(size: int, few: int, enough: int) -> None:
    def lost(samples: int, of: int = 100) -> Tally:
        tasks = range(min(of, FIRST_STUCK))
        return charged([(task, sample) for task in tasks for sample in range(samples)], is_stuck=True, of=of, size=size)

    assert not lost(few).is_hopeless and lost(enough).is_hopeless
    assert not lost(few, of=1).is_hopeless


def test_the_repeats_of_a_task_that_blocks_are_one_task() -> None:
    assert not charged([(0, sample) for sample in range(8)], is_stuck=True, size=8).is_hopeless
    assert charged([(0, sample) for sample in range(8)], is_stuck=True, of=1, size=8).is_hopeless


def test_five_that_ended_their_workers_are_enough() -> None:
    assert not charged([*range(FIRST_ENDED - 1)], is_stuck=False).is_hopeless
    assert charged([*range(FIRST_ENDED)], is_stuck=False).is_hopeless
    assert not charged([0] * FIRST_ENDED, is_stuck=False).is_hopeless
    mixed = charged([0, 1], is_stuck=True)
    for task in (2, 3, 4):
        charge(mixed, task, is_stuck=False)
    assert mixed.is_hopeless, "two of which were stuck"


@pytest.mark.parametrize("is_stuck", [True, False])
@pytest.mark.parametrize("left", [1, 2])
def test_a_run_of_fewer_tasks_plays_them_all(is_stuck: bool, left: int) -> None:
    assert not charged([*range(left)], is_stuck=is_stuck, of=left).is_hopeless


@pytest.mark.parametrize("is_stuck", [True, False])
def test_the_last_tasks_of_a_run_that_went_well_are_not_given_up(is_stuck: bool) -> None:
    """Otherwise it would stop each time that it is resumed for its few deadly episodes."""
    tally = Tally.of_resumed(200, [receipt(number, failure=None) for number in range(100, 110)])
    tally.first_tries.tasks = 8
    tally.first_tries.begin(groups(8))
    for task in range(8):
        charge(tally, task, is_stuck)
    assert not tally.is_hopeless
    tally.first_tries.begin(groups(16)[8:])
    for task in range(8, 16):
        charge(tally, task, is_stuck)
    assert tally.is_hopeless, "the code was changed since"


def test_nothing_is_hopeless_before_anything_was_tried() -> None:
    assert not FirstTries().are_hopeless and not FirstTries(tasks=1).are_hopeless


def test_what_earlier_losses_are_charged_to_shows_nothing_of_code_that_was_mended() -> None:
    tally = tally_of([tuple(replace(one, charged="it blocked") for one in group) for group in groups(16)], {})
    for number in range(16):
        tally.add(receipt(number))
    assert not tally.is_hopeless
    tally.first_tries.begin(groups(32)[16:])
    assert not tally.is_hopeless
