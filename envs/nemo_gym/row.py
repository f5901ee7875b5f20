"""Defines a row of NeMo Gym's data. It is kept unchanged, since the server gets all of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import Field, model_validator

from ray_gym import Task, ToolSchema
from ray_gym.openai_api.conversation import Conversation

PARAMETERS = "responses_create_params"
_NAME_IN_A_PATH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_OWN_ROUTES = frozenset({"seed_session", "verify", "close_session", "close", "reset", "step", "aggregate_metrics"})
"""Routes of the protocol: a policy that could call them would play with its own score."""


class NemoRow(Task):
    """A row is read from a line of NeMo Gym's JSONL, or from the form that it has in a record: `{"row": ...}`."""

    takes_nemo_gym_rows = True

    row: dict[str, Any]
    messages: Conversation = Field(default=(), exclude=True)
    """Conversation so far: `responses_create_params.input`."""

    @model_validator(mode="before")
    @classmethod
    def _keep_row(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        fields = dict(given) if PARAMETERS not in given else {"row": given}
        row = fields.get("row")
        parameters = row.get(PARAMETERS) if isinstance(row, Mapping) else None
        if not isinstance(parameters, Mapping) or "input" not in parameters:
            raise ValueError(f"a row needs {PARAMETERS} with input (messages, or one text)")
        return {**fields, "messages": _conversation(parameters)}

    @model_validator(mode="after")
    def _check_tools(self) -> NemoRow:
        self.tools()
        return self

    def tools(self) -> tuple[ToolSchema, ...]:
        """Returns the row's tools. Errors: ValueError for a tool without a JSON schema, or with a name that can't be a
        route.
        """
        given = self.row[PARAMETERS].get("tools") or []
        found = []
        for number, tool in enumerate(given if isinstance(given, list) else [given]):
            try:
                schema = ToolSchema.from_openai(tool)
            except ValueError as error:
                raise ValueError(f"{PARAMETERS}.tools[{number}]: {error}") from None
            if not _NAME_IN_A_PATH.fullmatch(schema.name) or schema.name in _OWN_ROUTES:
                raise ValueError(f"{PARAMETERS}.tools[{number}]: {schema.name!r} can't be a route of a server")
            found.append(schema)
        return tuple(found)


def _conversation(parameters: Mapping[str, Any]) -> Any:
    instructions, said = parameters.get("instructions"), parameters["input"]
    if not instructions:
        return said
    said = [{"role": "user", "content": said}] if isinstance(said, str) else said
    return [{"role": "system", "content": instructions}, *said]
