"""Checks where the next worker goes, and which workers move."""

from __future__ import annotations

from collections import Counter

from ray_gym.run.cluster.nodes import for_workers
from ray_gym.run.cluster.spread import DYING_S, Spread


def on(spread: Spread, nodes: str, workers: str, now: float = 0) -> str:
    return "".join(spread.choose(worker, nodes, now) or "?" for worker in workers)


def test_workers_go_where_the_fewest_are() -> None:
    spread = Spread()
    assert Counter(on(spread, "ABC", "123456")) == {"A": 2, "B": 2, "C": 2}
    assert on(spread, "", "7") == "?"


def test_a_node_that_lost_a_worker_is_the_last_choice_for_a_while() -> None:
    spread = Spread()
    on(spread, "ABC", "123456")
    spread.lose_worker("3", now=100)
    spread.lose_worker("6", now=100)
    assert on(spread, "ABC", "78", now=101) == "AB"
    assert on(spread, "C", "9", now=101) == "C", "it is better than none"
    assert on(spread, "ABC", "x", now=100 + DYING_S) == "C"


def test_workers_move_to_a_node_that_joined_until_it_has_its_share() -> None:
    spread = Spread()
    on(spread, "AB", "123456")
    assert not any(spread.should_move(worker, "AB", 0) for worker in "123456")
    moved = [worker for worker in "123456" if spread.should_move(worker, "ABC", 0)]
    assert len(moved) == 2 and all(spread.should_move(worker, "ABC", 0) for worker in moved), "it has not left yet"
    for worker, another in zip(moved, "78", strict=True):
        spread.release_worker(worker)
        assert on(spread, "ABC", another) == "C"
    assert not any(spread.should_move(worker, "ABC", 0) for worker in set("12345678") - set(moved))


def test_nobody_moves_to_a_node_that_may_be_dying() -> None:
    spread = Spread()
    on(spread, "AB", "1234")
    spread.lose_worker("2", now=0)
    spread.lose_worker("4", now=0)
    on(spread, "AB", "56", now=1)
    assert not any(spread.should_move(worker, "AB", 1) for worker in "1356")
    assert sum(spread.should_move(worker, "AB", DYING_S) for worker in "1356") == 2


def test_nodes_without_cpus_are_left_alone_if_there_are_others() -> None:
    head = {"NodeID": "head", "Alive": True, "Resources": {}}
    dead = {"NodeID": "dead", "Alive": False, "Resources": {"CPU": 8.0}}
    node = {"NodeID": "node", "Alive": True, "Resources": {"CPU": 1.0}}
    assert for_workers([head, dead, node]) == ["node"]
    assert for_workers([head, dead]) == ["head"]
