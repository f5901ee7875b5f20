"""Runs a server of fastmcp that counts, on standard input and output."""

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError

server = FastMCP("counter")
VALUES = [0]


@server.tool
def add(amount: int) -> int:
    """Add an amount."""
    if amount < 0:
        raise ToolError("nothing is taken away here")
    VALUES[0] += amount
    return VALUES[0]


server.run(show_banner=False)
