"""Numbers as they come together in one process."""

from __future__ import annotations

import itertools

import pytest

from ray_gym.metrics.recorder import MOST_HELD, MOST_VALUES, Reading, Recorder
from ray_gym.metrics.table import EPISODES, GENERATED_TOKENS, JOURNAL_WRITTEN, STEP, WEIGHT_VERSION


def test_a_count_is_handed_on_once() -> None:
    recorder = Recorder()
    recorder.count(GENERATED_TOKENS, "m").since += 3
    recorder.count(GENERATED_TOKENS, "m").since += 4
    assert recorder.drain() == [Reading(GENERATED_TOKENS, ("m",), [7])]
    assert recorder.drain() == []


def test_a_gauge_is_read_when_it_is_drained_and_several_add_up() -> None:
    recorder, labels = Recorder(), ("env", "waiting")
    with recorder.showing(EPISODES, labels, lambda: 3):
        with recorder.showing(EPISODES, labels, lambda: 4):
            assert recorder.drain() == [Reading(EPISODES, labels, [7])]
        assert recorder.drain() == [Reading(EPISODES, labels, [3])]
    assert recorder.drain() == [Reading(EPISODES, labels, [0])], "of what has ended there is none left"


def test_of_versions_the_newest_counts_and_none_is_not_zero() -> None:
    recorder, labels = Recorder(), ("env", "m")
    with recorder.showing(WEIGHT_VERSION, labels, lambda: 3), recorder.showing(WEIGHT_VERSION, labels, lambda: 2):
        assert recorder.drain() == [Reading(WEIGHT_VERSION, labels, [3])]
    assert recorder.drain() == []


def test_a_total_that_is_shown_is_handed_on_by_its_increase() -> None:
    recorder, total = Recorder(), [10]
    with recorder.showing(JOURNAL_WRITTEN, (), lambda: total[0]):
        assert recorder.drain() == [Reading(JOURNAL_WRITTEN, (), [10])]
        assert recorder.drain() == []
        total[0] = 25
        assert recorder.drain() == [Reading(JOURNAL_WRITTEN, (), [15])]


def test_values_are_all_kept_up_to_a_bound_and_then_evenly_thinned() -> None:
    values = Recorder().values(STEP, "env", "policy")
    for count in (0, 1, MOST_VALUES, MOST_VALUES + 1, 20 * MOST_VALUES, 2 * MOST_HELD):
        for index in range(count):
            values.observe(index)
        kept = values.drain()
        assert len(kept) == count if count <= MOST_VALUES else MOST_VALUES / 2 <= len(kept) <= MOST_VALUES
        assert len({later - earlier for earlier, later in itertools.pairwise(kept)}) <= 1, "as dense at the end"
        assert values.drain() == []


def test_labels_are_those_of_the_table() -> None:
    with pytest.raises(ValueError, match="ray_gym_step_duration_seconds has the labels"):
        Recorder().values(STEP, "env")
