"""Requests and answers as bytes."""

from __future__ import annotations

import numpy as np
from replicas import asked

from ray_gym.hosting.lanes import wire
from ray_gym.messages import Message, ToolCall, ToolSchema
from ray_gym.models.base import Completion, CompletionRequest, Sampling, VersionSpan

TOOL = ToolSchema("look_up", "Looks it up.", {"type": "object", "properties": {"stone": {"type": "string"}}})


def test_requests_and_answers_are_the_same_on_the_other_side() -> None:
    call = ToolCall("call_1", "look_up", '{"stone": "slate"}')
    messages = [
        Message("system", "s"),
        Message("assistant", reasoning="r", tool_calls=(call,)),
        Message("tool", "x", tool_call_id="c"),
    ]
    sampling = Sampling(temperature=0.5, stop=("a", "b"), seed=3)
    request = CompletionRequest(messages, sampling, "session", 2**63 - 1, "policy", 2, np.arange(5, dtype=np.int32))
    request.tools, request.allowed_tools = (TOOL, TOOL), (TOOL,)
    request.tool_choice, request.response_format, request.group_id = "required", '{"type":"json_object"}', "group"
    request.line = "user"
    found = wire.decode_request(wire.encode_request(request))
    assert found.history.tolist() == request.history.tolist() and found.history.dtype == np.int32
    found.history = request.history
    assert found == request
    ids, logprobs = np.arange(3, dtype=np.int32), np.array([-1, -0.5, 0], dtype=np.float32)
    completion = Completion(
        messages[1], "length", ids, (3,), ids, logprobs, (VersionSpan(4, 0, 3),), generated_tokens=3
    )
    (answer,) = wire.decode_answers(wire.encode_answers([wire.completion_answer(7, completion)]))
    assert answer.number == 7
    assert repr(wire.completion_of(answer)) == repr(completion)


def test_lone_surrogates_do_not_spoil_a_batch() -> None:
    assert wire.decode_request(wire.encode_request(asked("a\ud800b"))).messages[0].content == "a?b"
    answer = wire.completion_answer(1, Completion(Message("assistant", "a\ud800b")))
    assert wire.completion_of(answer).message.content == "a?b"
