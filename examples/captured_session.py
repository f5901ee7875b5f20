"""Have a black-box agent play one session of a service: what it generates becomes the steps of an episode.

The agent knows an OpenAI-compatible base URL, a key, the messages so far, the tools, and how to call one, and whether it must call
once before it speaks, and no more, which small models rarely do of themselves. It adds what it says and
hears to the messages, in whatever form suits it, and gives its last words.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Protocol

from ray_gym.client import Client, SessionRequest
from ray_gym.service.api import SeenMessage, SessionInfo


class CallTool(Protocol):
    def __call__(self, name: str, arguments: dict[str, Any] | str, call_id: str | None = None) -> str: ...


Agent = Callable[[str, str, list[Any], list[dict[str, Any]], CallTool, bool], str]


class EpisodeOver(Exception):
    """A tool has ended the episode: whatever the agent is doing, there is nothing left to do."""


def play(client: Client, agent: Agent, request: SessionRequest, must_call: bool = False) -> SessionInfo:
    has_user = {offered.name: len(offered.participants) > 1 for offered in client.environments()}
    with client.open_session(request) as session:

        def call_tool(name: str, arguments: dict[str, Any] | str, call_id: str | None = None) -> str:
            answer = session.call_tool(name, arguments, call_id=call_id)
            print(f"{name}({arguments}) -> {answer.content}")
            if answer.stop is not None:
                raise EpisodeOver(answer.stop.text)
            return answer.content

        seen = session.opened.participants["policy"]
        messages: list[Any] = [as_openai(message) for message in seen.messages]
        try:
            while True:
                said = agent(session.openai_base_url, session.api_key, messages, seen.tools, call_tool, must_call)
                print(f"policy: {said}")
                if not has_user[session.opened.environment]:
                    break
                heard = session.say(said)
                if heard.stop is not None:
                    break
                messages += [as_openai(message) for message in heard.messages]
        except Exception:  # frameworks wrap errors, and a limit may have ended the episode: the session knows
            if session.info().stop is None:
                raise
        return session.score()


def as_openai(message: SeenMessage) -> dict[str, Any]:
    """As chat completions take it."""
    sent: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        sent["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        sent["tool_call_id"] = message.tool_call_id
    return sent


def main(agent: Agent, description: str | None) -> None:
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--url", help="of the service (default: RAY_GYM_URL); its token is in RAY_GYM_TOKEN")
    parser.add_argument("--environment", help="default: the one of the service's config")
    parser.add_argument("--seed", type=int, default=0, help="the task is generated from it")
    parser.add_argument("--must-call", action="store_true", help="tools once before it speaks, and no more")
    options = parser.parse_args()
    with Client(options.url) as client:
        request = SessionRequest(environment=options.environment, seed=options.seed)
        played = play(client, agent, request, options.must_call)
    print(f"stop: {played.stop}\nscore: {played.score}")
