"""Compares two runs of a viewer as `ray-gym stats RUN RUN2` does: paired by task, with intervals."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from typing import Any

from ray_gym.run.directory.intact import intact_rows
from ray_gym.statistics.collect import COLUMNS, Collected, collect
from ray_gym.viewer.places import ShownRun

ROWS = 512
"""Most rows that are read at once."""
KEPT = 8
"""Most comparisons that are kept."""
NEEDED = ("scipy", "statsmodels")
"""Packages of the extra `stats`, which do the mathematics."""
MISSING = "no intervals: scipy and statsmodels are not installed here: pip install 'ray-gym[stats]'"

State = tuple[str, tuple[str, ...]]
"""Name of a run, and those of its files that were read."""


@dataclass(slots=True)
class Comparisons:
    """Holds the comparisons that were asked for last. Threads may share it; one comparison is made at a time."""

    _kept: OrderedDict[tuple[State, State, float], dict[str, Any]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def compare(self, first: ShownRun, second: ShownRun, solved: float) -> dict[str, Any]:
        """Returns how a second run differs from a first. Blocks while both are read. solved: least reward of a success.

        The answer has `comparison`, as `ray_gym.statistics.compare.Comparison`, or null and `why`. `remarks` name what
        was left out. Errors: UserError, OSError for a run that can't be read.
        """
        if any(find_spec(name) is None for name in NEEDED):
            return {"comparison": None, "why": MISSING, "remarks": []}
        with self._lock:
            key = (_state_of(first), _state_of(second), solved)
            if key in self._kept:
                self._kept.move_to_end(key)
            else:
                self._kept[key] = _compared(first, second, solved)
                while len(self._kept) > KEPT:
                    self._kept.popitem(last=False)
            return self._kept[key]


def _state_of(run: ShownRun) -> State:
    return run.storage.location, tuple(run.storage.committed())


def _compared(first: ShownRun, second: ShownRun, solved: float) -> dict[str, Any]:
    from ray_gym.statistics.compare import compare

    remarks: list[str] = []
    before, after = (_collected(run, remarks) for run in (first, second))
    try:
        compared = compare(before, after, _at_least(solved))
    except ValueError as error:
        return {"comparison": None, "why": f"no differences: {error}", "remarks": remarks}
    return {"comparison": asdict(compared), "why": "", "remarks": remarks}


def _at_least(bound: float) -> Callable[[float], bool]:
    return lambda reward: reward >= bound


def _collected(run: ShownRun, remarks: list[str]) -> Collected:
    """Reads the rows of a run. Adds to `remarks` what could not be read."""
    damages: list[str] = []
    collected = collect(intact_rows(run.storage, COLUMNS, ROWS, damages))
    remarks += [f"left out: {damage}" for damage in damages]
    return collected
