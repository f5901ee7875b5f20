"""Checks which ends of an endpoint's answer are ends, and that any other loses the call."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai_calls import MOVE, request
from playing import Talk, play_script

from ray_gym.engines import openai_wire as wire
from ray_gym.messages import Message
from ray_gym.models.base import Completion
from ray_gym.openai_api.chat import chat_completion, read_chat
from ray_gym.openai_api.responses import read_responses, response


def answer(**choice: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": "Hi."}, **choice}]}


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("stop", "stop"),
        ("tool_calls", "stop"),
        ("function_call", "stop"),
        ("STOP", "stop"),
        ("eos_token", "stop"),
        ("length", "length"),
        ("MAX_TOKENS", "length"),
        ("content_filter", "content_filter"),
        ("SAFETY", "content_filter"),
        ("tool_use", "stop"),
        ("COMPLETE", "stop"),
        ("model_length", "length"),
        ("refusal", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("sensitive", "content_filter"),
        ("IMAGE_SAFETY", "content_filter"),
        ("ERROR_TOXIC", "content_filter"),
        ("guardrail_intervened", "content_filter"),
        ("model_context_window_exceeded", "context_full"),
        ("tool-calls", "stop"),
        ("function_calls", "stop"),
        ("endoftext", "stop"),
        ("token_limit", "length"),
        ("max_length", "length"),
        ("max_output_tokens", "length"),
        ("max_new_tokens", "length"),
        ("max_output", "length"),
        ("MAX_OUTPUT", "length"),
        ("content-filter", "content_filter"),
        ("content_filter: RECITATION", "content_filter"),
        ("FinishReason.STOP", "stop"),
        ("FINISH_REASON_SAFETY", "content_filter"),
    ],
)
def test_ends_of_an_answer(given: str, read: str) -> None:
    message = {
        "role": "assistant",
        "content": "Hi.",
        **({"tool_calls": [GOOD]} if "tool" in given or "func" in given else {}),
    }
    assert wire.completion(answer(message=message, finish_reason=given), request(), False, {}).finish_reason == read


@pytest.mark.parametrize("ends", ["content_filter: PROHIBITED_CONTENT", "stop", "length"])
@pytest.mark.parametrize("message", [{}, {"message": None}])
def test_an_answer_of_nothing_may_have_no_message(ends: str, message: dict[str, None]) -> None:
    given = {"choices": [{"index": 0, "finish_reason": ends, **message}]}
    for answered in (given, wire.read(json.dumps(given).encode())):
        read = wire.completion(answered, request(), False, {})
        assert (read.message, read.finish_reason) == (Message("assistant"), ends.partition(":")[0])


@pytest.mark.parametrize("choice", [{"text": "hi"}, {"delta": {"content": "hi"}}, {"message": None, "text": "hi"}])
def test_words_that_are_elsewhere_are_no_empty_answer(choice: dict[str, Any]) -> None:
    given = {"choices": [{"finish_reason": "stop", **choice}]}
    for answered in (given, wire.read(json.dumps(given).encode())):
        with pytest.raises(wire.BadAnswer, match="the choice has no message"):
            wire.completion(answered, request(), False, {})


@pytest.mark.parametrize(
    "ends",
    [
        "function_call_filter: MALFORMED_FUNCTION_CALL",
        "malformed_function_call",
        "UNEXPECTED_TOOL_CALL",
        "malformed_tool_use",
        "malformedToolUse",
        "malformed_model_output",
    ],
)
def test_a_call_that_the_endpoint_leaves_out_is_one_that_cant_be_read(ends: str) -> None:
    for choice in ({}, {"message": {"role": "assistant", "content": None}}):
        given = {"choices": [{"finish_reason": ends, **choice}]}
        for answered in (given, wire.read(json.dumps(given).encode())):
            read = wire.completion(answered, request(tools=(MOVE,)), False, {})
            [call] = read.message.tool_calls
            assert (call.name, call.arguments, read.finish_reason) == ("", "", "stop")
            assert not wire.completion(answered, request(), False, {}).message.tool_calls


@pytest.mark.parametrize("ends", ["tool_calls", "function_call", "tool_use", "TOOL_CALLS", "tool-calls"])
@pytest.mark.parametrize(
    "message", [{"content": None, "tool_calls": []}, {"content": None}, {"content": "I look.", "tool_calls": None}]
)
def test_an_end_by_a_call_without_a_call_loses_it(ends: str, message: dict[str, Any]) -> None:
    given = answer(message={"role": "assistant", **message}, finish_reason=ends)
    for read in (given, wire.read(json.dumps(given).encode())):
        with pytest.raises(wire.BadAnswer, match="and has no call"):
            wire.completion(read, request(), False, {})


@pytest.mark.parametrize("given", ["abort", "error", "cancelled", "time_limit", "-", "", None, 7, ["stop"]])
def test_what_is_no_end_loses_the_call(given: Any) -> None:
    with pytest.raises(wire.BadAnswer, match="is no end of an answer"):
        wire.completion(answer(finish_reason=given), request(), False, {})


EXACT: dict[str, Any] = {"prompt_token_ids": [1, 2], "token_ids": [7], "logprobs": [-0.5]}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *[(field, [bad]) for field in ("prompt_token_ids", "token_ids") for bad in (-1, 1.7, 1.0, True, "7", None, 2**31, [7])],
        *[("logprobs", [bad]) for bad in (0.5, True, "-0.5", None, float("nan"), float("inf"))],
        ("token_ids", "7"),
        ("token_ids", {"0": 7}),
    ],
)  # fmt: skip
def test_ids_and_logprobs_that_can_be_none_lose_the_call(field: str, value: Any) -> None:
    fields = {**EXACT, field: value}
    logprobs = {"content": [{"logprob": one} for one in fields["logprobs"]]}
    given = answer(finish_reason="stop", token_ids=fields["token_ids"], logprobs=logprobs)
    with pytest.raises(wire.BadAnswer, match=r"token ids that|logprobs"):
        wire.completion({**given, "prompt_token_ids": fields["prompt_token_ids"]}, request(), True, {})


@pytest.mark.parametrize("logprob", [0, -0.0, 1e-7, -0.5, -9998])
def test_a_logprob_is_at_most_0(logprob: float) -> None:
    given = answer(finish_reason="stop", token_ids=[7], logprobs={"content": [{"logprob": logprob}]})
    read = wire.completion({**given, "prompt_token_ids": [1, 2]}, request(), True, {})
    assert read.token_ids.tolist() == [7] and abs(float(read.logprobs[0]) - logprob) < 1e-6


@pytest.mark.parametrize("where", ["answer", "choice", "message"])
def test_an_error_beside_the_words_loses_the_call(where: str) -> None:
    error = {"error": {"message": "provider died", "code": 502}}
    given = answer(finish_reason="stop", **(error if where == "choice" else {})) | (error if where == "answer" else {})
    if where == "message":
        given = answer(finish_reason="stop", message={"role": "assistant", "content": "hi", **error})
    for read in (given, wire.read(json.dumps(given).encode())):
        with pytest.raises(wire.BadAnswer, match="it broke off with an error: provider died"):
            wire.completion(read, request(), False, {})


def test_the_choice_of_index_0_is_the_answer() -> None:
    choices = [
        {"index": index, "finish_reason": "stop", "message": {"role": "assistant", "content": f"choice {index}"}}
        for index in (1, 0)
    ]
    for read in ({"choices": choices}, wire.read(json.dumps({"choices": choices}).encode())):
        assert wire.completion(read, request(), False, {}).message.content == "choice 0"


def test_an_answer_without_an_end_loses_the_call() -> None:
    with pytest.raises(wire.BadAnswer, match="finish_reason None"):
        wire.completion(answer(), request(), False, {})


def test_a_refusal_in_the_place_of_content_is_what_was_said() -> None:
    refused = {"role": "assistant", "content": None, "refusal": "I can't."}
    read = wire.completion(answer(message=refused, finish_reason="stop"), request(), False, {})
    assert read.message.content == "I can't."


CITED = {"type": "reference", "reference_ids": [1]}


@pytest.mark.parametrize(
    ("message", "words", "reasoning"),
    [
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb", None),
        ({"content": [{"type": "refusal", "refusal": "I can't."}]}, "I can't.", None),
        ({"content": None, "audio": {"id": "a", "transcript": "Hi."}}, "Hi.", None),
        ({"content": "One.", "refusal": "No more."}, "One.\n\nNo more.", None),
        ({"content": [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": "Hi."}]}, "Hi.", "Hm."),
        ({"content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Hi."}]}, "Hi.", "Hm."),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, "Hi."]}, "Hi.", "Hm."),
        ({"content": [{"type": "redacted_thinking", "data": "x"}, {"text": "Hi."}]}, "Hi.", None),
        ({"content": "Hi.", "reasoning": [{"type": "text", "text": "Hm."}]}, "Hi.", "Hm."),
        ({"content": "Hi.", "thinking": "Hm."}, "Hi.", "Hm."),
        ({"content": "Hi.", "reasoning_text": "Hm."}, "Hi.", "Hm."),
        ({"content": None, "tool_plan": "Hm."}, "", "Hm."),
        (
            {"content": "Hi.", "thinking_blocks": [{"type": "thinking", "thinking": "Hm.", "signature": "x"}]},
            "Hi.",
            "Hm.",
        ),
        (
            {
                "content": "Hi.",
                "reasoning_content": "Hm.",
                "thinking_blocks": [{"type": "thinking", "thinking": "Hm."}],
            },
            "Hi.",
            "Hm.",
        ),
        ({"content": "Hi.", "thinking": None, "tool_plan": ""}, "Hi.", None),
        ({"content": "Hi.", "reasoning": {"text": "Hm."}}, "Hi.", "Hm."),
        ({"content": [{"type": "text", "text": "a"}, CITED]}, "a", None),
        ({"content": [CITED, "In Rome", CITED, ".", {"type": "text", "text": "b"}]}, "In Rome.\nb", None),
        ({"content": [{"type": "thinking", "thinking": ["a", CITED, "b"]}, CITED, "c"]}, "c", "ab"),
    ],
)
def test_parts_of_an_answer_are_read_by_the_rule_of_requests(
    message: dict[str, Any], words: str, reasoning: str | None
) -> None:
    read = wire.completion(answer(message={"role": "assistant", **message}, finish_reason="stop"), request(), False, {})
    assert (read.message.content, read.message.reasoning) == (words, reasoning)


def test_an_answer_that_is_no_text_is_a_bad_one() -> None:
    given = {"role": "assistant", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}
    with pytest.raises(wire.BadAnswer, match="content of type 'image_url'"):
        wire.completion(answer(message=given, finish_reason="stop"), request(), False, {})


def test_reasoning_that_is_no_text_is_named() -> None:
    given = {"role": "assistant", "content": "Hi.", "reasoning": 5}
    with pytest.raises(wire.BadAnswer, match=r"^reasoning: expected text, got int"):
        wire.completion(answer(message=given, finish_reason="stop"), request(), False, {})


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ({"type": "text", "content": "4"}, "content of content of type 'text'"),
        ({"type": "output_text"}, "text is missing"),
        ({"text": "4", "image": "b64"}, "image of"),
        ({"type": "thinking", "thinking": "Hm.", "text": "4"}, "text of"),
        ({**CITED, "text": "4"}, "text of"),
    ],
)
def test_a_part_of_an_answer_of_which_something_would_be_lost_is_a_bad_one(part: dict[str, Any], told: str) -> None:
    given = {"role": "assistant", "content": [{"type": "text", "text": "Hi."}, part]}
    with pytest.raises(wire.BadAnswer, match=told):
        wire.completion(answer(message=given, finish_reason="stop"), request(), False, {})


FILTERED = Completion(Message("assistant", "Once"), finish_reason="content_filter")


async def test_a_filtered_answer_of_the_policy_has_a_stop_reason_of_its_own() -> None:
    game = await play_script(Talk(), [FILTERED])
    assert game.stop == ("content_filter", "Once") and game.played.status == "completed"


async def test_a_filtered_answer_of_a_user_is_the_users_failure() -> None:
    game = await play_script(Talk(), ["Hello."], [FILTERED])
    assert game.played.failure is not None
    assert game.played.failure.kind == "user" and "content_filter" in game.played.failure.message


def test_callers_are_told_of_a_filtered_answer() -> None:
    body = {"model": "small", "messages": [{"role": "user", "content": "Hi."}]}
    told = chat_completion(FILTERED, read_chat(body), "id", 0)
    assert told["choices"][0]["finish_reason"] == "content_filter"
    whole = response(FILTERED, read_responses({"model": "small", "input": "Hi."}), "id", 0)
    assert whole["status"] == "incomplete" and whole["incomplete_details"] == {"reason": "content_filter"}


GOOD = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}


@pytest.mark.parametrize(
    "bad",
    [
        {"id": "b", "function": {"arguments": "{}"}},
        {"id": "b", "type": "function", "function": {"name": None, "arguments": "{}"}},
        {"id": "b", "type": "custom", "custom": {"input": "x"}},
        {"id": "b", "function": "look"},
        {"id": "b", "function": {"name": "look", "parameters": {"at": 1}}},
        {"id": "b", "function": {"name": "look", "arguments": None, "args": '{"at": 1}'}},
        {"id": "b", "function": {"name": "look", "arguments": ""}, "input": {"at": 1}},
        {"id": "b", "function": {"name": "look"}, "arguments": '{"at": 1}'},
        "look",
        None,
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_call_that_cannot_be_read_leaves_the_others(bad: Any, first: bool) -> None:
    message = {"role": "assistant", "content": "", "tool_calls": [bad, GOOD] if first else [GOOD, bad]}
    read = wire.completion(answer(message=message, finish_reason="tool_calls"), request(), False, {})
    calls = read.message.tool_calls if first else read.message.tool_calls[::-1]
    assert [call.name for call in calls] == ["", "look"] and calls[0].id and calls[0].id != "a"
    assert json.loads(calls[0].arguments) == bad, "it is answered with what it was"


FORMER = {"role": "assistant", "content": "I look.", "function_call": {"name": "look", "arguments": '{"at": 1}'}}


def test_a_call_in_the_earlier_form_is_a_call() -> None:
    read = wire.completion(answer(message=FORMER, finish_reason="function_call"), request(), False, {})
    assert [(call.name, call.arguments) for call in read.message.tool_calls] == [("look", '{"at": 1}')]
    assert read.message.tool_calls[0].id and read.message.content == "I look."


@pytest.mark.parametrize("function", [GOOD["function"], {"name": "", "arguments": "{}"}, {"name": "pay"}])
def test_a_call_in_both_forms_is_one_call(function: dict[str, Any]) -> None:
    """Some servers write a call in the earlier form, too."""
    message = {"role": "assistant", "content": "", "tool_calls": [GOOD], "function_call": function}
    read = wire.completion(answer(message=message, finish_reason="tool_calls"), request(), False, {})
    assert [(call.id, call.name) for call in read.message.tool_calls] == [(GOOD["id"], "look")]


@pytest.mark.parametrize(
    "field",
    [
        {"tool_call": {"id": "b", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}},
        {"tool_call": {"name": "look", "arguments": '{"at": 1}'}},
        {"toolCalls": [{"id": "b", "name": "look", "arguments": '{"at": 1}'}]},
        {"function_calls": [{"name": "look", "arguments": {"at": 1}}], "tool_calls": []},
        {"tool_calls": {"name": "look", "arguments": {"at": 1}}, "tool_call": {"name": "look"}},
        {
            "function_call": None,
            "tool_calls": None,
            "tool-call": [{"function": {"name": "look", "arguments": {"at": 1}}}],
        },
    ],
)
@pytest.mark.parametrize("ends", ["stop", "tool_calls"])
def test_a_call_under_another_name_is_a_call(field: dict[str, Any], ends: str) -> None:
    given = answer(message={"role": "assistant", "content": "I look.", **field}, finish_reason=ends)
    for sent in (given, wire.read(json.dumps(given).encode())):
        read = wire.completion(sent, request(), False, {})
        assert [(call.name, json.loads(call.arguments)) for call in read.message.tool_calls] == [("look", {"at": 1})]
        assert read.message.tool_calls[0].id and read.message.content == "I look."


@pytest.mark.parametrize(
    "part",
    [
        {"type": "tool_use", "id": "b", "name": "look", "input": {"at": 1}},
        {"type": "toolUse", "name": "look", "input": '{"at": 1}'},
        {"type": "tool_call", "id": "b", "name": "look", "arguments": {"at": 1}},
        {"type": "function_call", "function": {"name": "look", "arguments": '{"at": 1}'}},
    ],
)
@pytest.mark.parametrize("ends", ["stop", "tool_use"])
def test_a_part_of_the_content_that_is_a_call_is_a_call(part: dict[str, Any], ends: str) -> None:
    content = [{"type": "thinking", "thinking": "Where?"}, {"type": "text", "text": "I look."}, part]
    given = answer(message={"role": "assistant", "content": content}, finish_reason=ends)
    for sent in (given, wire.read(json.dumps(given).encode())):
        read = wire.completion(sent, request(), False, {}).message
        assert [(call.name, json.loads(call.arguments)) for call in read.tool_calls] == [("look", {"at": 1})]
        assert read.tool_calls[0].id and (read.content, read.reasoning) == ("I look.", "Where?")


def test_a_part_that_repeats_a_call_is_none_and_arguments_stay_as_they_came() -> None:
    parts = '[{"type": "tool_use", "id": "a", "name": "look", "input": {"at":1e5}}]'
    sent = '{"choices": [{"finish_reason": "tool_use", "message": {"content": %s%s}}]}'
    alone = wire.completion(wire.read((sent % (parts, "")).encode()), request(), False, {}).message
    assert [(call.id, call.arguments) for call in alone.tool_calls] == [("a", '{"at":1e5}')] and alone.content == ""
    both = sent % (parts, f', "tool_calls": [{json.dumps(GOOD)}]')
    assert len(wire.completion(wire.read(both.encode()), request(), False, {}).message.tool_calls) == 1


@pytest.mark.parametrize("text", ['{"at": 1}', "4, please"])
def test_a_free_form_call_has_its_text_as_arguments(text: str) -> None:
    call = {"id": "b", "type": "custom", "custom": {"name": "look", "input": text}}
    given = answer(message={"role": "assistant", "content": None, "tool_calls": [call]}, finish_reason="tool_calls")
    for sent in (given, wire.read(json.dumps(given).encode())):
        [read] = wire.completion(sent, request(), False, {}).message.tool_calls
        assert (read.id, read.name, read.arguments) == ("b", "look", text)


@pytest.mark.parametrize("beside", [{}, {"reasoning_content": None}])
@pytest.mark.parametrize(
    ("copy", "reasoning"), [({"reasoning_content": "Hm."}, "Hm."), ({"reasoning": 1}, None), (None, None)]
)
def test_reasoning_may_stand_in_litellms_copy(beside: dict[str, Any], copy: Any, reasoning: str | None) -> None:
    message = {"role": "assistant", "content": "Hi.", "provider_specific_fields": copy, **beside}
    given = answer(message=message, finish_reason="stop")
    for sent in (given, wire.read(json.dumps(given).encode())):
        read = wire.completion(sent, request(), False, {}).message
        assert (read.content, read.reasoning) == ("Hi.", reasoning)


def test_a_part_that_is_neither_words_nor_a_call_is_no_answer() -> None:
    given = answer(
        message={"role": "assistant", "content": [{"type": "tool_result", "content": "4"}]}, finish_reason="stop"
    )
    with pytest.raises(wire.BadAnswer, match="content of type 'tool_result': only text can be read"):
        wire.completion(given, request(), False, {})


@pytest.mark.parametrize("name", ["tool_call", "function_call", "tool_use"])
@pytest.mark.parametrize("call", ["look", {"name": "look", "input": {"at": 1}}, {"at": 1}, ["look"]])
def test_what_cannot_be_read_as_a_call_is_answered_with_what_it_was(name: str, call: Any) -> None:
    given = answer(message={"role": "assistant", "content": "I look.", name: call}, finish_reason="stop")
    for sent in (given, wire.read(json.dumps(given).encode())):
        [read] = wire.completion(sent, request(), False, {}).message.tool_calls
        assert read.name == "" and json.loads(read.arguments) == (call[0] if isinstance(call, list) else call)


ANSWER = '{"choices": [{"finish_reason": "tool_calls", "message": {"content": "", "tool_calls": [%s, %s]}}]}'
CALL = '{"id": "b", "function": {"name": "look", "arguments": %s}}'


@pytest.mark.parametrize(
    "arguments",
    [
        '{"at": 1e5}',
        '{"at": 1e400}',
        '{"at": 1.10, "at": 2}',
        '{"at":1 ,\n "to": [ ]}',
        '{"at": "\\ud83d"}',
        '{"at": "\\n\\/\\"\\\\u4f60"}',
        '{"at": "你"}',
        '{"at": %s}' % ("9" * 5000),
        "[1e5]",
        "1e5",
    ],
)
def test_arguments_that_are_no_text_stay_spelled_as_they_came(arguments: str) -> None:
    sent = ANSWER % (CALL % arguments, json.dumps(GOOD))
    read = wire.completion(wire.read(sent.encode()), request(), False, {})
    assert [call.arguments for call in read.message.tool_calls] == [arguments, "{}"]
    assert [call.id for call in read.message.tool_calls] == ["b", "a"]


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        ('{"at": "\\u4f60\\u597d"}', '{"at": "\u4f60\u597d"}'),
        ('{"at": "\\ud83d\\ude00\\u000a"}', '{"at": "\U0001f600\\n"}'),
        ('{"a\\u00e9": 1.0,  "b": "\\u0022"}', '{"a\u00e9": 1.0,  "b": "\\""}'),
        ('{"at": "\\\\\\u4f60\\ud83d"}', '{"at": "\\\\\u4f60\\ud83d"}'),
        (json.dumps('{"at": "\\u4f60"}'), '{"at": "\\u4f60"}'),
    ],
)
def test_codes_of_characters_in_an_object_are_the_wires_own(arguments: str, read: str) -> None:
    sent = ANSWER % (CALL % arguments, json.dumps(GOOD))
    found = wire.completion(wire.read(sent.encode()), request(), False, {})
    assert found.message.tool_calls[0].arguments == read


@pytest.mark.parametrize("arguments", ['{"at": NaN}', '{"at": NaN, "to": %s}' % ("9" * 5000), "null", '""'])
def test_odd_arguments_leave_the_other_calls(arguments: str) -> None:
    sent = ANSWER % (CALL % arguments, json.dumps(GOOD))
    read = wire.completion(wire.read(sent.encode()), request(), False, {})
    assert [(call.name, call.id) for call in read.message.tool_calls] == [("look", "b"), ("look", "a")]


@pytest.mark.parametrize(
    "function",
    [
        {"name": "look", "arguments": "{}", "parameters": {"at": 1}},
        {"name": "look", "parameters": {}},
        {"name": "look", "description": "Looks.", "strict": True},
    ],
)
def test_a_call_that_loses_no_arguments_is_carried_out(function: dict[str, Any]) -> None:
    sent = ANSWER % (json.dumps({"id": "b", "function": function}), json.dumps(GOOD))
    read = wire.completion(wire.read(sent.encode()), request(), False, {})
    assert [call.name for call in read.message.tool_calls] == ["look", "look"]


def test_a_call_that_cannot_be_read_stays_spelled_as_it_came() -> None:
    sent = ANSWER % ('{"function":  {"arguments": {"at": 1e5}}}', json.dumps(GOOD))
    read = wire.completion(wire.read(sent.encode()), request(), False, {})
    assert read.message.tool_calls[0].arguments == '{"function":  {"arguments": {"at": 1e5}}}'


def test_thoughts_in_parts_of_their_own_are_kept() -> None:
    details = [{"type": "reasoning.text", "text": "Hm."}, {"type": "reasoning.encrypted", "data": "x"}]
    message = {"role": "assistant", "content": "Hi.", "reasoning": None, "reasoning_details": details}
    sent = json.dumps(answer(message=message, finish_reason="stop"))
    read = wire.completion(wire.read(sent.encode()), request(), False, {})
    assert (read.message.reasoning, read.message.content) == ("Hm.", "Hi.")


def test_a_text_that_is_no_utf8_is_a_lost_call() -> None:
    sent = b'{"choices": [{"finish_reason": "stop", "message": {"content": "\xff"}}]}'
    with pytest.raises(ValueError):
        wire.completion(wire.read(sent), request(), False, {})
