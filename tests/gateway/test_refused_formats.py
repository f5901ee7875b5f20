"""Checks that a model's refusal of an answer's format names the field by which the caller's dialect asks for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gateway_app import TOKENS
from session_door import SESSION, opened

SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
FORM = {"type": "json_schema", "name": "out", "schema": SCHEMA}
HELLO = [{"role": "user", "content": "Hello"}]
BARE = {"type": "json_schema", "schema": SCHEMA}
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "response_format": ("openai/chat/completions", {"messages": HELLO, "response_format": {"type": "json_object"}}),
    "text.format": ("openai/responses", {"input": "Hello", "text": {"format": FORM}}),
    "output_format": ("anthropic/v1/messages", {"messages": HELLO, "max_tokens": 9, "output_format": BARE}),
    "output_config.format": (
        "anthropic/v1/messages",
        {"messages": HELLO, "max_tokens": 9, "output_config": {"format": BARE}},
    ),
}


@pytest.mark.parametrize("in_session", [False, True])
@pytest.mark.parametrize("field", ASKED)
async def test_the_field_is_named_as_the_caller_has_it(tmp_path: Path, field: str, in_session: bool) -> None:
    path, body = ASKED[field]
    plain = f"/v1/{path.removeprefix('openai/').removeprefix('anthropic/v1/')}"
    async with opened(tmp_path) as door, door.web(door.key if in_session else TOKENS["alice"]) as web:
        answer = await web.post(
            f"/v1/sessions/{SESSION}/{path}" if in_session else plain, json={"model": "small", **body}
        )
    problem = answer.json()["error"]
    assert (answer.status_code, problem["message"]) == (
        400,
        f"{field}: a scripted model can't follow one; leave it out",
    )
    assert problem.get("param", field) == field
