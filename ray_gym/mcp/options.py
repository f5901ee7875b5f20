"""Defines how an MCP server is named in a config."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from ray_gym.config.programs import CommandLine, Variables
from ray_gym.tools.answer import WhenLost
from ray_gym.web_addresses import split_address

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""Name of a header (RFC 9110, section 5.6.2)."""


def _sendable(headers: Mapping[str, str]) -> Mapping[str, str]:
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) or not value.isascii() or not value.isprintable():
            raise ValueError(f"{name!r}: no header has such a name, or a value that is not plain ASCII")
    return headers


Headers = Annotated[Mapping[str, str], AfterValidator(_sendable)]
MOST_NAME = 64
"""Most characters of a tool's name, as models' APIs have it."""


class McpServer(BaseModel):
    """Says how a server is reached, who may call its tools, and what a replay does with its calls."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: CommandLine | None = None
    """Program and arguments of a server that speaks on its standard input and output."""
    env: Variables = Field(default_factory=dict)
    """Variables that the program gets beside PATH, HOME, USER and the like; of the worker's own it sees no others."""
    folder: str | None = None
    """Working directory of the program; by default the worker's."""
    url: str | None = None
    """Address of a server that speaks streamable HTTP."""
    headers: Headers = Field(default_factory=dict)
    """Headers of each request to it."""
    per: Literal["session", "worker"] = "session"
    """`session`: each episode has a server of its own (over HTTP: an MCP session of its own), whose state a replay makes
    again by the same calls. `worker`: one serves all episodes of a worker; its results are recorded as effects."""
    effects: tuple[str, ...] = ()
    """Tools of a server per session that change something outside of it: their results are recorded, and they are not
    called again."""
    when_lost: WhenLost = "fail"
    """Rule for a call with an effect that was under way when its worker or its server died."""
    tools: tuple[str, ...] | None = None
    """Tools that are offered, by their names at the server; None for all."""
    prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{0,32}$")] = ""
    """Beginning of the names under which models see the tools."""
    participants: tuple[str, ...] | None = None
    """Participants who may call the tools; None for all."""
    start_s: Seconds = 30
    """Seconds for the server to start, and to name its tools."""
    timeout_s: Seconds = 30
    """Seconds for one call, after which the caller is told an error; below `limits.tool_deadline_s`, which fails the
    episode."""

    @field_validator("url")
    @classmethod
    def _check_address(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = split_address(value, "http://127.0.0.1:8000/mcp")
        if "@" in parts.netloc:
            raise ValueError("no user and password go here; they go into headers, with ${oc.env:...}")
        return parts.geturl()

    @model_validator(mode="after")
    def _check(self) -> McpServer:
        if (self.command is None) == (self.url is None):
            raise ValueError("give one of command (a program) and url (a server over HTTP)")
        if self.url is not None:
            if self.env or self.folder is not None:
                raise ValueError("env and folder are for a command, and this server has a url")
        elif self.headers:
            raise ValueError("headers are for a url, and this server has a command")
        if self.per == "worker" and self.effects:
            raise ValueError("effects: all tools of a server per worker have effects; leave it out")
        return self

    def effect_of(self, tool: str) -> WhenLost | None:
        """Returns the rule for a lost call of a tool, by its name at the server; None if the tool has no effect."""
        return self.when_lost if self.per == "worker" or tool in self.effects else None
