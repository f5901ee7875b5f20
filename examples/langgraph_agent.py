"""Plays a captured session with an agent of LangGraph: its usual graph of a model and tools.

pip install langgraph langchain-openai
ray-gym serve examples/guess.yaml
python -m examples.langgraph_agent --url http://127.0.0.1:8000 --seed 7
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from openai import OpenAI

from examples.captured_session import ToolCaller, main

LONGEST = 100
"""Largest number of nodes (the model's and the tools') that the graph visits."""


def agent(
    base_url: str,
    api_key: str,
    messages: list[Any],
    tools: list[dict[str, Any]],
    call_tool: ToolCaller,
    must_call: bool = False,
) -> str:
    """Runs the model and the tools in turn, until no tool is called any more. Returns the last words."""
    name = OpenAI(base_url=base_url, api_key=api_key).models.list().data[0].id
    chat: Any = ChatOpenAI(model=name, base_url=base_url, api_key=api_key)  # type: ignore[arg-type]
    model = chat.bind_tools(tools) if tools else chat  # as the session gives them: conversions would change schemas
    forced = {choice: chat.bind_tools(tools, tool_choice=choice) for choice in ("required", "none") if tools}

    def answer(state: MessagesState) -> dict[str, Any]:
        choice = "required" if len(state["messages"]) == len(messages) else "none"
        asked = forced.get(choice, model) if must_call else model
        return {"messages": [asked.invoke(state["messages"])]}

    def refuse(state: MessagesState) -> dict[str, Any]:
        """Reports calls whose arguments LangChain can't parse: no tool gets them, but the model has to be told."""
        unread = next(one for one in reversed(state["messages"]) if isinstance(one, AIMessage)).invalid_tool_calls
        told = [(call_tool(str(call["name"]), call["args"] or "", call["id"]), call["id"]) for call in unread]
        return {"messages": [ToolMessage(text, tool_call_id=str(call_id)) for text, call_id in told]}

    def next_node(state: MessagesState) -> str:
        last: Any = state["messages"][-1]
        return "refuse" if last.invalid_tool_calls and not last.tool_calls else str(tools_condition(state))

    graph = StateGraph(MessagesState)
    graph.add_node("model", answer)
    graph.add_node("tools", ToolNode([as_tool(tool["function"], call_tool) for tool in tools]))
    graph.add_node("refuse", refuse)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", next_node, ["tools", "refuse", END])
    graph.add_edge("tools", "refuse")
    graph.add_edge("refuse", "model")
    state = graph.compile().invoke({"messages": messages}, {"recursion_limit": LONGEST})
    messages[:] = state["messages"]
    return str(messages[-1].text)


def as_tool(function: dict[str, Any], call_tool: ToolCaller) -> StructuredTool:
    """Wraps a tool of the session for LangChain. The session checks the arguments, and tells the model what is wrong."""

    def call(**arguments: Any) -> str:
        return call_tool(function["name"], arguments)

    return StructuredTool.from_function(
        call,
        name=function["name"],
        description=function.get("description") or function["name"],
        args_schema=function["parameters"],
    )


if __name__ == "__main__":
    main(agent, __doc__)
