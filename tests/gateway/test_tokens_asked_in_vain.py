"""Checks that requests for tokens are named in `X-Left-Out` if the model gives none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gateway_app import TOKENS
from session_door import opened

from ray_gym.messages import Message
from ray_gym.models.base import Completion
from ray_gym.openai_api.chat import read_chat
from ray_gym.play.dialects import CHAT, LEFT_OUT

HELLO: dict[str, Any] = {"model": "mute", "messages": [{"role": "user", "content": "Hello"}]}
INCLUDED = "message.output_text.logprobs"
ASKED: list[tuple[str, dict[str, Any], str | None]] = [
    ("chat/completions", HELLO, None),
    ("chat/completions", {**HELLO, "logprobs": True, "stream": True}, "logprobs"),
    ("chat/completions", {**HELLO, "logprobs": True, "return_token_ids": True}, "logprobs, return_token_ids"),
    ("responses", {"model": "mute", "input": "Hello", "include": [INCLUDED]}, f"include.{INCLUDED}"),
]


@pytest.mark.parametrize(("path", "body", "left_out"), ASKED)
async def test_a_model_without_tokens_has_the_field_named(
    tmp_path: Path, path: str, body: dict[str, Any], left_out: str | None
) -> None:
    async with opened(tmp_path) as door, door.web(TOKENS["alice"]) as web:
        answer = await web.post(f"/v1/{path}", json=body)
    assert (answer.status_code, answer.headers.get(LEFT_OUT)) == (200, left_out)


def test_a_model_with_tokens_leaves_nothing_out() -> None:
    asked = read_chat({**HELLO, "logprobs": True, "return_token_ids": True})
    drawn = Completion(
        Message("assistant", "a"), token_ids=np.array([7], np.int32), logprobs=np.array([-0.5], np.float32)
    )
    assert CHAT.headers(asked, drawn) == {}
