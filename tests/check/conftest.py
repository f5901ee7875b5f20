"""One process for all that is played again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ray_gym.check.other_process import OtherProcess


@pytest.fixture(scope="package")
def other_process() -> Iterator[OtherProcess]:
    with OtherProcess() as process:
        yield process
