"""Checks the tables of docs/agents_fields.md: they have every header and field that the programs send, and what becomes of
each is what they say.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from agent_shapes import OF_MCP, PROGRAMS, Call, calls_of, messages_of
from fields import Place, fields_of, kind_of, leaves, path_of

from ray_gym.openai_api.refused import Refused

PAGE = (Path(__file__).parents[2] / "docs" / "agents_fields.md").read_text()
TITLES = {
    "anthropic": "The anthropic package",
    "claude-code": "Claude Code",
    "codex": "Codex",
    "langgraph": "LangGraph",
    "mini-swe-agent": "mini-swe-agent",
    "openai-agents": "OpenAI Agents SDK",
    "openai-chat": "The openai package: chat completions",
    "openai-responses": "The openai package: Responses",
    "pi": "pi",
    "pydantic-ai": "pydantic-ai",
    "smolagents": "smolagents",
}
GONE = object()
"""In place of a value that is taken out."""
ODD = {"some": [1]}
"""Value that no field has."""


def rows(title: str) -> list[list[str]]:
    """Returns the rows of the table under a title, by their cells."""
    part = PAGE.partition(f"\n## {title}")[2].partition("\n## ")[0]
    return [[cell.strip() for cell in row.split(" | ")] for row in re.findall(r"^\| (`.*) \|$", part, re.MULTILINE)]


def asked(program: str) -> list[Call]:
    return [call for call in calls_of(program) if call.body is not None]


def fates(program: str) -> dict[str, str]:
    return {field.strip("`"): fate for field, _, fate in rows(TITLES[program])}


def requests_of(program: str) -> Iterator[Call]:
    """Yields all requests of a program."""
    yield from calls_of(program)
    if program in OF_MCP:
        yield from messages_of(program)


def programs_in(cell: str) -> set[str]:
    """Returns the programs that a cell names: some, all, or all but some."""
    is_all, _, names = cell.partition("all")
    if is_all:
        return set(cell.split(", "))
    return set(PROGRAMS) - set(names.removeprefix(" but ").split(", "))


def programs_by(names_of: Callable[[Call], Iterable[str]]) -> dict[str, set[str]]:
    """Returns the programs whose requests have a name."""
    found: dict[str, set[str]] = {}
    for program in PROGRAMS:
        for call in requests_of(program):
            for name in names_of(call):
                found.setdefault(f"`{name}`", set()).add(program)
    return found


def test_the_tables_have_all_requests_and_headers() -> None:
    told = {request: programs_in(cell) for request, cell, _ in rows("Requests")}
    assert told == programs_by(lambda call: [f"{call.method} {call.path}"])
    told = {name.lower(): programs_in(cell) for name, cell, _ in rows("Headers")}
    assert told == programs_by(lambda call: [name.lower() for name in call.headers])


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_tables_have_all_fields_with_what_they_hold(program: str) -> None:
    held = {field.strip("`"): seen for field, seen, _ in rows(TITLES[program])}
    assert held == {path: ", ".join(sorted(kinds)) for path, kinds in fields_of(asked(program)).items()}


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_left_out_is_named(program: str) -> None:
    named = {name for fate in fates(program).values() if "left out" in fate for name in re.findall("`(.*?)`", fate)}
    assert {call.dialect.read(call.body).left_out for call in asked(program)} == {tuple(sorted(named))}


def read(call: Call, body: Any) -> Any:
    """Returns what a body asks, as far as it is honoured; the refusal's text if it is refused."""
    try:
        return replace(call.dialect.read(body), left_out=(), known_as={}, echo={})
    except Refused as refused:
        return str(refused)


def changed(call: Call, path: str, change: Callable[[Place, Any], Any]) -> Any:
    """Returns the body of a call with all values of a field changed."""
    body = copy.deepcopy(call.body)
    for place, value in reversed(list(leaves(call.body))):
        if path_of(place) == path:
            holder: Any = body
            for part in place[:-1]:
                holder = holder[part]
            new = change(place, value)
            if new is GONE:
                del holder[place[-1]]
            else:
                holder[place[-1]] = new
    return body


def another(place: Place, value: Any) -> Any:
    """Returns another value that a field may have."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str) and kind_of(place, value) == "text":
        return f"{value} and more"
    return GONE


def readings(program: str, path: str, change: Callable[[Place, Any], Any]) -> Iterator[tuple[Any, Any]]:
    """Yields what is read of each call as it is, and with a field changed."""
    for call in asked(program):
        yield read(call, call.body), read(call, changed(call, path, change))


def fated(word: str) -> list[tuple[str, str]]:
    return [(program, path) for program in PROGRAMS for path, fate in fates(program).items() if fate.startswith(word)]


def test_each_row_says_what_becomes_of_its_field() -> None:
    said = sum(len(fated(word)) for word in ("honoured", "no effect", "left out"))
    assert said == sum(len(fates(program)) for program in PROGRAMS)


@pytest.mark.parametrize(("program", "path"), fated("no effect") + fated("left out"))
def test_what_has_no_effect_changes_nothing(program: str, path: str) -> None:
    for change in (lambda place, value: GONE, another):
        assert all(now == before for before, now in readings(program, path, change))


@pytest.mark.parametrize(("program", "path"), fated("honoured"))
def test_what_is_honoured_changes_something(program: str, path: str) -> None:
    changes: tuple[Callable[[Place, Any], Any], ...] = (lambda place, value: GONE, another, lambda place, value: ODD)
    assert any(now != before for change in changes for before, now in readings(program, path, change))
