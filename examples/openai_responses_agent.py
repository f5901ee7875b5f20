"""Plays a captured session with an agent of the official `openai` package, over the Responses API.

ray-gym serve examples/guess.yaml
python -m examples.openai_responses_agent --url http://127.0.0.1:8000 --seed 7
"""

from __future__ import annotations

from typing import Any

from openai import OpenAI, omit

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
    client: Any = OpenAI(base_url=base_url, api_key=api_key)
    model = client.models.list().data[0].id
    functions = [{"type": "function", "strict": False, **tool["function"]} for tool in tools]
    messages[:] = [item for message in messages for item in as_items(message)]
    choice = "required" if must_call and tools else omit
    while True:
        response = client.responses.create(
            model=model, input=messages, tools=functions or omit, tool_choice=choice, store=False
        )
        choice = "none" if must_call and tools else omit
        messages += response.output
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return str(response.output_text)
        for call in calls:
            result = call_tool(call.name, call.arguments, call.call_id)
            messages.append({"type": "function_call_output", "call_id": call.call_id, "output": result})


def as_items(message: Any) -> list[Any]:
    """Returns a message of chat completions as items of the Responses API. An item is returned as it is."""
    if not isinstance(message, dict) or "role" not in message:
        return [message]
    if message["role"] == "tool":
        return [{"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]}]
    calls = [
        {"type": "function_call", "call_id": call["id"], **call["function"]} for call in message.get("tool_calls", [])
    ]
    said = [{"role": message["role"], "content": message["content"]}] if message["content"] or not calls else []
    return said + calls


if __name__ == "__main__":
    main(agent, __doc__)
