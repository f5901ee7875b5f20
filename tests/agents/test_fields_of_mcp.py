"""Checks the tables of docs/agents_fields.md with what programs send to the server of tools: they have every field, and what
becomes of each is what they say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from agent_shapes import OF_MCP, Call, messages_of
from fields import Place, fields_of
from test_fields_page import GONE, ODD, TITLES, another, changed, rows

from ray_gym.mcp.offering import McpAnswer, answer_post, unknown_tool
from ray_gym.messages import ToolSchema
from ray_gym.tools.answer import ToolAnswer


class Tills:
    """Offers one tool, and answers with what it was given."""

    async def tools(self) -> Sequence[ToolSchema]:
        return [ToolSchema("put", "Put money into the till.", {})]

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolAnswer:
        if name != "put":
            raise unknown_tool(name)
        return ToolAnswer(str(arguments))


def asked(program: str) -> list[Call]:
    return [call for call in messages_of(program) if call.body is not None]


def fates(program: str, word: str) -> list[tuple[str, str]]:
    """Returns a program and its fields of which the page says that they are honoured, or have no effect."""
    told = rows(f"{TITLES[program]}: MCP")
    return [(program, field.strip("`")) for field, _, fate in told if fate.startswith(word)]


async def answered(body: Any) -> McpAnswer:
    return await answer_post(body, None, Tills())


@pytest.mark.parametrize("program", OF_MCP)
def test_the_tables_have_all_fields_with_what_they_hold(program: str) -> None:
    held = {field.strip("`"): seen for field, seen, _ in rows(f"{TITLES[program]}: MCP")}
    assert held == {path: ", ".join(sorted(kinds)) for path, kinds in fields_of(asked(program)).items()}
    assert len(held) == len(fates(program, "honoured")) + len(fates(program, "no effect"))


@pytest.mark.parametrize(("program", "path"), [one for name in OF_MCP for one in fates(name, "no effect")])
async def test_what_has_no_effect_changes_nothing(program: str, path: str) -> None:
    for change in (lambda place, value: GONE, another):
        for call in asked(program):
            assert await answered(changed(call, path, change)) == await answered(call.body)


@pytest.mark.parametrize(("program", "path"), [one for name in OF_MCP for one in fates(name, "honoured")])
async def test_what_is_honoured_changes_something(program: str, path: str) -> None:
    changes: tuple[Callable[[Place, Any], Any], ...] = (lambda place, value: GONE, another, lambda place, value: ODD)
    answers = [
        (await answered(changed(call, path, one)), await answered(call.body))
        for one in changes
        for call in asked(program)
    ]
    assert any(now != before for now, before in answers)
