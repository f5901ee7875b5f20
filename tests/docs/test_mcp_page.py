"""Plays the environment of docs/mcp.md with tools of a server."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import REPOSITORY
from mcp_servers import plain
from pages import block
from playing_tasks import call_of, play_task, reward_of, says

from ray_gym.errors import UserError
from ray_gym.installed import extras

PAGE = REPOSITORY / "docs" / "mcp.md"


def desk() -> Any:
    found: dict[str, Any] = {}
    exec(compile(block(PAGE, "python", "class Desk"), str(PAGE), "exec", dont_inherit=True), found)
    return found


async def test_an_environment_of_ones_own() -> None:
    page = desk()
    environment = page["Desk"](page["DeskOptions"](servers={"plain": plain()}))
    await environment.prepare_worker()
    task = page["DeskTask"](task_id="t", question="What is 0 and 3?", answer="3")
    played = await play_task(environment, task, {"policy": says(call_of("add", '{"amount": 3}'), "Answer: 3")})
    assert reward_of(played) == 1
    await environment.close()


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    page = desk()
    with pytest.raises(
        UserError, match=r"environment\.servers: mcp is not installed here: pip install 'ray-gym\[mcp\]'"
    ):
        page["Desk"](page["DeskOptions"](servers={"plain": plain()}))
