"""Takes turns by mini-swe-agent with its own configuration of `mini`. It speaks chat completions, by litellm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import litellm
from minisweagent.agents.default import DefaultAgent
from minisweagent.config import get_config_from_spec
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.litellm_model import LitellmModel

if TYPE_CHECKING:
    from ray_gym.agents.function_turn import AgentContext

CONFIG = "mini.yaml"
SUBMITTED = "The work was submitted."
"""Result of the command by which an agent ends its turn, which its own conversation has none for."""


class GoingOn(DefaultAgent):  # type: ignore[misc]
    """Goes on in an earlier conversation, in place of the system prompt that a run begins with."""

    past: list[dict[str, Any]]

    def add_messages(self, *messages: dict[str, Any]) -> list[dict[str, Any]]:
        """Appends messages; to the earlier conversation if these are the first."""
        begun = messages if self.messages or not self.past else (*self.past, *messages[1:])
        added: list[dict[str, Any]] = super().add_messages(*begun)
        return added


def play(words: str, context: AgentContext) -> str:
    """Runs the agent until it submits, and returns what it submits, or its last words."""
    litellm.suppress_debug_info = True
    config = get_config_from_spec(CONFIG)
    told = config["agent"]["instance_template"] if not context.turn else "{{task}}"
    settings = {**config["model"], "model_name": f"openai/{context.model}", "cost_tracking": "ignore_errors"}
    settings["model_kwargs"] = {
        **config["model"]["model_kwargs"],
        "api_base": context.openai_url,
        "api_key": context.key,
    }
    agent = GoingOn(
        LitellmModel(**settings),
        LocalEnvironment(**config["environment"]),
        system_template=config["agent"]["system_template"],
        instance_template=told,
        cost_limit=0,  # the episode has limits of its own
    )
    agent.past = context.state.get("past", [])
    submitted = str(agent.run(words).get("submission") or "").strip()
    past = context.state["past"] = _answered(agent.messages)
    said = (message.get("content") for message in reversed(past) if message["role"] == "assistant")
    return submitted or next(filter(None, said), "")


def _answered(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns a conversation in which each call has a result, without what is the agent's own."""
    kept = [{name: message[name] for name in message if name != "extra"} for message in messages]
    kept = [message for message in kept if message["role"] != "exit"]
    results = {message.get("tool_call_id") for message in kept}
    calls = [call["id"] for message in kept for call in message.get("tool_calls") or ()]
    ends = [{"role": "tool", "tool_call_id": id, "content": SUBMITTED} for id in calls if id not in results]
    return [*kept, *ends]
