"""Writes episodes as trajectories in the Agent Trajectory Interchange Format, ATIF v1.7: a line for each episode.

A step is a message of the system, of the user, or of the agent; results of tools are the observation of the step that
called them. The agent is one participant; what others said to it is the user's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ray_gym.export.chats import IDS, reward_of
from ray_gym.export.conversation import SILENT, arguments_of, as_seen, is_own, text_of
from ray_gym.export.finished import Row
from ray_gym.export.generated import FORKED, Generated, generated, own_samples
from ray_gym.export.selection import Counts, LeftOut, leaving_out, scored_episodes
from ray_gym.export.view import ViewForm
from ray_gym.installed.version import version

SCHEMA_VERSION = "ATIF-v1.7"
MALFORMED = (
    "tool calls without a name or a JSON object as arguments: ATIF has {}, and the text is in the call's `extra`"
)
"""Note on calls."""

Step = dict[str, Any]


@dataclass(frozen=True)
class Atif(ViewForm):
    """Writes the trajectory of a participant in each scored episode."""

    to = "atif"
    has_tokens = True
    columns = (
        *("run_id", *IDS, "repeat", "seed", "try", "env_id", "status", "stop_reason", "reward", "rewards", "turns"),
        *("usage", "task", "events", "samples", "tools_shown"),
    )

    def without_tokens(self, row: Row) -> Row:
        """Returns the row without its samples."""
        return {**row, "samples": []}

    def lines(self, groups: Iterable[list[Row]], counts: Counts) -> Iterator[dict[str, Any]]:
        """Yields a line for each scored episode. Those that give no line are counted in `counts`, with the reason."""
        for group in groups:
            for row in scored_episodes(group, counts):
                with leaving_out(counts):
                    yield self._trajectory(row, counts)

    def _trajectory(self, row: Row, counts: Counts) -> dict[str, Any]:
        """Returns the trajectory of an episode. Errors: LeftOut if the participant said nothing; UserError if its tools
        can't be found.
        """
        tokens = generated(own_samples(row, self.participant))
        counts.notes[FORKED] += sum(one.about["fork_reason"] is not None for one in tokens.values())
        seen = [event for one in row["events"] if (event := as_seen(one, self.participant)) is not None]
        if (said := next((event for event in seen if is_own(event)), None)) is None:
            raise LeftOut(SILENT)
        agent: dict[str, Any] = {"name": "ray_gym", "version": version(), "extra": {"participant": self.participant}}
        if said["model"]:
            agent["model_name"] = said["model"]
        if tools := self.tools.of(row, self.participant):
            agent["tool_definitions"] = tools
        steps = steps_of(seen, tokens, counts)
        return {
            "schema_version": SCHEMA_VERSION,
            "session_id": row["episode_id"],
            "trajectory_id": f"{row['episode_id']}/{self.participant}",
            "agent": agent,
            "steps": steps,
            "final_metrics": _totals(row, tokens.values(), len(steps)),
            "extra": {
                **{name: row[name] for name in ("run_id", *IDS, "env_id", "repeat", "stop_reason", "rewards")},
                "participant": self.participant,
                "reward": reward_of(row, self.participant),
            },
        }


def steps_of(seen: Iterable[Row], tokens: dict[int, Generated], counts: Counts) -> list[Step]:
    """Returns the steps of a conversation. `seen`: events as the agent has them. `tokens`: of its answers, by the number
    of the event.
    """
    steps: list[Step] = []
    for event in seen:
        if event["role"] == "tool":
            _observe(event, steps)
        elif event["role"] == "assistant":
            steps.append(_agent_step(event, tokens.get(event["seq"]), counts))
        else:
            source = "system" if event["role"] in ("system", "developer") else "user"
            steps.append({"source": source, **_said(event)})
    return [{"step_id": number, **step} for number, step in enumerate(steps, start=1)]


def _said(event: Row) -> Step:
    at = event["started_at"]
    when = {"timestamp": datetime.fromtimestamp(at, UTC).isoformat()} if at else {}
    return {**when, "message": text_of(event), "extra": {"seq": event["seq"], "kind": event["kind"]}}


def _agent_step(event: Row, own: Generated | None, counts: Counts) -> Step:
    """Returns the step of an answer. Words of the assistant that a task began with are context, not the agent's."""
    step: Step = {"source": "agent", **_said(event)}
    if event["reasoning"]:
        step["reasoning_content"] = event["reasoning"]
    if event["tool_calls"]:
        step["tool_calls"] = [_call(call, counts) for call in event["tool_calls"]]
    if not is_own(event):
        return {**step, "is_copied_context": True}
    step |= {"model_name": event["model"] or "unknown", "llm_call_count": 1}
    step["extra"]["finish_reason"] = event["finish_reason"]
    if own is not None:
        step["metrics"] = {
            "prompt_tokens": len(own.prompt_ids),
            "completion_tokens": len(own.token_ids),
            "prompt_token_ids": own.prompt_ids,
            "completion_token_ids": own.token_ids,
            "logprobs": own.logprobs,
            "extra": own.about,
        }
    return step


def _call(call: dict[str, str], counts: Counts) -> dict[str, Any]:
    made: dict[str, Any] = {"tool_call_id": call["id"], "function_name": call["name"]}
    try:
        return {**made, "arguments": arguments_of(call)}
    except LeftOut:
        counts.notes[MALFORMED] += 1
        return {**made, "arguments": {}, "extra": {"arguments": call["arguments"]}}


def _observe(event: Row, steps: list[Step]) -> None:
    """Adds a tool's result to the last step that made the call, or else, without the call's id, to the last step."""
    result: dict[str, Any] = {"content": text_of(event), "extra": {"seq": event["seq"], "error": event["error"]}}
    for step in reversed(steps):
        if any(call["tool_call_id"] == event["tool_call_id"] for call in step.get("tool_calls", ())):
            result["source_call_id"] = event["tool_call_id"]
            break
    else:
        if not steps:
            steps.append({"source": "system", "message": ""})
        step = steps[-1]
    step.setdefault("observation", {"results": []})["results"].append(result)


def _totals(row: Row, tokens: Iterable[Generated], steps: int) -> dict[str, Any]:
    """Returns the final metrics: tokens of the agent's own calls, if they are known. The usage of the whole episode, with
    all participants and judges, is in `extra`.
    """
    sizes = [(len(one.prompt_ids), len(one.token_ids)) for one in tokens]
    own = {
        "total_prompt_tokens": sum(given for given, _ in sizes),
        "total_completion_tokens": sum(made for _, made in sizes),
    }
    return {**(own if sizes else {}), "total_steps": steps, "extra": {"turns": row["turns"], "usage": row["usage"]}}
