"""Checks that an environment that can't be sent to workers is refused with what is in the way."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from ray_gym import Environment, Episode, Task
from ray_gym.environment import Options
from ray_gym.errors import UserError
from ray_gym.tools.pickled import require_portable, why_not_portable


class Opens(Environment[Task, None]):
    async def setup(self, task: Task, rng: Random) -> None:
        return None

    def score(self, state: None, episode: Episode[Task, None]) -> float:
        return 1.0


class Slotted:
    __slots__ = ("lock",)

    def __init__(self) -> None:
        self.lock = threading.Lock()


def database() -> sqlite3.Connection:
    return sqlite3.connect(":memory:")


@pytest.mark.parametrize(
    ("open_it", "kind"),
    [(database, "Connection"), (threading.Lock, "lock"), (Slotted, "Slotted")],
)
def test_what_an_environment_opens_too_early_is_named(open_it: Callable[[], Any], kind: str) -> None:
    environment = Opens(Options())
    environment.opened = open_it()  # type: ignore[attr-defined]
    with pytest.raises(
        UserError, match=f"^environment.id: x: Opens.opened is a {kind}, and can't be sent to workers: open"
    ) as told:
        require_portable(environment, "environment.id: x")
    assert "`prepare_worker`" in str(told.value)


def test_data_functions_and_types_can_be_sent() -> None:
    environment = Opens(Options())
    environment.kept = {"a": [1], "f": lambda: 1, "t": Slotted}  # type: ignore[attr-defined]
    assert why_not_portable(environment) is None
