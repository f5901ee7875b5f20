"""Checks what agents ask of a session's own door beside plain chats, over HTTP on the running service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import openai
import pytest
from black_box import Agent, result, samples, shopping, user
from served import Served

pytestmark = [pytest.mark.ray, pytest.mark.services]


@pytest.fixture
def agent(service: Served) -> Iterator[Agent]:
    with shopping(service) as agent:
        yield agent


def flat(tools: Any) -> Any:
    return [{"type": "function", "strict": False, **tool["function"]} for tool in tools]


def test_threads_side_by_side_go_on_each_by_its_ids_or_by_its_items(service: Served, agent: Agent) -> None:
    """One agent says the whole conversation each time, another says only what is new.

    Both call two tools at once, told one by one.
    """
    system, first = agent.past
    tools = flat(agent.tools)

    def ask(**more: Any) -> Any:
        return agent.client.responses.create(model="policy", instructions=system["content"], tools=tools, **more)

    def by_ids(name: str) -> None:
        said = ask(input=[first, user(f"{name}: buy and buy")])
        for step in range(3):
            outputs = [
                {"type": "function_call_output", "call_id": item.call_id, "output": f"{name} pen"}
                for item in said.output
                if item.type == "function_call"
            ]
            said = ask(input=outputs or f"{name} {step}", previous_response_id=said.id)

    def by_items(name: str) -> None:
        items: list[Any] = [first, user(f"{name}: buy and buy")]
        for step in range(4):
            output = ask(input=items).output
            for item in output:
                if item.type == "function_call":
                    items += [item, {"type": "function_call_output", "call_id": item.call_id, "output": f"{name} pen"}]
                elif item.type == "message":
                    items += [item, user(f"{name} {step}")]

    with ThreadPoolExecutor(4) as threads:
        played = [threads.submit(by_ids, "a"), threads.submit(by_items, "b"), threads.submit(by_ids, "c")]
    for one in played:
        one.result()
    found = samples(service, agent)
    assert sorted(thread for thread, *_ in found) == ["policy", "policy/1", "policy/2"]
    texts = sorted(text.partition("user: ")[2].partition("user: ")[2] for *_, text in found)
    assert [(text[0], text.count("assistant: "), text.count(f"tool: {text[0]} pen")) for text in texts] == [
        (name, 4, 2) for name in "abc"
    ]


def test_an_answer_that_was_never_given_cannot_be_resumed(agent: Agent) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        agent.client.responses.create(model="policy", input="x", previous_response_id="resp_1")
    assert (refused.value.code, refused.value.param) == ("previous_response_not_found", "previous_response_id")


def test_what_a_model_cannot_do_is_told_and_costs_nothing(service: Served, agent: Agent) -> None:
    with pytest.raises(openai.BadRequestError, match="can't follow one") as refused:
        agent.ask(response_format={"type": "json_object"})
    assert refused.value.param == "response_format"
    said = agent.ask({"role": "system", "content": "Be brief."})
    assert said.content == "re: Be brief."
    assert [(thread, reason) for thread, reason, _ in samples(service, agent)] == [("policy", None)]


def test_calls_of_one_answer_in_a_chat_told_one_by_one(service: Served, agent: Agent) -> None:
    said = agent.ask(user("buy and buy"))
    past: list[Any] = [user("buy and buy")]
    for call in said.tool_calls:
        arguments = json.dumps(json.loads(call.function.arguments))
        made = {"id": call.id, "type": "function", "function": {"name": call.function.name, "arguments": arguments}}
        past += [{"role": "assistant", "content": None, "tool_calls": [made]}, result(call.id)]
    agent.ask(*past)
    assert [(thread, reason) for thread, reason, _ in samples(service, agent)] == [("policy", None)]


def test_the_model_by_its_name(agent: Agent) -> None:
    assert agent.client.models.retrieve("policy").id == "policy"
    with pytest.raises(openai.NotFoundError, match="there is no model"):
        agent.client.models.retrieve("gpt-4o")


def test_a_websocket_is_refused_so_that_the_client_falls_back(agent: Agent) -> None:
    asked = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "eA==",
    }
    headers = {**asked, "Authorization": f"Bearer {agent.client.api_key}"}
    assert 400 <= httpx.get(f"{agent.client.base_url}responses", headers=headers).status_code < 500
