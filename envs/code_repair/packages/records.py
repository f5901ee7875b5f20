"""Describes packages that read lines with fields."""

from __future__ import annotations

import random

from ray_gym.envs.code_repair.packages.blueprint import Blueprint, Names, Probe, joined, pick


def draw(rng: random.Random) -> dict[str, str]:
    return {
        "package": joined(rng, "field lined simple flat", "records tables rows sheets"),
        "mark": rng.choice((",", ";", "|")),
        "fields": pick(rng, "fields cells values_in"),
        "groups": pick(rng, "totals sums by_group"),
        "page": str(rng.randint(3, 5)),
    }


FILES = {
    "__init__.py": '''
"""Reads tables from text: one line a row, with "$mark" between the fields."""

from .reading import $fields, rows
from .summary import $groups, page, where

__all__ = ["$fields", "$groups", "page", "rows", "where"]
''',
    "reading.py": '''
"""Reads lines."""

MARK = "$mark"
QUOTE = "'"


def $fields(line):
    """Returns the fields of a line, without spaces around them. A field in single quotes keeps its spaces, and may hold
    the mark; two quotes in it are one. A quote that is not closed is a ValueError.
    """
    found, field, inside, quoted, at = [], "", False, False, 0
    while at < len(line):
        character = line[at]
        if inside and character == QUOTE and line[at + 1:at + 2] == QUOTE:
            field, at = field + QUOTE, at + 1
        elif character == QUOTE and (inside or not field.strip()):
            field = field if inside else ""
            inside, quoted = not inside, True
        elif character == MARK and not inside:
            found.append(field if quoted else field.strip())
            field, quoted = "", False
        elif inside or not quoted:
            field = field + character
        at = at + 1
    if inside:
        raise ValueError("a quote is not closed")
    found.append(field if quoted else field.strip())
    return found


def rows(text):
    """Returns the rows of a text as dicts, whose keys are the fields of the first line. Empty lines, and those that
    begin with "#", are left out. Fields that are missing at a line's end are "", and more than there are keys are a
    ValueError.
    """
    lines = [line for line in text.split("\\n") if line.strip() and not line.startswith("#")]
    if not lines:
        return []
    keys, found = $fields(lines[0]), []
    for line in lines[1:]:
        values = $fields(line)
        if len(values) > len(keys):
            raise ValueError("a line has more fields than the first one")
        values = values + [""] * (len(keys) - len(values))
        found.append(dict(zip(keys, values)))
    return found
''',
    "summary.py": '''
"""Works with rows."""

PAGE = $page


def where(table, **wanted):
    """Returns the rows in which each field is as wanted, or is one of a list of wanted values."""
    found = []
    for row in table:
        if all(_is(row.get(key), value) for key, value in wanted.items()):
            found.append(row)
    return found


def _is(value, wanted):
    if isinstance(wanted, list):
        return value in wanted
    return value == wanted


def $groups(table, key, number, start=None):
    """Returns the sum of a number for each value of a key, added to `start`, which stays as it is. Fields that are empty
    count 0.
    """
    if start is None:
        start = {}
    sums = dict(start)
    for row in table:
        if row[number] == "":
            continue
        sums[row[key]] = sums.get(row[key], 0) + int(row[number])
    return sums


def page(table, number=1, size=PAGE):
    """Returns the rows of a page, from page 1 on; none for a page that is not there. A size below 1 is a ValueError."""
    if size < 1:
        raise ValueError("a page has at least one row")
    if number < 1:
        return []
    return table[(number - 1) * size:number * size]
''',
}


def _line(rng: random.Random, mark: str) -> str:
    parts = ["oak", " elm ", "'a b '", f"'x{mark}y'", "'it''s'", "", "' '", "ash'", "'oak' "]
    return mark.join(rng.choice(parts) for _ in range(rng.randint(1, 4))) + rng.choice(("", "", "", "'"))


def probe(rng: random.Random, names: Names) -> Probe:
    mark = names["mark"]
    kind = rng.randrange(5)
    if kind == 0:
        return Probe((), f"{names['fields']}({_line(rng, mark)!r})")
    lines = [mark.join(("tree", "site", "count"))]
    for _ in range(rng.randint(0, 6)):
        row = (pick(rng, "oak elm ash"), pick(rng, "north south"), rng.choice(("", "1", "2", "7", " 10 ")))
        lines.append(mark.join(row))
    if kind == 1:
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(("", "# old", " ", "oak", mark.join("abcd"))))
        return Probe((), f"rows({chr(10).join(lines)!r})")
    table = f"table = rows({chr(10).join(lines)!r})"
    if kind == 2:
        wanted = rng.choice(
            ("tree='oak'", "tree=['oak', 'ash'], site='north'", "site='south'", "count='2'", "size='1'")
        )
        return Probe((table,), f"where(table, {wanted})")
    if kind == 3:
        if rng.random() < 0.5:
            start = "start = {'oak': 1}"
            return Probe((table, start, f"sums = {names['groups']}(table, 'tree', 'count', start)"), "[sums, start]")
        twice = ", ".join(f"{names['groups']}(table, {key!r}, 'count')" for key in ("tree", "site"))
        return Probe((table,), f"[{twice}]")
    asks = rng.choice(("", ", 1", ", 2", ", 0", ", 2, 2", ", 1, 0", ", 3, 1"))
    return Probe((table,), f"[row['tree'] + row['count'] for row in page(table{asks})]")


RECORDS = Blueprint(
    "records", "It reads tables from text, and sums them up.", draw, FILES,
    "from $package import $fields, $groups, page, rows, where", probe,
)  # fmt: skip
