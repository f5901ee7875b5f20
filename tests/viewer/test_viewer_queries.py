"""Filters, sorts and pages select episodes; what is no condition is refused, and reads no file."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("duckdb")
from shown_runs import episode, write

from ray_gym.errors import UserError
from ray_gym.run.directory.location import storage_at
from ray_gym.viewer import queries
from ray_gym.viewer.queries import Selection, by_version, groups_of, page_of, places_of, values_of
from ray_gym.viewer.run_index import RunIndex


@pytest.fixture
def index(tmp_path: Path) -> RunIndex:
    rewards = [1.0, 0.0, None, 0.5, 0.25, 0.25]
    write(tmp_path, *(episode(number, reward) for number, reward in enumerate(rewards)))
    made = RunIndex(storage_at(str(tmp_path)))
    made.refresh()
    return made


def ids(index: RunIndex, *filters: str, where: str = "", sort: tuple[str, ...] = ()) -> str:
    page = page_of(index, Selection(filters, where, sort), 0, 100)
    assert page.figures["episodes"] == len(page.rows)
    return " ".join(row["episode_id"] for row in page.rows)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("status=failed", "e2"),
        ("status!=failed", "e0 e1 e3 e4 e5"),
        ("reward<0.5", "e1 e4 e5"),
        ("reward>=0.5", "e0 e3"),
        ("reward=", "e2"),
        ("reward!=", "e0 e1 e3 e4 e5"),
        ("failure~SHELF 2", "e2"),
        ("task_id=t2", "e4 e5"),
        ("tool_errors<=1", "e0 e1"),
        ("tool_errors<1e0", "e0"),
        ("tool_errors<1.5", "e0 e1"),
        ("failure_kind!=infra", "e0 e1 e2 e3 e4 e5"),
        ("stop_text=it's", ""),
    ],
)
def test_a_filter_selects(index: RunIndex, given: str, expected: str) -> None:
    assert ids(index, given) == expected


def test_filters_conditions_and_orders_go_together(index: RunIndex) -> None:
    narrow = ids(index, "status=completed", where="turns = 1 AND reward > 0", sort=("reward", "-episode_id"))
    assert narrow == "e5 e4 e3 e0"
    assert ids(index, sort=("-reward",)) == "e0 e3 e4 e5 e1 e2", "without a reward at the end, both ways"
    assert ids(index, sort=("reward",)).endswith("e2")
    page = page_of(index, Selection(), 2, 2)
    assert [row["episode_id"] for row in page.rows] == ["e2", "e3"] and page.figures["episodes"] == 6
    assert page.figures["mean_reward"] == pytest.approx(0.4) and page.figures["failed"] == 1


@pytest.mark.parametrize(
    "where",
    [
        "1; DROP TABLE episodes",
        "true) UNION SELECT 1 --",
        "true) OR (true",
        "episode_id IN (SELECT content FROM read_text('/etc/passwd'))",
        "EXISTS (SELECT * FROM '/etc/passwd')",
        "EXISTS (SELECT * FROM read_csv('https://example.org/x'))",
        "ATTACH '/tmp/x.db'",
        "COPY episodes TO '/tmp/x'",
        "nobody = 1",
        "(WITH RECURSIVE t(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM t WHERE n < 9) SELECT max(n) FROM t) > 1",
        "(WITH t AS (SELECT 1 AS n) SELECT n FROM t) > 0",
        "EXISTS (SELECT * FROM information_schema.tables)",
        "EXISTS (SELECT * FROM sqlite_master)",
        "EXISTS (SELECT * FROM pragma_database_list)",
        "EXISTS (SHOW TABLES)",
        "reward > 0, true",
        "reward > 0 ORDER BY 1",
        "(",
    ],
)
def test_what_is_no_condition_is_refused(index: RunIndex, where: str) -> None:
    with pytest.raises(UserError, match=r"where|the query"):
        page_of(index, Selection(where=where), 0, 10)
    assert ids(index) == "e0 e1 e2 e3 e4 e5"


def test_a_condition_that_takes_too_long_is_ended(index: RunIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "LIMIT_S", 0.2)
    many = ", ".join(f"episodes e{number}" for number in range(14))
    where = f"(SELECT sum(sqrt(e0.seed + e7.seed + e13.seed)) FROM {many}) > 1"
    with pytest.raises(UserError, match=r"longer than 0\.2 s"):
        page_of(index, Selection(where=where), 0, 10)


@pytest.mark.parametrize(
    "where", ["length(repeat('a', 300000000)) > 0", "len(range(30000000)) > 0", "getenv('HOME') = ''"]
)
def test_a_function_that_may_take_any_time_or_memory_is_refused(index: RunIndex, where: str) -> None:
    with pytest.raises(UserError, match=r"where: the function (repeat|range|getenv) can't be called here"):
        page_of(index, Selection(where=where), 0, 10)
    with pytest.raises(UserError, match="at most 20,000 are read"):
        page_of(index, Selection(where=f"reward > {'1' * 20_000}"), 0, 10)


def test_common_functions_can_be_called(index: RunIndex) -> None:
    assert ids(index, where="lower(status) LIKE 'fail%' AND abs(turns) + 1 > round(0.5) -- why") == "e2"
    assert ids(index, where="reward = (SELECT max(reward) FROM episodes) AND regexp_matches(task_id, 't[0-9]')") == "e0"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("reward<x", "is a number"),
        ("reward<nan", "is a number"),
        ("file=0", "there is no column"),
        ("nobody=1", "there is no column"),
        ("reward", "expected COLUMN"),
        ("", "expected"),
    ],
)
def test_a_wrong_filter_is_told(index: RunIndex, given: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        page_of(index, Selection((given,)), 0, 10)
    with pytest.raises(UserError, match="there is no column"):
        page_of(index, Selection(sort=("nobody",)), 0, 10)


def test_groups_have_their_spread(index: RunIndex) -> None:
    page = groups_of(index, Selection(), 0, 10)
    assert [(group["group_id"], group["spread"]) for group in page.rows] == [("g0", 1.0), ("g1", 0.0), ("g2", 0.0)]
    assert [one["episode_id"] for one in page.rows[0]["episodes"]] == ["e0", "e1"]
    assert page.figures == {"groups": 3, "without_spread": 2}
    assert [group["group_id"] for group in groups_of(index, Selection(sort=("spread",)), 0, 1).rows] == ["g0"]


def test_values_versions_and_places(index: RunIndex) -> None:
    assert values_of(index, "status", Selection()) == [
        {"value": "completed", "episodes": 5},
        {"value": "failed", "episodes": 1},
    ]
    assert [(row["version"], row["episodes"]) for row in by_version(index)] == [(None, 1), (3, 5)]
    assert places_of(index, Selection(("reward<0.5",))) == {0: [1, 4, 5]}


def test_a_selected_group_is_whole(index: RunIndex) -> None:
    page = groups_of(index, Selection(("reward=1",)), 0, 10)
    assert [(group["group_id"], group["spread"], len(group["episodes"])) for group in page.rows] == [("g0", 1.0, 2)]
    assert page.figures == {"groups": 1, "without_spread": 0}
