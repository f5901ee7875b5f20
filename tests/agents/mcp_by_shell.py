"""Plays a policy that calls the environment's tools by MCP from whatever shell an agent offers, for agents that have no
client of MCP: a few lines of Python send the call.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from conftest import REPOSITORY
from shell_policy import answering, results_in, running

from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.play.play import Played
from ray_gym.record.rows import row_of

BLOCKS = re.findall(r"^```python\n(.*?)^```", (REPOSITORY / "docs" / "mcp.md").read_text(), re.DOTALL | re.MULTILINE)
CALL = next(block for block in BLOCKS if "sys.argv" in block)
"""Program that calls a tool, as the page has it. Its arguments are the tool's name, and the call's arguments as JSON."""
AMOUNTS = (60, "ten", 10)


async def counting_by_shell(request: CompletionRequest) -> Completion:
    """Puts 60 into a till, and what is missing with a mistake first; then it says what it was told."""
    results = results_in(request)
    if len(results) < len(AMOUNTS):
        arguments = json.dumps({"amount": AMOUNTS[len(results)]})
        return running(request, shlex.join(["python3", "-c", CALL, "put", arguments]))
    return answering(request, f"Failed: {results}")


def assert_calls_are_the_episodes(played: Played) -> None:
    """Checks that the till has what was put into it, and that the record has each call as the policy's own."""
    assert played.failure is None and played.status == "completed", played.failure
    assert played.episode.state == [60, 10] and "70 in it" in played.episode.answer, played.episode.answer
    made = [event for event in row_of(played, "run", "env")["events"] if event["kind"] == "tool_call"]
    assert [json.loads(_call_of(event)["arguments"])["amount"] for event in made] == list(AMOUNTS)
    for event in made:
        assert event["participant"] == "policy" and _call_of(event)["name"] == "put"
        assert _call_of(event)["id"].startswith("mcp_"), "no answer of the model names the tool itself"
    assert [event["error"] is None for event in made] == [True, False, True]


def _call_of(event: dict[str, Any]) -> dict[str, Any]:
    [call] = event["tool_calls"]
    return dict(call)
