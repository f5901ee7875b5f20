"""Plays a captured session with an agent of the official `anthropic` package, over the Messages API.

ray-gym serve examples/guess.yaml
python -m examples.anthropic_agent --url http://127.0.0.1:8000 --seed 7
"""

from __future__ import annotations

import json
from typing import Any

from anthropic import Anthropic, omit

from examples.captured_session import ToolCaller, main


def agent(
    base_url: str,
    api_key: str,
    messages: list[Any],
    tools: list[dict[str, Any]],
    call_tool: ToolCaller,
    must_call: bool = False,
) -> str:
    """Answers and calls tools, until no tool is called any more. Returns the last words."""
    client: Any = Anthropic(base_url=base_url, api_key=api_key)
    described = [as_tool(tool["function"]) for tool in tools]
    choice: Any = {"type": "any"} if must_call and tools else omit
    while True:
        system = "\n\n".join(message["content"] for message in messages if message["role"] == "system")
        said = client.messages.create(
            model="policy",
            max_tokens=4096,
            system=system or omit,
            messages=[as_message(message) for message in messages if message["role"] != "system"],
            tools=described or omit,
            tool_choice=choice,
        )
        choice = {"type": "none"} if must_call and tools else omit
        messages.append({"role": "assistant", "content": said.content})
        calls = [block for block in said.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in said.content if block.type == "text")
        results = [(call.id, call_tool(call.name, call.input, call.id)) for call in calls]
        messages.append(
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": id, "content": text} for id, text in results],
            }
        )


def as_tool(function: dict[str, Any]) -> dict[str, Any]:
    """Returns a tool of chat completions as the Messages API takes it."""
    return {
        "name": function["name"],
        "description": function["description"],
        "input_schema": function["parameters"],
    }


def as_message(message: dict[str, Any]) -> dict[str, Any]:
    """Returns a message of chat completions as the Messages API takes it. One that has that form is returned as it is."""
    if message["role"] == "tool":
        result = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]}
        return {"role": "user", "content": [result]}
    if not message.get("tool_calls"):
        return message
    said = [{"type": "text", "text": message["content"]}] if message["content"] else []
    calls = [
        {"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": arguments_of(call)}
        for call in message["tool_calls"]
    ]
    return {"role": "assistant", "content": said + calls}


def arguments_of(call: dict[str, Any]) -> Any:
    """Returns the arguments of a call of chat completions as an object."""
    return json.loads(call["function"]["arguments"])


if __name__ == "__main__":
    main(agent, __doc__, lambda session: session.anthropic_base_url)
