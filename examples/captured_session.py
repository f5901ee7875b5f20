"""Has an agent play one session of a service: what the agent generates becomes the steps of an episode.

The agent is a black box. It gets a base URL (OpenAI's or Anthropic's), a key, the messages so far, the tools, a function that
calls a tool, and whether it must call a tool once before it speaks and none after that (which small models rarely do of
themselves). It appends what it says and hears to the messages, in a form of its own, and returns its last words.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, Protocol

from ray_gym.client import Client, Session, SessionRequest
from ray_gym.service.api import SeenMessage, SessionInfo


class ToolCaller(Protocol):
    """Calls a tool of the session by name, and returns the tool's answer as text."""

    def __call__(self, name: str, arguments: dict[str, Any] | str, call_id: str | None = None) -> str: ...


Agent = Callable[[str, str, list[Any], list[dict[str, Any]], ToolCaller, bool], str]


class EpisodeEndedByTool(Exception):
    """A tool has ended the episode, so the agent has nothing left to do."""


def openai_base_url(session: Session) -> str:
    """Returns the base URL for agents that speak OpenAI's API."""
    return session.openai_base_url


def play(
    client: Client,
    agent: Agent,
    request: SessionRequest,
    must_call: bool = False,
    base_url_of: Callable[[Session], str] = openai_base_url,
) -> SessionInfo:
    """Plays one session with the agent, turn by turn, and returns the session's state with its score."""
    has_user = {offered.name: len(offered.participants) > 1 for offered in client.environments()}
    with client.open_session(request) as session:

        def call_tool(name: str, arguments: dict[str, Any] | str, call_id: str | None = None) -> str:
            answer = session.call_tool(name, arguments, call_id=call_id)
            print(f"{name}({arguments}) -> {answer.content}")
            if answer.stop is not None:
                raise EpisodeEndedByTool(answer.stop.text)
            return answer.content

        seen = session.opened.participants["policy"]
        messages: list[Any] = [as_openai(message) for message in seen.messages]
        try:
            while True:
                said = agent(base_url_of(session), session.api_key, messages, seen.tools, call_tool, must_call)
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
    """Returns a message as the API of chat completions takes it."""
    sent: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        sent["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        sent["tool_call_id"] = message.tool_call_id
    return sent


def main(agent: Agent, description: str | None, base_url_of: Callable[[Session], str] = openai_base_url) -> None:
    """Plays one session with the agent as the command line says, and prints how it ended and its score."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument(
        "--url", help="address of the service (default: RAY_GYM_URL); its token is read from RAY_GYM_TOKEN"
    )
    parser.add_argument("--environment", help="name of the environment (default: that of the service's config)")
    parser.add_argument("--seed", type=int, default=0, help="seed that the task is generated from (default: 0)")
    parser.add_argument(
        "--must-call", action="store_true", help="the agent must call a tool once before it speaks, and none after that"
    )
    options = parser.parse_args()
    with Client(options.url) as client:
        request = SessionRequest(environment=options.environment, seed=options.seed)
        played = play(client, agent, request, options.must_call, base_url_of)
    print(f"stop: {played.stop}\nscore: {played.score}")
