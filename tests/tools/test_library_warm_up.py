"""A module's `warm_up` runs once, in the process that calls are forked from."""

from __future__ import annotations

import json

from ray_gym.tools.isolated import process_slots
from ray_gym.tools.library import Libraries

FUNCTION = "tests.tools.warmed:where_it_was_warmed_up"


async def test_all_calls_find_what_was_warmed_up_before_them() -> None:
    libraries = Libraries(process_slots())
    try:
        first, second = [await libraries.call(FUNCTION, "[]", 10, None) for _ in range(2)]
    finally:
        await libraries.close()
    assert first == second and first[1] is None
    warmed_in, forked_from = json.loads(first[0])
    assert warmed_in == forked_from
