"""Makes the answers of a double of an OpenAI server to the conversations of `chat_environment`.

An answer depends on the number of the request's messages, and is made once for each. It has the form of vLLM's answers
with `return_token_ids` and `logprobs`. The ids of a message depend on its position only, so each prompt begins with the
exact ids of the previous prompt and its answer.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import numpy as np

from benchmarks.chat_environment import SENTENCES, TOPICS

NAME = "double"
FIRST_IDS = 120
"""Number of ids of the system prompt and the tools."""
MESSAGE_IDS = 30
"""Number of ids of each message, `MARKS` of them around its text."""
MARKS = 6
IDS: list[int] = ((np.arange(100_000) * 7919) % 49152).tolist()
LOGPROBS: list[float] = (-(np.arange(100_000) % 17) / 8).tolist()

_STONES = re.compile("|".join(f"is {stone}\\?" for stone in TOPICS).encode())
_OPENING = 2
"""Number of messages of the first request: a system prompt and the opening."""


def answer(body: bytes) -> bytes:
    """Returns the HTTP response to a request for a chat completion. `body`: the whole HTTP request.

    The request is searched and not parsed, so that the double takes little CPU time.
    """
    messages = body.count(b'"role"')
    stone = _STONES.search(body) if messages == _OPENING and b'"tools"' in body else None
    return _answer(messages, stone.group()[3:-1].decode() if stone else "")


def models() -> bytes:
    """Returns the HTTP response to a request for the list of models."""
    return _http({"object": "list", "data": [{"id": NAME, "object": "model", "max_model_len": 32768}]})


@cache
def _answer(messages: int, stone: str) -> bytes:
    prompt = FIRST_IDS + MESSAGE_IDS * messages
    drawn = slice(prompt, prompt + MESSAGE_IDS - MARKS)
    message: dict[str, Any] = {"role": "assistant", "content": SENTENCES[messages % len(SENTENCES)], "tool_calls": []}
    if stone:
        function = {"name": "look_up", "arguments": json.dumps({"stone": stone})}
        calls = [{"id": f"chatcmpl-tool-{messages:032x}", "type": "function", "function": function}]
        message |= {"content": None, "tool_calls": calls}
    choice = {
        "index": 0,
        "message": message | {"refusal": None, "annotations": None, "audio": None, "reasoning": None},
        "logprobs": {"content": [_logprob(position) for position in range(drawn.start, drawn.stop)]},
        "finish_reason": "tool_calls" if stone else "stop",
        "stop_reason": None,
        "token_ids": IDS[drawn],
    }
    count = drawn.stop - drawn.start
    usage = {"prompt_tokens": prompt, "completion_tokens": count, "total_tokens": prompt + count}
    given = {"id": f"chatcmpl-{messages:032x}", "object": "chat.completion", "created": 1_750_000_000, "model": NAME}
    told = {"prompt_logprobs": None, "prompt_token_ids": IDS[:prompt], "kv_transfer_params": None}
    return _http({**given, "choices": [choice], "usage": usage, **told})


def _logprob(position: int) -> dict[str, Any]:
    token = f" word{position % 10}"
    return {"token": token, "logprob": LOGPROBS[position], "bytes": list(token.encode()), "top_logprobs": []}


def _http(body: Any) -> bytes:
    data = json.dumps(body, separators=(",", ":")).encode()
    head = f"HTTP/1.1 200 OK\r\nserver: double\r\ncontent-length: {len(data)}\r\ncontent-type: application/json\r\n\r\n"
    return head.encode() + data
