"""Checks whose the time is in which the event loop stands still."""

from __future__ import annotations

import pytest
from faulty_orders import Sound

from ray_gym.check.lag import LoopWatch
from ray_gym.environment import Options
from ray_gym.graders import first_of
from ray_gym.graders.labels import clear_label

LONG = "[[" * 100_000
"""Text that takes a reader of labels far longer than the loop may stand still."""


class ReadsItself(Sound):
    def read(self) -> None:
        """Holds the loop up for far longer than it may stand still."""
        for _ in LONG[:20_000]:
            [letter.upper() for letter in LONG[:100]]


class LetsAGraderRead(ReadsItself):
    def read(self) -> None:
        clear_label(LONG, ("[[YES]]", "[[NO]]"))


class ReadsWithinAGrader(ReadsItself):
    def read(self) -> None:
        first_of(self._read_long)("")

    def _read_long(self, said: str) -> str | None:
        super().read()
        return said or None


@pytest.mark.parametrize(
    ("environment_class", "is_blamed"), [(ReadsItself, True), (LetsAGraderRead, False), (ReadsWithinAGrader, True)]
)
async def test_the_time_of_a_grader_is_not_the_authors(environment_class: type[ReadsItself], is_blamed: bool) -> None:
    environment = environment_class(Options())
    with LoopWatch(environment) as watch:
        environment.read()
    assert any(".read" in place for place in watch.late) == is_blamed
