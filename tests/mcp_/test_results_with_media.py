"""Checks that a result of an MCP server keeps its texts beside a picture."""

from __future__ import annotations

from typing import Any

from mcp_types import CallToolResult

from ray_gym.mcp.results import read_result

PICTURE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}


def result_of(*parts: dict[str, Any]) -> CallToolResult:
    return CallToolResult.model_validate({"content": list(parts)})


def test_texts_beside_a_picture_are_kept() -> None:
    answer = read_result(result_of({"type": "text", "text": "Seat 4"}, PICTURE))
    assert answer.content == "Seat 4\n[image (image/png): it is left out, as only text can be read here]"
    assert answer.error is None


def test_a_picture_alone_is_an_error_that_says_so() -> None:
    answer = read_result(result_of(PICTURE))
    assert answer.error == "the result has image (image/png) in it, and only text can be shown here"
