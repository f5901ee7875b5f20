"""Takes a turn of an agent by calling a Python function. This file is run in a process of its own, by an interpreter that
may have no package but Python's library.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import json
import os
import sys
from collections.abc import Awaitable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

STATE = ".agent/state.json"
"""File in the sandbox's folder that keeps an agent's state between its turns."""
WRONG_CODE = 78
"""Exit code of a turn whose function returned, or keeps, what it never may, whatever its model said."""


@dataclass(frozen=True)
class AgentContext:
    """Tells a function which turn it takes, and where its model is."""

    openai_url: str
    """Base URL of OpenAI's clients: chat completions and Responses."""
    anthropic_url: str
    """Base URL of Anthropic's clients: the Messages API."""
    mcp_url: str
    """Address of the MCP server that offers the environment's tools."""
    key: str
    """API key for all of them."""
    model: str
    """Name of the model."""
    turn: int
    """Number of the participant's turn, from 0."""
    state: dict[str, Any]
    """Values, as JSON has them, that the function keeps for its next turns: it changes them in place."""


def main() -> None:
    """Loads the function that the first argument names (package.module:function), looks for it in the folders that the
    others name too, and takes a turn by it. Words are on standard input, the answer is written to standard output; what
    the function prints goes to standard error. `EPISODE_TURN` that is not set means that the function is only loaded.
    """
    answer = os.dup(1)
    os.dup2(2, 1)
    name, *folders = sys.argv[1:]
    sys.path[:0] = folders
    function = _load(name)
    if "EPISODE_TURN" not in os.environ:
        return
    context = _context()
    said = function(sys.stdin.buffer.read().decode("utf-8", "replace"), context)
    if inspect.isawaitable(said):
        said = asyncio.run(_wait_for(said))
    if not isinstance(said, str):
        _end(f"{name} returned {type(said).__name__}, but an agent's answer is a text")
    _keep(name, context.state)
    with os.fdopen(answer, "w", encoding="utf-8", errors="replace") as file:
        file.write(said)


def _load(name: str) -> Any:
    module, _, attribute = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in attribute.split("."):
        found = getattr(found, part)
    if not callable(found):
        sys.exit(f"{name} is not a function")
    return found


def _context() -> AgentContext:
    state = Path(STATE)
    return AgentContext(
        openai_url=os.environ["OPENAI_BASE_URL"],
        anthropic_url=os.environ["ANTHROPIC_BASE_URL"],
        mcp_url=os.environ["EPISODE_MCP_URL"],
        key=os.environ["OPENAI_API_KEY"],
        model=os.environ["EPISODE_MODEL"],
        turn=int(os.environ["EPISODE_TURN"]),
        state=json.loads(state.read_text("utf-8")) if state.exists() else {},
    )


async def _wait_for(said: Awaitable[Any]) -> Any:
    return await said


def _keep(name: str, state: dict[str, Any]) -> None:
    """Writes the state for the next turn, whole or not at all."""
    try:
        text = json.dumps(state)
    except (TypeError, ValueError) as error:
        _end(f"{name}: context.state can't be kept as JSON: {error}")
    Path(STATE).parent.mkdir(exist_ok=True)
    new = Path(f"{STATE}.new")
    new.write_text(text, "utf-8")
    new.replace(STATE)


def _end(problem: str) -> NoReturn:
    """Ends the process with a line that is kept with its standard error."""
    sys.stderr.flush()
    os.write(2, f"{problem}\n".encode("utf-8", "replace"))
    sys.exit(WRONG_CODE)


if __name__ == "__main__":
    main()
