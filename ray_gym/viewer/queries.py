"""Filters, sorts and pages the episodes of a run's index.

A filter is written `COLUMN OP VALUE` without spaces, as it stands in the viewer's address: `status=failed`, `reward<0.5`,
`stop_text~limit` (contains, whatever the case), `failure_kind!=infra`, `reward=` (null). A `where` is a condition of
SQL over the index's columns. It is only ever parsed as one expression, so it can be no statement; DuckDB's settings keep
it from files, `conditions` from functions that never end, and time from running on.
"""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ray_gym.errors import UserError
from ray_gym.viewer.conditions import check_condition
from ray_gym.viewer.index_rows import INDEX
from ray_gym.viewer.run_index import TABLE, RunIndex

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection, DuckDBPyRelation, Expression

LIMIT_S = 5.0
"""Most seconds of a query."""
_FILTER = re.compile(r"(\w+)(!=|<=|>=|=|<|>|~)(.*)", re.DOTALL)
SHOWN = [name for name in INDEX.names if name not in ("file", "place")]
"""Columns that an answer has."""
SUMMARY = (
    "count(*) AS episodes, "
    "count(*) FILTER (status = 'completed') AS completed, "
    "count(*) FILTER (status = 'failed') AS failed, "
    "avg(reward) FILTER (status = 'completed') AS mean_reward, "
    "avg(generated_tokens) AS mean_tokens, "
    "avg(turns) AS mean_turns, "
    "avg(staleness) AS mean_staleness"
)


@dataclass(frozen=True, slots=True)
class Selection:
    """Says which episodes are wanted, and in which order."""

    filters: Sequence[str] = ()
    where: str = ""
    """Condition in SQL; "" for none."""
    sort: Sequence[str] = ()
    """Columns by which the rows are sorted; a minus before one has its highest first. Rows that are equal in all are in
    the order in which they were committed."""
    only: Collection[str] | None = None
    """Ids of the episodes from which the others are selected; None for all."""


@dataclass(frozen=True, slots=True)
class Page:
    """Holds the rows of a page, and the figures of all rows that were selected."""

    rows: list[dict[str, Any]]
    figures: dict[str, Any]


def page_of(index: RunIndex, selection: Selection, offset: int, limit: int) -> Page:
    """Returns `limit` selected episodes from an offset on. Errors: UserError for a filter, a condition or an order that
    can't be read, or takes longer than `LIMIT_S`.
    """
    with _relation(index, selection) as found:
        figures = _rows(found.aggregate(SUMMARY))[0]
        rows = found.order(_order(selection.sort)).limit(limit, offset).project(", ".join(map(_quoted, SHOWN)))
        return Page(_rows(rows), figures)


def groups_of(index: RunIndex, selection: Selection, offset: int, limit: int) -> Page:
    """Returns `limit` groups of which an episode is selected from an offset on, in the order in which they were committed.
    They are whole: a spread is that of the group, whatever is selected of it.

    A group has `group_id`, `task_id`, `spread` (highest less lowest reward of its completed episodes; null without one)
    and `episodes`, each with its id, repeat, status, reward and stop reason. Errors: as `page_of`.
    """
    of_each = ", ".join(
        f"{name} := {_quoted(name)}" for name in ("episode_id", "repeat", "status", "reward", "version")
    )
    columns = (
        "group_id, any_value(task_id) AS task_id, min((file, place)) AS first, "
        "max(reward) FILTER (status = 'completed') - min(reward) FILTER (status = 'completed') AS spread, "
        f"list(struct_pack({of_each}) ORDER BY repeat, file, place) AS episodes"
    )
    with _relation(index, selection) as found:
        whole = found.query("selected", f"SELECT * FROM {TABLE} WHERE group_id IN (SELECT group_id FROM selected)")
        assert whole is not None  # of a SELECT it never is
        groups = whole.aggregate(columns, "group_id")
        figures = _rows(groups.aggregate("count(*) AS groups, count(*) FILTER (spread = 0) AS without_spread"))[0]
        sorts = {"spread": "spread DESC NULLS LAST, first", "-spread": "spread NULLS LAST, first"}
        order = sorts.get(next(iter(selection.sort), ""), "first")
        page = groups.order(order).limit(limit, offset).project("group_id, task_id, spread, episodes")
        return Page(_rows(page), figures)


def neighbours_of(index: RunIndex, selection: Selection, episode_id: str) -> dict[str, Any]:
    """Returns the ids of the selected episodes before and after one, `previous` and `next`, and its number among them,
    `at`, from 0. All are null for one that is not selected. Errors: as `page_of`.
    """
    import duckdb

    order = f"OVER (ORDER BY {_order(selection.sort)})"
    columns = (
        f"episode_id, lag(episode_id) {order} AS previous, lead(episode_id) {order} AS next, "
        f'row_number() {order} - 1 AS "at"'
    )
    wanted = duckdb.ColumnExpression("episode_id") == duckdb.ConstantExpression(episode_id)
    with _relation(index, selection) as found:
        rows = _rows(found.project(columns).filter(wanted).project('previous, next, "at"'))
    return rows[0] if rows else {"previous": None, "next": None, "at": None}


def values_of(index: RunIndex, column: str, selection: Selection, most: int = 50) -> list[dict[str, Any]]:
    """Returns the commonest values of a column among the selected episodes, each with its number: `value`, `episodes`.
    Errors: as `page_of`.
    """
    name = _quoted(_column(column))
    with _relation(index, selection) as found:
        counts = found.aggregate(f"{name} AS value, count(*) AS episodes", name)
        return _rows(counts.order("episodes DESC, value").limit(most))


def places_of(index: RunIndex, selection: Selection) -> dict[int, list[int]]:
    """Returns the numbers of the selected rows by the number of their file. Errors: as `page_of`."""
    with _relation(index, selection) as found:
        rows = _rows(found.aggregate("file, list(place) AS places", "file"))
    return {row["file"]: row["places"] for row in rows}


def by_version(index: RunIndex) -> list[dict[str, Any]]:
    """Returns the run's figures for each version of the weights that began to generate an episode, the lowest first."""
    with _relation(index, Selection()) as found:
        return _rows(found.aggregate(f"version, {SUMMARY}", "version").order("version NULLS FIRST"))


@contextmanager
def _relation(index: RunIndex, selection: Selection) -> Iterator[DuckDBPyRelation]:
    """Gives the selected rows of the index. Errors of DuckDB in the block become a UserError, and so does a block that
    takes longer than `LIMIT_S`.
    """
    import duckdb

    with index.query() as connection, _interrupted_after(connection, LIMIT_S):
        try:
            found = connection.table(TABLE)
            if selection.only is not None:
                found = found.filter(_is_among(selection.only))
            for one in selection.filters:
                found = found.filter(_condition(one))
            if selection.where.strip():
                check_condition(connection, selection.where)
            yield _filtered(found, selection.where)
        except duckdb.InterruptException:
            raise UserError(f"the query took longer than {LIMIT_S:g} s; narrow it down") from None
        except duckdb.Error as error:
            raise UserError(f"the query can't be carried out: {str(error).splitlines()[0]}") from None


def _filtered(found: DuckDBPyRelation, where: str) -> DuckDBPyRelation:
    """Returns the rows that fulfil a condition in SQL. Errors: UserError for one that is no single condition."""
    import duckdb

    if not where.strip():
        return found
    try:
        return found.filter(where)
    except duckdb.Error as error:
        names = ", ".join(SHOWN)
        raise UserError(f"where: {str(error).splitlines()[0]}; it is a condition over the columns {names}") from None


def _is_among(ids: Collection[str]) -> Expression:
    import duckdb

    if not ids:
        return duckdb.ConstantExpression(False)
    return duckdb.ColumnExpression("episode_id").isin(*map(duckdb.ConstantExpression, ids))


def _condition(text: str) -> Expression:
    """Reads a filter. Errors: UserError."""
    import duckdb

    read = _FILTER.fullmatch(text)
    if read is None:
        raise UserError(f"filter {text!r}: expected COLUMN, one of = != < <= > >= ~, and a value")
    name, sign, value = _column(read[1]), read[2], read[3]
    column = duckdb.ColumnExpression(name)
    if value == "" and sign in ("=", "!="):
        return column.isnull() if sign == "=" else column.isnotnull()
    if sign == "~":
        lower = duckdb.FunctionExpression("lower", column.cast("VARCHAR"))
        return duckdb.FunctionExpression("contains", lower, duckdb.ConstantExpression(value.lower()))
    constant = duckdb.ConstantExpression(_value(name, value, text))
    if sign in ("=", "!="):
        return column == constant if sign == "=" else (column != constant) | column.isnull()
    compared = {"<": column < constant, "<=": column <= constant, ">": column > constant, ">=": column >= constant}
    return compared[sign]


def _value(name: str, value: str, text: str) -> str | float:
    if pa.types.is_string(INDEX.field(name).type):
        return value
    for number in (int, float):
        with suppress(ValueError):
            if not math.isnan(read := number(value)):
                return read
    raise UserError(f"filter {text!r}: {name} is a number, and {value!r} is none")


def _column(name: str) -> str:
    if name not in SHOWN:
        raise UserError(f"there is no column {name!r}; there are {', '.join(SHOWN)}")
    return name


def _order(sort: Sequence[str]) -> str:
    terms = []
    for one in sort:
        name = _quoted(_column(one.removeprefix("-")))
        terms.append(f"{name} {'DESC' if one.startswith('-') else 'ASC'} NULLS LAST")
    return ", ".join([*terms, "file", "place"])


def _quoted(name: str) -> str:
    return f'"{name}"'


def _rows(found: DuckDBPyRelation) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = found.to_arrow_table().to_pylist()
    return rows


@contextmanager
def _interrupted_after(connection: DuckDBPyConnection, seconds: float) -> Iterator[None]:
    timer = threading.Timer(seconds, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
