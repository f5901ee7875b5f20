"""A search finds what was said, in order, and says how far it is."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("duckdb")
from shown_runs import damage, episode, event, write

from ray_gym.errors import UserError
from ray_gym.run.directory.location import storage_at
from ray_gym.viewer.queries import Selection
from ray_gym.viewer.run_index import RunIndex
from ray_gym.viewer.search import Found, search


@pytest.fixture
def index(tmp_path: Path) -> RunIndex:
    call = {"id": "1", "name": "look_up", "arguments": '{"what": "Tea"}'}
    told = [
        event(0, "message", "", tool_calls=[call]),
        event(1, "tool_result", "The tea is out."),
        event(2, "message", "Sorry.", reasoning="No tea at all."),
    ]
    for number in range(6):
        events = told if number == 4 else [event(0, "message", f"Coffee {number}.")]
        write(tmp_path, episode(number, 0.0 if number == 4 else 1.0, events=events), number=number)
    made = RunIndex(storage_at(str(tmp_path)))
    made.refresh()
    return made


def last(index: RunIndex, text: str, *filters: str, most: int = 50) -> tuple[list[tuple[str, int, str, str]], Found]:
    told = list(search(index, text, Selection(filters), most))
    assert [one.files for one in told] == list(range(1, len(told) + 1))
    hits = [(hit.episode_id, hit.seq, hit.part, hit.found) for one in told for hit in one.hits]
    return hits, told[-1]


def test_every_part_is_searched_and_hits_are_in_order(index: RunIndex) -> None:
    hits, end = last(index, "tea")
    assert hits == [("e4", 0, "arguments", "Tea"), ("e4", 1, "content", "tea"), ("e4", 2, "reasoning", "tea")]
    assert (end.count, end.episodes, end.files, end.of) == (3, 1, 6, 6)
    assert [hit[:3] for hit in last(index, "look_up")[0]] == [("e4", 0, "call")]


def test_a_capital_makes_the_case_count(index: RunIndex) -> None:
    assert [hit[2] for hit in last(index, "Tea")[0]] == ["arguments"]
    assert last(index, "coffee")[1].count == 5


def test_what_was_found_stands_between_what_is_around_it(tmp_path: Path) -> None:
    write(tmp_path, episode(0, events=[event(0, "message", "\u0130\u0130\u0130 no TEA here")]))
    made = RunIndex(storage_at(str(tmp_path)))
    made.refresh()
    (hit,) = [hit for one in search(made, "tea", Selection(), 50) for hit in one.hits]
    assert (hit.before, hit.found, hit.after) == ("\u0130\u0130\u0130 no ", "TEA", " here")


def test_hits_are_bounded_and_counted_all_the_same(index: RunIndex) -> None:
    hits, end = last(index, "coffee", most=2)
    assert [hit[0] for hit in hits] == ["e0", "e1"] and end.count == 5


def test_a_selection_narrows_it(index: RunIndex) -> None:
    hits, end = last(index, "e", "reward<1")
    assert {hit[0] for hit in hits} == {"e4"} and end.episodes == 1
    assert not list(search(index, "coffee", Selection(("reward>5",)), 50)), "no file has a row of it"


def test_a_search_can_be_left_early(index: RunIndex) -> None:
    running = search(index, "coffee", Selection(), 50)
    assert next(running).count == 1
    running.close()


def test_an_empty_text_is_refused(index: RunIndex) -> None:
    with pytest.raises(UserError, match="give a text"):
        next(search(index, "", Selection(), 50))


def test_labels_narrow_it(index: RunIndex) -> None:
    told = list(search(index, "coffee", Selection(only={"e1", "e4"}), 50))
    assert [hit.episode_id for one in told for hit in one.hits] == ["e1"]


def test_one_participant_is_searched(tmp_path: Path) -> None:
    told = [event(0, "message", "Tea?", "user"), event(1, "message", "Tea."), event(2, "note", "tea", None)]
    write(tmp_path, *(episode(number, events=told) for number in range(3)))
    index = RunIndex(storage_at(str(tmp_path)))
    index.refresh()
    [every] = search(index, "tea", Selection(), 50)
    assert every.count == 9 and every.by == {"user": 3, "policy": 3, "": 3}
    [found] = search(index, "tea", Selection(("episode_id!=e1",)), 50, by="user")
    assert [(hit.episode_id, hit.participant) for hit in found.hits] == [("e0", "user"), ("e2", "user")]
    assert (found.count, found.episodes, found.by) == (2, 2, {"user": 2})


def test_what_is_left_of_a_damaged_file_is_searched(tmp_path: Path) -> None:
    told = [event(0, "message", "Tea.")]
    file = write(tmp_path, *(episode(number, 1.0, events=told) for number in range(30)), rows_a_group=10)
    damage(file, 1)
    index = RunIndex(storage_at(str(tmp_path)))
    index.refresh()
    [found] = search(index, "tea", Selection(), 50)
    assert [hit.episode_id for hit in found.hits] == [f"e{number}" for number in (*range(10), *range(20, 30))]
    [narrow] = search(index, "tea", Selection(("episode_id=e25",)), 50)
    assert [hit.episode_id for hit in narrow.hits] == ["e25"]
