"""Checks that a session's door and the plain door understand a request alike: honoured by both, or refused by name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from ray_gym.deployments.vllm.openai_rules import check_body
from ray_gym.messages import ToolSchema, arguments_object
from ray_gym.openai_api.chat import ChatBody, read_chat
from ray_gym.openai_api.conversation import read_conversation
from ray_gym.openai_api.refused import Refused
from ray_gym.openai_api.request import EMPTY, HARMLESS, NEUTRAL, OFF
from ray_gym.openai_api.responses import ResponsesBody, read_responses

HELLO = [{"role": "user", "content": "Hello"}]
SHAPING: dict[str, Any] = {
    "min_tokens": 5,
    "ignore_eos": True,
    "bad_words": ["no"],
    "allowed_token_ids": [1, 2],
    "stop_token_ids": [3],
    "add_generation_prompt": False,
    "continue_final_message": True,
    "skip_special_tokens": False,
    "chat_template_kwargs": {"enable_thinking": False},
    "structured_outputs": {"regex": "a*"},
    "length_penalty": 2.0,
    "truncate_prompt_tokens": 10,
    "thinking_token_budget": 5,
    "documents": [{"title": "x"}],
    "guided_regex": "a*",
    "best_of": 2,
    "prompt_logprobs": 0,
    "logprob_token_ids": [5],
    "return_prompt_text": True,
    "include_reasoning": False,
    "priority": 1,
    "request_id": "mine",
    "session_id": "mine",
    "kv_transfer_params": {"a": 1},
    "mm_processor_kwargs": {"a": 1},
    "watermarking": True,
    "something_new": 0,
    "enable_thinking": False,
    "separate_reasoning": False,
    "guided_json": {},
    "use_beam_search": True,
}


@pytest.mark.parametrize("field", SHAPING)
def test_what_would_change_the_answer_is_refused_by_name_in_a_session(field: str) -> None:
    for read, body in ((read_chat, {"messages": HELLO}), (read_responses, {"input": "Hello"})):
        with pytest.raises(Refused) as refused:
            read({"model": "small", **body, field: SHAPING[field]})
        assert refused.value.status == 400 and field in str(refused.value)


@pytest.mark.parametrize("value", [{}, {"search_context_size": "low"}])
def test_a_search_is_refused_at_the_plain_door_too(value: dict[str, Any]) -> None:
    body = {"model": "small", "messages": HELLO, "web_search_options": value}
    with pytest.raises(Refused, match="web_search_options"):
        check_body(json.dumps(body).encode(), "small", True)


@pytest.mark.parametrize("field", sorted(OFF))
def test_what_is_off_may_be_false(field: str) -> None:
    body = {"model": "small", "messages": HELLO, field: False}
    assert read_chat(body) and check_body(json.dumps(body).encode(), "small", True)


@pytest.mark.parametrize("field", sorted(EMPTY))
def test_what_has_no_fields_may_be_empty(field: str) -> None:
    body: dict[str, Any] = {"model": "small", "messages": HELLO, field: {}}
    assert read_chat(body) and check_body(json.dumps(body).encode(), "small", True)


@pytest.mark.parametrize("value", [0, 1.0, -1])
def test_a_thinking_budget_is_refused_whatever_it_is(value: float) -> None:
    with pytest.raises(Refused, match="thinking_token_budget"):
        read_chat({"model": "small", "messages": HELLO, "thinking_token_budget": value})


def test_an_effort_is_left_out_and_named_in_a_session() -> None:
    """An agent can do without it, and must not end for it."""
    body = {"model": "small", "input": "Hello"}
    neutral = {"reasoning": {"effort": None, "summary": "auto"}, "text": {"verbosity": "medium"}}
    assert read_responses({**body, **neutral}).left_out == ()
    asked = read_responses({**body, "reasoning": {"effort": "low"}, "text": {"verbosity": "low"}})
    assert asked.left_out == ("reasoning.effort", "text.verbosity")
    with pytest.raises(Refused, match="max_tokens"):
        read_responses({**body, "max_tokens": 5})


@pytest.mark.parametrize(
    "more", [{"max_tokens": 8.0}, {"temperature": 2.5}, {"temperature": "0"}, {"top_k": 1.0}, {"min_p": True}]
)
def test_numbers_have_their_types_at_both_doors(more: dict[str, Any]) -> None:
    body = {"model": "small", "messages": HELLO, **more}
    for refused_by in (lambda: read_chat(body), lambda: check_body(json.dumps(body).encode(), "small", True)):
        with pytest.raises(Refused, match=next(iter(more))):
            refused_by()


CALLABLE: dict[str, Any] = {"tools": [{"type": "function", "function": {"name": "f"}}]}


@pytest.mark.parametrize(
    "more",
    [
        {"stop": ["x" * 201]},
        {"stop": [""]},
        {"stop": ""},
        {"stop": ["x"] * 17},
        {"seed": True},
        {"seed": 1.0},
        {"seed": 2**63},
        {"stream": 1},
        {"stream": "true"},
        {"parallel_tool_calls": "no"},
        {"return_token_ids": 1},
        {"logprobs": 1},
        {"max_tokens": 0},
        {"max_completion_tokens": 0},
        {"stream_options": {"include_usage": "yes"}},
        {"tools": {}},
        {"tool_choice": "required"},
        {"tool_choice": "any", **CALLABLE},
        {"tool_choice": {"type": "function", "function": {"name": "g"}}, **CALLABLE},
        {"tools": [{"type": None, "function": {"name": "f"}}]},
    ],
)
def test_a_value_that_one_door_refuses_the_other_refuses_too(more: dict[str, Any]) -> None:
    body = {"model": "small", "messages": HELLO, **more}
    for refused_by in (lambda: read_chat(body), lambda: check_body(json.dumps(body).encode(), "small", True)):
        with pytest.raises(Refused, match=next(iter(more))) as refused:
            refused_by()
        assert refused.value.status == 400


@pytest.mark.parametrize(
    "more",
    [{"tool_choice": "required"}, {"max_output_tokens": 0}, {"stream": "true"}, {"input": 5}, {"seed": 1.0}],
)
def test_a_value_of_a_response_that_one_door_refuses_the_other_refuses_too(more: dict[str, Any]) -> None:
    body = {"model": "small", "input": "Hello", **more}
    for refused_by in (lambda: read_responses(body), lambda: check_body(json.dumps(body).encode(), "small", True)):
        with pytest.raises(Refused, match=next(iter(more))):
            refused_by()


@pytest.mark.parametrize(
    ("more", "sent"),
    [
        ({"stop": "x" * 200}, {}),
        ({"seed": 2**63 - 1, "stream": True}, {}),
        ({"max_tokens": 2**40}, {"max_tokens": 1_000_000}),
        ({"tools": [{"function": {"name": "f"}}]}, {"tools": [ToolSchema("f", "", {}).as_openai()]}),
        ({"tool_choice": "required", **CALLABLE}, {"tools": [ToolSchema("f", "", {}).as_openai()]}),
    ],
)
def test_a_value_that_one_door_takes_the_other_takes_too(more: dict[str, Any], sent: dict[str, Any]) -> None:
    body = {"model": "small", "messages": HELLO, **more}
    read = read_chat(body)
    passed = json.loads(check_body(json.dumps(body).encode(), "small", True))
    for tool in passed.get("tools", ()):
        tool["function"]["parameters"] = {}
    assert passed == {**body, **sent}
    assert len(read.tools) == len(passed.get("tools", ()))
    assert read.sampling.get("max_tokens") == passed.get("max_tokens")


def test_what_only_vllm_can_do_stays_open_at_the_plain_door() -> None:
    more = {"n": 2, "logit_bias": {"5": -1}, "logprobs": True, "top_logprobs": 3, "best_of": 1}
    body = {"model": "small", "messages": HELLO, **more}
    assert json.loads(check_body(json.dumps(body).encode(), "small", True)) == body
    prompted = {"model": "small", "prompt": "Hello", "max_tokens": 0, "echo": True, "logprobs": 5}
    assert json.loads(check_body(json.dumps(prompted).encode(), "small", True)) == prompted


@pytest.mark.parametrize("more", [{"tools": []}, {"tool_choice": "auto"}, {"tools": [], "tool_choice": "none"}])
def test_no_tools_may_be_given_at_both_doors(more: dict[str, Any]) -> None:
    body = {"model": "small", "messages": HELLO, **more}
    assert read_chat(body).tools == ()
    assert not more.keys() & json.loads(check_body(json.dumps(body).encode(), "small", True)).keys(), "vLLM refuses it"


@pytest.mark.parametrize("field", sorted(HARMLESS))
def test_fields_that_change_nothing_are_taken(field: str) -> None:
    assert read_chat({"model": "small", "messages": HELLO, field: "x" if field != "metadata" else {"x": "y"}})


@pytest.mark.parametrize("field", ["user", "service_tier", "safety_identifier", "prompt_cache_key"])
def test_fields_of_no_use_do_not_reach_vllm_which_reads_their_values(field: str) -> None:
    body = {"model": "small", "messages": HELLO, field: 5}
    assert read_chat(body)
    assert json.loads(check_body(json.dumps(body).encode(), "small", True)).keys() == {"model", "messages"}


@pytest.mark.parametrize("field", NEUTRAL)
def test_values_that_change_nothing_are_taken(field: str) -> None:
    empty: list[Any] = [NEUTRAL[field], None]
    if not isinstance(NEUTRAL[field], bool | int):
        empty += [[], {}, ""]
    for value in empty:
        read_chat({"model": "small", "messages": HELLO, field: value})


def test_all_tokens_are_spelled_in_two_ways() -> None:
    for spelled in (0, -1):
        assert read_chat({"model": "small", "messages": HELLO, "top_k": spelled}).sampling["top_k"] == 0
    with pytest.raises(Refused):
        read_chat({"model": "small", "messages": HELLO, "top_k": -2})


@pytest.mark.parametrize(
    ("parts", "joined"),
    [
        ([{"text": "Say"}, {"text": "hi."}], "Say\nhi."),
        ([{"type": "text", "text": "Say"}, {"type": "text", "text": "hi."}], "Say\nhi."),
        ([{"type": "text", "text": "Say"}, {"text": ""}, {"text": "hi."}], "Say\n\nhi."),
        ([{"type": "text", "text": "Say hi."}], "Say hi."),
        ("Say hi.", "Say hi."),
    ],
)
def test_parts_are_joined_alike(parts: Any, joined: str) -> None:
    body = {"model": "small", "messages": [{"role": "user", "content": parts}]}
    assert read_chat(body).messages[0].content == joined
    plain = json.loads(check_body(json.dumps(body).encode(), "small", True))
    assert plain["messages"][0]["content"] == joined
    assert read_responses({"model": "small", "input": body["messages"]}).messages[0].content == joined


def read_by_both(messages: list[dict[str, Any]]) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Returns the messages as a session reads them, and as vLLM gets them from the plain door."""
    body = {"model": "small", "messages": messages}
    plain = json.loads(check_body(json.dumps(body).encode(), "small", True))["messages"]
    return (
        [(one.role, one.content, one.reasoning) for one in read_chat(body).messages],
        [(one["role"], one["content"], one.get("reasoning")) for one in plain],
    )


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"role": "assistant", "content": ""}, ("assistant", "", None)),
        ({"role": "assistant", "content": None}, ("assistant", "", None)),
        ({"role": "assistant"}, ("assistant", "", None)),
        ({"role": "assistant", "content": None, "refusal": "I can't."}, ("assistant", "I can't.", None)),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}, ("assistant", "No.", None)),
        ({"role": "assistant", "content": "Hi.", "reasoning_content": "Hm."}, ("assistant", "Hi.", "Hm.")),
        (
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}, {"text": "Hi."}]},
            ("assistant", "Hi.", "Hm."),
        ),
        ({"role": "user", "content": None}, ("user", "", None)),
        ({"role": "user", "content": []}, ("user", "", None)),
        ({"role": "system", "content": None}, ("system", "", None)),
    ],
)
def test_a_message_is_the_same_at_both_doors(given: dict[str, Any], read: tuple[Any, ...]) -> None:
    user = {"role": "user", "content": "Hello"}
    session, plain = read_by_both([user, given, user])
    assert session == plain == [("user", "Hello", None), read, ("user", "Hello", None)]


CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLED = {"role": "assistant", "content": "", "tool_calls": [CALL]}
RESULT = {"role": "tool", "content": "r", "tool_call_id": "1"}


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "foo", "content": "Hi"}],
        [{"role": "User", "content": "Hi"}],
        [{"content": "Hi"}],
        [*HELLO, RESULT],
        [*HELLO, CALLED],
        [*HELLO, CALLED, {**RESULT, "tool_call_id": "2"}],
        [*HELLO, CALLED, {"role": "tool", "content": "r"}],
        [],
        "Hello",
    ],
)
def test_a_conversation_that_cannot_be_read_is_refused_at_both_doors(messages: Any) -> None:
    body = {"model": "small", "messages": messages}
    for refused_by in (lambda: read_chat(body), lambda: check_body(json.dumps(body).encode(), "small", True)):
        with pytest.raises(Refused, match="messages"):
            refused_by()


@pytest.mark.parametrize(
    ("called", "result"),
    [
        ({**CALLED, "tool_calls": [{**CALL, "function": {"name": "f", "arguments": {}}}]}, RESULT),
        ({"role": "assistant", "content": None, "tool_calls": [CALL]}, RESULT),
        ({**CALLED, "tool_calls": [CALL], "function_call": CALL["function"]}, RESULT),
        (
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "r"},
        ),
    ],
)
def test_calls_in_other_forms_are_the_same_at_both_doors(called: dict[str, Any], result: dict[str, Any]) -> None:
    body = {"model": "small", "messages": [*HELLO, called, result, *HELLO]}
    plain = json.loads(check_body(json.dumps(body).encode(), "small", True))["messages"]
    [session] = [one.tool_calls for one in read_chat(body).messages if one.tool_calls]
    [made] = [one["tool_calls"] for one in plain if "tool_calls" in one]
    assert [(one["function"]["name"], one["function"]["arguments"], one["id"]) for one in made] == [
        (call.name, call.arguments, call.id) for call in session
    ]
    assert (session[0].name, session[0].arguments) == ("f", "{}")


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ("not json", {"arguments": "not json"}),
        ('{"a": ', {"arguments": '{"a": '}),
        ("[1]", {"arguments": "[1]"}),
        ("", {}),
        ("null", {}),
        (" \n", {}),
        ('"null"', {"arguments": '"null"'}),
        ('{"a": "你"}', {"a": "你"}),
    ],
)
def test_arguments_that_are_no_object_are_shown_alike_at_both_doors(arguments: str, shown: dict[str, Any]) -> None:
    called = {**CALLED, "tool_calls": [{**CALL, "function": {"name": "f", "arguments": arguments}}]}
    body = {"model": "small", "messages": [*HELLO, called, RESULT, *HELLO]}
    plain = json.loads(check_body(json.dumps(body).encode(), "small", True))["messages"]
    [made] = [one["tool_calls"][0] for one in plain if "tool_calls" in one]
    [session] = [one.tool_calls[0] for one in read_chat(body).messages if one.tool_calls]
    assert session.arguments == arguments
    assert json.loads(made["function"]["arguments"]) == shown == arguments_object(session.arguments)


@pytest.mark.parametrize("given", [{"role": "user"}, {"role": "user", "content": [{"type": "text", "text": 5}]}])
def test_a_message_that_cannot_be_read_is_refused_at_both_doors(given: dict[str, Any]) -> None:
    body = {"model": "small", "messages": [given]}
    for refused_by in (lambda: read_chat(body), lambda: check_body(json.dumps(body).encode(), "small", True)):
        with pytest.raises(Refused, match=r"(messages|input)\[0\]"):
            refused_by()


NAMED: list[dict[str, Any]] = [
    {"role": "user", "content": "Hello", "name": "Ann"},
    {"role": "system", "content": "Be kind.", "name": "rules"},
    {"role": "developer", "content": "Be kind.", "name": 5},
]


@pytest.mark.parametrize("message", NAMED)
def test_a_speakers_name_is_left_out_in_a_session_and_refused_where_templates_may_show_it(message: Any) -> None:
    chat = read_chat({"model": "small", "messages": [message]})
    responses = read_responses({"model": "small", "input": [message]})
    assert chat.left_out == ("messages.name",) and responses.left_out == ("input.name",)
    assert chat.messages == responses.messages and chat.messages[0].content == message["content"]
    for refused_by in (
        lambda: check_body(json.dumps({"model": "small", "messages": [message]}).encode(), "small", True),
        lambda: read_conversation([message]),
    ):
        with pytest.raises((Refused, ValueError), match=r"(messages|input)\[0\]: name of a message"):
            refused_by()


ASKING: list[tuple[dict[str, Any], str]] = [
    ({"role": "assistant", "content": "The", "prefix": True}, "prefix"),
    ({"role": "assistant", "content": "The", "partial": True}, "partial"),
    ({"role": "developer", "content": "Hello", "tools": [{"type": "function"}]}, "tools"),
    ({"role": "user", "content": "Hello", "task": "search"}, "task"),
    ({"role": "user", "content": "Hello", "reasoning": "Hm"}, "reasoning"),
    ({"role": "user", "content": "Hello", "tool_call_id": "c"}, "tool_call_id"),
    ({"role": "assistant", "content": "The", "something_new": 0}, "something_new"),
]
"""Messages with a field that asks for something, and the field."""


def read_at_both_doors(messages: list[dict[str, Any]]) -> tuple[Any, Any]:
    body = {"model": "small", "messages": messages}
    return read_chat(body).messages, json.loads(check_body(json.dumps(body).encode(), "small", True))["messages"]


@pytest.mark.parametrize(("message", "field"), ASKING)
def test_a_field_of_a_message_that_is_not_followed_is_refused_by_name(message: dict[str, Any], field: str) -> None:
    body = {"model": "small", "messages": [*HELLO, message]}
    responses = {"model": "small", "input": [*HELLO, {"type": "message", **message}]}
    for refused_by in (
        lambda: read_chat(body),
        lambda: read_responses(responses),
        lambda: check_body(json.dumps(body).encode(), "small", True),
        lambda: check_body(json.dumps(responses).encode(), "small", True),
    ):
        with pytest.raises(
            Refused, match=rf"(messages|input)\[1\]: {field} of a message of role \w+ is not followed"
        ) as refused:
            refused_by()
        assert refused.value.status == 400
    with pytest.raises(ValueError, match=rf"messages\[1\]: {field} of"):
        read_conversation(
            [*HELLO, message] if message["role"] != "system" else [{**HELLO[0], "role": "system"}, message]
        )


def test_fields_of_a_message_that_ask_for_nothing_are_taken() -> None:
    idle = {"name": None, "prefix": False, "refusal": None, "audio": None, "annotations": [], "function_call": None}
    told = {"weight": 0, "id": "msg_1", "status": "completed", "metadata": {"a": 1}, "generation_token_ids": [1]}
    for more in (idle, told, {"name": "shopper"}, {"extra_content": {"google": {"thought_signature": "x"}}}):
        message = {"role": "assistant", "content": "The", **more}
        ours, theirs = read_at_both_doors([*HELLO, message])
        assert ours[1].content == "The" and theirs == [*HELLO, {"role": "assistant", "content": "The"}]
        assert read_conversation([*HELLO, message])[1]["content"] == "The"


def test_a_tools_name_beside_its_result_is_that_of_the_call() -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]}
    result = {"role": "tool", "tool_call_id": "c", "content": "1", "name": "f"}
    ours, theirs = read_at_both_doors([*HELLO, call, result])
    assert ours[2].content == "1" and theirs[2] == {"role": "tool", "content": "1", "tool_call_id": "c"}


READERS: list[Callable[[list[dict[str, Any]]], Any]] = [
    lambda messages: read_chat({"model": "small", "messages": messages}),
    lambda messages: read_responses({"model": "small", "input": messages}),
    lambda messages: check_body(json.dumps({"model": "small", "messages": messages}).encode(), "small", True),
    read_conversation,
]
"""Each reads messages, as the doors and the rows of tasks do."""
LOST: list[tuple[dict[str, Any], str]] = [
    ({"type": "text", "content": "What is 2+2?"}, "content of content of type 'text'"),
    ({"type": "input_text", "value": "x"}, "value of content of type 'input_text'"),
    ({"type": "input_text"}, "content of type 'input_text': text is missing"),
    ({}, "content of type 'text': text is missing"),
    ({"text": "What is in the picture?", "image": "b64"}, "image of content of type 'text'"),
    ({"type": "text", "text": "x", "image_url": {"url": "u"}}, "image_url of content of type 'text'"),
    ({"type": "text", "text": "x", "refusal": "No."}, "refusal of content of type 'text'"),
    ({"type": "refusal", "text": "No."}, "text of content of type 'refusal'"),
    ({"type": "text", "text": ["x"]}, "expected text, got list"),
    ({"type": "thinking", "thinking": "Hm.", "text": "Hi."}, "text of content of type 'thinking'"),
    ({"type": "thinking", "thought": "Hm."}, "thought of content of type 'thinking'"),
    ({"type": "reasoning"}, "content of type 'reasoning': its text is missing"),
]
"""Parts of which something would be lost, and what is said of them."""
OF_USERS: list[tuple[dict[str, Any], str]] = [
    ({"type": "thinking", "thinking": "Hm."}, "only an assistant's may have"),
    ({"type": "reasoning_text", "text": "Hm."}, "only an assistant's may have"),
]


@pytest.mark.parametrize(("part", "told"), [*LOST, *OF_USERS])
def test_a_part_of_which_something_would_be_lost_is_refused_by_name(part: dict[str, Any], told: str) -> None:
    for role in ("user", "assistant") if (part, told) in LOST else ("user", "system", "developer"):
        for read in READERS:
            with pytest.raises((Refused, ValueError), match=r"(messages|input)\[0\]: ") as refused:
                read([{"role": role, "content": [part]}])
            assert told in str(refused.value)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "text", "text": "Hi.", "cache_control": {"type": "ephemeral"}},
        {"type": "input_text", "text": "Hi.", "prompt_cache_breakpoint": {"mode": "explicit"}},
        {"type": "output_text", "text": "Hi.", "annotations": [{"type": "file"}], "logprobs": []},
        {"type": "text", "text": "Hi.", "image": None, "image_url": "", "citations": [1]},
        {"text": "Hi.", "type": None},
    ],
)
def test_fields_of_a_part_that_change_nothing_are_taken(part: dict[str, Any]) -> None:
    session, plain = read_by_both([{"role": "user", "content": [part]}])
    assert session == plain == [("user", "Hi.", None)]


@pytest.mark.parametrize(
    "part",
    [
        {"type": "thinking", "thinking": "Hm.", "signature": "abc"},
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}], "closed": True},
        {"type": "reasoning.text", "text": "Hm.", "format": "x", "index": 0, "id": "r"},
        {"type": "reasoning.summary", "summary": "Hm."},
        {"type": "reasoning", "reasoning": "Hm."},
    ],
)
def test_an_assistants_parts_of_reasoning_are_its_reasoning(part: dict[str, Any]) -> None:
    sealed: list[dict[str, Any]] = [
        {"type": "redacted_thinking", "data": "abc"},
        {"type": "reasoning.encrypted", "data": "abc"},
    ]
    for content in ([part, {"text": "Hi."}], [part, *sealed, {"text": "Hi."}]):
        session, plain = read_by_both([*HELLO, {"role": "assistant", "content": content}])
        assert session[1] == plain[1] == ("assistant", "Hi.", "Hm.")


ITEM_CALL = {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}
ITEM_RESULT = {"type": "function_call_output", "call_id": "1", "output": "r"}


@pytest.mark.parametrize("item", ["call", "result", "tool call", "function"])
@pytest.mark.parametrize("more", [{"error": "broken"}, {"status": "failed"}, {"something_new": 0}, {"is_error": True}])
def test_a_field_of_a_call_or_its_result_that_is_not_followed_is_refused_by_name(
    item: str, more: dict[str, Any]
) -> None:
    call, result = dict(ITEM_CALL), dict(ITEM_RESULT)
    chat = json.loads(json.dumps([CALLED, RESULT]))
    {
        "call": call,
        "result": result,
        "tool call": chat[0]["tool_calls"][0],
        "function": chat[0]["tool_calls"][0]["function"],
    }[item].update(more)
    messages = [*HELLO, call, result] if item in ("call", "result") else [*HELLO, *chat]
    body = {"model": "small", "input": messages}
    for refused_by in (
        lambda: read_responses(body),
        lambda: check_body(json.dumps(body).encode(), "small", True),
        lambda: read_conversation(messages),
    ):
        with pytest.raises((Refused, ValueError), match=rf"(messages|input)\[[12]\]: {next(iter(more))} of a"):
            refused_by()


def test_fields_of_items_that_change_nothing_are_taken() -> None:
    idle = {"id": "x", "status": "completed", "error": None, "logprobs": []}
    sealed = {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "abc", "status": None}
    thought = {"type": "reasoning", "summary": "Hm.", "content": ["So."]}
    asked = [*HELLO, sealed, thought, {**ITEM_CALL, **idle}, {**ITEM_RESULT, **idle, "name": "f"}]
    [_, said, result] = read_responses({"model": "small", "input": asked}).messages
    assert (said.tool_calls[0].name, said.reasoning, result.content) == ("f", "Hm.\n\nSo.", "r")


def test_a_sound_that_is_kept_elsewhere_is_refused() -> None:
    with pytest.raises(Refused, match=r"messages\[1\]: audio"):
        read_chat({"model": "small", "messages": [*HELLO, {"role": "assistant", "audio": {"id": "audio_1"}}]})
    with pytest.raises(Refused, match="tool calls of type 'custom'"):
        call = {**CALL, "type": "custom"}
        read_chat({"model": "small", "messages": [*HELLO, {**CALLED, "tool_calls": [call]}, RESULT]})


SCHEMA = {"type": "object"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}
NESTED_OF_CHAT: list[tuple[dict[str, Any], str]] = [
    ({"response_format": {"type": "json_object", "schema": SCHEMA}}, "schema"),
    ({"response_format": {"type": "text", "schema": SCHEMA}}, "schema"),
    ({"response_format": {"type": "json_object", "json_schema": {"schema": SCHEMA}}}, "json_schema"),
    (
        {"response_format": {"type": "json_schema", "schema": SCHEMA, "json_schema": {"schema": SCHEMA}}},
        "json_schema",
    ),
    ({"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA, "strict": "no"}}}, "strict"),
    ({"response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA, "foo": 1}}}, "foo"),
    ({"response_format": {"type": "json_object", "foo": 1}}, "foo"),
    ({"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "f"}, "foo": 1}}, "foo"),
    ({"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "f", "foo": 1}}}, "foo"),
]
NESTED_OF_RESPONSES: list[tuple[dict[str, Any], str]] = [
    ({"text": {"format": {"type": "json_object", "schema": SCHEMA}}}, "schema"),
    ({"text": {"format": {"type": "json_schema", "schema": SCHEMA, "foo": 1}}}, "foo"),
    ({"text": {"foo": 1}}, "foo"),
    ({"reasoning": {"enabled": False}}, "enabled"),
    ({"reasoning": {"max_tokens": 100}}, "max_tokens"),
    ({"reasoning": {"budget": 3}}, "budget"),
    ({"tools": [TOOL], "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [], "foo": 1}}, "foo"),
]


@pytest.mark.parametrize(("more", "field"), NESTED_OF_CHAT)
def test_a_nested_field_of_a_chat_that_is_not_followed_is_refused_by_name(more: dict[str, Any], field: str) -> None:
    with pytest.raises(Refused, match=rf"\b{field}\b"):
        read_chat({"model": "small", "messages": HELLO, **more})


@pytest.mark.parametrize(("more", "field"), NESTED_OF_RESPONSES)
def test_a_nested_field_of_a_response_that_is_not_followed_is_refused_by_name(more: dict[str, Any], field: str) -> None:
    with pytest.raises(Refused, match=rf"\b{field}\b"):
        read_responses({"model": "small", "input": "Hello", **more})


@pytest.mark.parametrize("more", [more for more, _ in NESTED_OF_CHAT])
def test_a_nested_field_of_a_chat_is_refused_at_the_plain_door_too(more: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        check_body(json.dumps({"model": "small", "messages": HELLO, **more}).encode(), "small", True)


@pytest.mark.parametrize("more", [*(more for more, _ in NESTED_OF_RESPONSES), {"text": {"verbosity": "low"}}])
def test_a_nested_field_of_a_response_is_refused_at_the_plain_door_too(more: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        check_body(json.dumps({"model": "small", "input": "Hello", **more}).encode(), "small", True)


@pytest.mark.parametrize(
    "tool",
    [
        {**TOOL, "foo": 1},
        {"type": "function", "function": {"name": "f", "parameters": SCHEMA, "foo": {"a": 1}}},
        {"type": "function", "name": "f", "parameters": SCHEMA, "foo": "x"},
        {"type": "custom", "name": "f", "foo": "x"},
        {"type": "custom", "custom": {"name": "f", "foo": "x"}},
        {"type": "namespace", "name": "s", "tools": [TOOL], "foo": True},
        {"type": "namespace", "name": "s", "tools": [{**TOOL, "foo": True}]},
    ],
)
def test_a_field_of_a_tool_that_is_not_followed_is_left_out_in_a_session(tool: dict[str, Any]) -> None:
    chat = read_chat({"model": "small", "messages": HELLO, "tools": [tool]})
    responses = read_responses({"model": "small", "input": "Hello", "tools": [tool]})
    assert chat.left_out == responses.left_out == ("tools.foo",) and chat.tools == responses.tools
    with pytest.raises(Refused):
        check_body(json.dumps({"model": "small", "messages": HELLO, "tools": [tool]}).encode(), "small", True)


def test_a_form_of_free_text_that_is_not_known_is_left_out() -> None:
    tool = {"type": "custom", "name": "f", "format": {"type": "regex"}}
    assert read_responses({"model": "small", "input": "Hello", "tools": [tool]}).left_out == ("tools.format",)


def test_formats_that_only_vllm_knows_reach_it() -> None:
    more = {"response_format": {"type": "structural_tag", "format": {"type": "any_text"}}}
    body = {"model": "small", "messages": HELLO, **more}
    assert (
        json.loads(check_body(json.dumps(body).encode(), "small", True))["response_format"] == more["response_format"]
    )
    body = {"model": "small", "input": "Hello", "reasoning": {"effort": "low", "summary": "auto"}}
    assert json.loads(check_body(json.dumps(body).encode(), "small", True))["reasoning"]["effort"] == "low"


CALLED_ITEM = {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"}
SEARCHED = {"type": "web_search_call", "id": "w"}


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"messages": HELLO, "max_tokens": 0}, "max_tokens: "),
        ({"messages": HELLO, "max_tokens": 5, "max_completion_tokens": 0}, "max_completion_tokens: "),
        ({"messages": HELLO, "stop": [""]}, "stop.0: "),
        ({"messages": HELLO, "top_p": 3}, "top_p: "),
        ({"messages": [*HELLO, {"role": "x"}]}, "messages: messages[1]: role"),
        ({"input": "x", "max_output_tokens": 0}, "max_output_tokens: "),
        ({"input": [SEARCHED, {"role": "x"}], "instructions": "Be kind."}, "input: input[1]: role"),
        ({"input": [*HELLO, SEARCHED, CALLED_ITEM], "instructions": "Be kind."}, "input: input[2]: the last call"),
        ({"input": [*HELLO, CALLED_ITEM, SEARCHED, *HELLO]}, "input: input[3]: call '1' before it"),
        ({"input": "x", "text": {"format": {"type": "xml"}}}, "text.format.type: "),
    ],
)
def test_an_error_names_the_callers_own_field(body: dict[str, Any], named: str) -> None:
    with pytest.raises(Refused, match=re.escape(named)) as refused:
        (read_chat if "messages" in body else read_responses)({"model": "small", **body})
    assert refused.value.message.startswith(named)


@pytest.mark.parametrize("strict", [{}, {"strict": None}, {"strict": False}, {"strict": True}])
def test_a_schema_is_kept_to_whatever_strict_says(strict: dict[str, Any]) -> None:
    tool = {"type": "function", "name": "f", "parameters": SCHEMA, **strict}
    chat: dict[str, Any] = {
        "model": "small",
        "messages": HELLO,
        "response_format": {"type": "json_schema", "json_schema": {"schema": SCHEMA, **strict}},
        "tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA, **strict}}],
    }
    text = {"format": {"type": "json_schema", "name": "answer", "schema": SCHEMA, **strict}}
    responses = {"model": "small", "input": "Hello", "text": text, "tools": [tool]}
    said = [read_chat(chat), read_responses(responses)]
    kept = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True}}
    assert [json.loads(one.response_format or "") for one in said] == [kept, kept]
    assert said[0].tools == said[1].tools and said[0].left_out == said[1].left_out == ()
    for body in (chat, responses):
        check_body(json.dumps(body).encode(), "small", True)


def test_nested_fields_that_change_nothing_are_taken() -> None:
    strict = {"type": "function", "strict": True, "function": {"name": "f", "strict": False, "description": None}}
    held = {"type": "json_schema", "json_schema": {"name": "n", "description": "d", "schema": SCHEMA, "strict": True}}
    chat = {
        "tools": [{**strict, "cache_control": {"type": "ephemeral"}}],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "stream_options": {"include_usage": True, "continuous_usage_stats": True, "include_obfuscation": False},
        "response_format": {**held, "schema": None},
    }
    read = read_chat({"model": "small", "messages": HELLO, **chat})
    assert read.include_usage and read.tools[0].name == "f"
    assert json.loads(read.response_format or "")["json_schema"]["name"] == "n"
    responses = {
        "include": ["reasoning.encrypted_content", "file_search_call.results"],
        "stream_options": {"include_obfuscation": False},
        "reasoning": {"summary": "auto", "generate_summary": None, "effort": None},
        "text": {"verbosity": "medium", "format": {"type": "json_schema", "name": "n", "schema": SCHEMA}},
    }
    assert read_responses({"model": "small", "input": "Hello", **responses}).response_format is not None


def test_every_object_in_a_body_says_what_becomes_of_fields_that_are_not_read() -> None:
    """A new nested class is a `Nested`, or says itself that it ignores fields; none has pydantic's silent default."""

    def classes_in(annotation: Any) -> Iterator[type[BaseModel]]:
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield annotation
            for field in annotation.model_fields.values():
                yield from classes_in(field.annotation)
        for inner in get_args(annotation):
            yield from classes_in(inner)

    found = {*classes_in(ChatBody), *classes_in(ResponsesBody)}
    assert len(found) >= 6
    assert [one.__name__ for one in found if "extra" not in one.model_config] == []
