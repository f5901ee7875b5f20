"""Plays a captured session with an agent of the official `openai` package, over chat completions.

ray-gym serve examples/guess.yaml
python -m examples.openai_agent --url http://127.0.0.1:8000 --seed 7
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
    choice = "required" if must_call and tools else omit
    while True:
        completion = client.chat.completions.create(
            model=model, messages=messages, tools=tools or omit, tool_choice=choice
        )
        choice = "none" if must_call and tools else omit
        message = completion.choices[0].message
        messages.append(message)
        if not message.tool_calls:
            return message.content or ""
        for call in message.tool_calls:
            result = call_tool(call.function.name, call.function.arguments, call.id)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


if __name__ == "__main__":
    main(agent, __doc__)
