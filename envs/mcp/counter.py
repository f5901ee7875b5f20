"""Runs an MCP server with a counter, as an example: `python -m ray_gym.envs.mcp.counter`. `reset` sets an episode up, and
`grade` scores it.
"""

from __future__ import annotations

from dataclasses import dataclass

from mcp.server.mcpserver import MCPServer


@dataclass(slots=True)
class Counter:
    """Holds the counter of one session."""

    value: int = 0


def make_server() -> MCPServer:
    """Returns a server with a counter of its own."""
    server, counter = MCPServer("counter"), Counter()

    @server.tool()
    def add(amount: int) -> int:
        """Add an amount to the counter, and get its value."""
        counter.value += amount
        return counter.value

    @server.tool()
    def read() -> int:
        """Get the counter's value."""
        return counter.value

    @server.tool()
    def reset(start: int, goal: int) -> str:
        """Set the counter."""
        counter.value = start
        return f"from {start} to {goal}"

    @server.tool()
    def grade(start: int, goal: int) -> float:
        """Say how far the counter has come."""
        return 1.0 if counter.value == goal else 0.0

    return server


if __name__ == "__main__":
    make_server().run("stdio")
