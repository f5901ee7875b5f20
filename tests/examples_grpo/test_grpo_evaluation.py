"""Checks how evaluations are compared, and how moves are counted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from examples.grpo.evaluation import bootstrap, compare
from examples.grpo.outcomes import outcomes_of
from ray_gym.record.schema import SCHEMA


def event(kind: str, participant: str = "policy", error: str | None = None) -> dict[str, Any]:
    return {"kind": kind, "thread": participant, "participant": participant, "error": error}


def episode(task: str, reward: float | None, *events: dict[str, Any]) -> dict[str, Any]:
    status = "failed" if reward is None else "completed"
    usage = {"generated_tokens": 7}
    return {"episode_id": f"e-{task}", "task_id": task, "status": status, "reward": reward} | {
        "events": list(events),
        "usage": usage,
    }


def table(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=SCHEMA)


def test_a_move_is_legal_if_the_policys_call_was_carried_out() -> None:
    said, done, refused = event("message"), event("tool_result"), event("tool_result", error="cell 3 is taken")
    theirs = [event("message", "user"), event("tool_result", "user")]
    found = outcomes_of(table(episode("a", 1.0, said, done, *theirs, said, refused, said), episode("b", None)))
    assert (found.messages, found.legal, found.failed, found.generated) == (3, 1, 1, 14)
    assert found.legal_share == pytest.approx(1 / 3) and found.reward == 1


def test_a_message_of_several_calls_is_one_message() -> None:
    said, done, refused = event("message"), event("tool_result"), event("tool_result", error="cell 3 is taken")
    found = outcomes_of(table(episode("a", 1.0, said, done, done, said, done, refused)))
    assert (found.messages, found.legal) == (2, 1)


def test_tasks_are_compared_one_by_one() -> None:
    before = table(episode("a", 0.0), episode("b", 1.0), episode("lost", None))
    after = table(episode("b", 1.0), episode("lost", 1.0), episode("a", 0.5))
    found = compare(before, after)
    assert (found.episodes, found.before, found.after, found.difference) == (2, 0.5, 0.75, 0.25)
    with pytest.raises(ValueError, match="in common"):
        compare(before, table(episode("other", 1.0)))


def test_the_interval_covers_the_mean_as_often_as_it_says() -> None:
    drawn = np.random.default_rng(1)
    covered = 0
    for seed in range(200):
        low, high = bootstrap(drawn.normal(0.3, 1, 100), draws=1000, seed=seed)
        covered += low <= 0.3 <= high
    assert 0.9 <= covered / 200 <= 0.99
    assert bootstrap(np.zeros(10)) == (0, 0)
