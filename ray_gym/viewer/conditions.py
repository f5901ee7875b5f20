"""Checks a condition in SQL before it is carried out: which functions it calls.

DuckDB can't be interrupted within a call, and its limit of memory does not hold there: `repeat('a', 1000000000)` takes
what it takes. So a condition may call functions whose result is about as long as what they are given, and no others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ray_gym.errors import UserError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

LONGEST = 20_000
"""Most characters of a condition."""
FUNCTIONS = frozenset(
    {"abs", "ceil", "ceiling", "exp", "floor", "greatest", "isfinite", "isinf", "isnan", "least", "ln", "log", "log10"}
    | {"log2", "mod", "pow", "power", "round", "sign", "sqrt", "trunc"}
    | {"concat", "contains", "ends_with", "instr", "left", "len", "length", "like_escape", "lower", "lcase", "ltrim"}
    | {
        "ilike_escape",
        "not_ilike_escape",
        "not_like_escape",
        "position",
        "prefix",
        "regexp_extract",
        "regexp_full_match",
    }
    | {"regexp_matches", "right", "rtrim", "starts_with", "strip_accents", "strlen", "strpos", "substr", "substring"}
    | {"suffix", "trim", "ucase", "upper"}
    | {"avg", "count", "count_star", "max", "median", "min", "stddev", "sum"}
    | {"coalesce", "ifnull", "list_contains", "list_value", "nullif", "epoch", "now", "to_timestamp", "date_part"}
)
"""Names of the functions that a condition may call. Operators such as + and LIKE are functions, too, and all allowed."""

OTHER_TABLES = frozenset({"TABLE_FUNCTION", "SHOW_REF", "PIVOT", "COLUMN_DATA", "DELIM_GET", "BOUND_TABLE_REF"})
"""Types of a statement's nodes that stand for tables other than those of a name."""


def check_condition(connection: DuckDBPyConnection, where: str) -> None:
    """Checks that a condition is not too long, asks for no other table, and calls no function but those of `FUNCTIONS`.
    One that can't be parsed is left to DuckDB, whose error says where. Errors: UserError.
    """
    if len(where) > LONGEST:
        raise UserError(f"where: {len(where):,} characters; at most {LONGEST:,} are read")
    written = f"SELECT * FROM episodes WHERE ({where}\n)"
    [[told]] = connection.execute("SELECT json_serialize_sql(?)", [written]).fetchall()
    parsed = json.loads(told)
    for name in _tables_in(parsed):
        if name != "episodes":
            raise UserError(f"where: it may ask for nothing but the table episodes, not {name}")
    for name in _functions_in(parsed):
        if name not in FUNCTIONS:
            raise UserError(f"where: the function {name} can't be called here; {', '.join(sorted(FUNCTIONS))} can")


def _tables_in(node: Any) -> Iterator[str]:
    """Yields the names of the tables that a parsed statement asks, and of those that it makes by WITH."""
    if isinstance(node, dict):
        if node.get("type") == "BASE_TABLE":
            yield ".".join(filter(None, (node.get("catalog_name"), node.get("schema_name"), node.get("table_name"))))
        elif node.get("type") in OTHER_TABLES:
            yield str(node["type"]).lower()
        yield from (f"WITH {entry['key']}" for entry in (node.get("cte_map") or {}).get("map", ()))
        node = list(node.values())
    for inner in node if isinstance(node, list) else ():
        yield from _tables_in(inner)


def _functions_in(node: Any) -> Iterator[str]:
    """Yields the names of the functions in a parsed statement, but for operators."""
    if isinstance(node, dict):
        if "function_name" in node and not node.get("is_operator"):
            yield str(node["function_name"]).lower()
        node = list(node.values())
    for inner in node if isinstance(node, list) else ():
        yield from _functions_in(inner)
