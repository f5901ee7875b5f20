"""Plays a participant with a shell, by LangGraph: a graph of a model and its tools, streamed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessageChunk, HumanMessage, messages_from_dict, messages_to_dict
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from examples.agents.shell import run

if TYPE_CHECKING:
    from ray_gym.agents.function_turn import AgentContext


@tool
def shell(command: str) -> str:
    """Runs a command of the shell."""
    return run(command)


async def play(words: str, context: AgentContext) -> str:
    """Runs the graph, and returns the model's last words."""
    model = ChatOpenAI(model=context.model, base_url=context.openai_url, streaming=True).bind_tools([shell])

    async def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", answer)
    graph.add_node("tools", ToolNode([shell]))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    past = [*messages_from_dict(context.state.get("past", [])), HumanMessage(words)]
    async for mode, part in graph.compile().astream({"messages": past}, stream_mode=["values", "messages"]):
        if mode == "values":
            past = part["messages"]
        elif isinstance(part[0], AIMessageChunk) and part[0].text:
            print(part[0].text)
    context.state["past"] = messages_to_dict(past)
    return str(past[-1].text)
