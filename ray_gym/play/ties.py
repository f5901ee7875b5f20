"""Ties tool calls that an agent makes by MCP to those calls of its model that ask for them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ray_gym.episode.episode import Episode
from ray_gym.messages import ToolCall
from ray_gym.play.capture import canonical_arguments
from ray_gym.play.commands import CallTool
from ray_gym.seeds import stable_id

_SEPARATOR = re.compile(r"[^A-Za-z0-9]+")


@dataclass(slots=True)
class Ties:
    """Remembers which calls of an episode's models are tied to a tool call already."""

    _tied: set[tuple[int, str]] = field(default_factory=set)
    """Number of the answer's event, and id of the call in it."""

    def command_of(self, episode: Episode, participant: str, name: str, arguments: str, key: str) -> CallTool:
        """Makes the command for a call of a tool. Its id is that of the call which the participant's model has made in
        its latest answer on one of its threads: with the same arguments, and the tool's name at the end of its own
        (`mcp__SERVER__NAME`, say). If there is none, it is made from `key`.
        """
        for seq, asked in _open_calls(episode, participant):
            is_same = _ends_with(asked.name, name) and canonical_arguments(asked.arguments) == canonical_arguments(
                arguments
            )
            if is_same and (seq, asked.id) not in self._tied:
                self._tied.add((seq, asked.id))
                return CallTool(participant, asked.id, name, arguments, "model")
        return CallTool(participant, f"mcp_{stable_id(episode.spec.episode_id, key)[:24]}", name, arguments, "agent")


def _open_calls(episode: Episode, participant: str) -> Iterator[tuple[int, ToolCall]]:
    """Yields the calls in the last messages of a participant's threads that have not been made since, each with the
    number of the message's event; those of the newest message come first.
    """
    threads = [one for one in episode.threads.values() if one.participant.name == participant and one.messages]
    for thread in sorted(threads, key=lambda one: one.event_seqs[-1], reverse=True):
        seq = thread.event_seqs[-1]
        made = {event.tool_calls[0].id for event in episode.events[seq + 1 :] if event.kind == "tool_call"}
        yield from ((seq, call) for call in thread.messages[-1].tool_calls if call.id not in made)


def _ends_with(asked: str, name: str) -> bool:
    """Says whether a name is a tool's, or ends with it after a separator."""
    plain, wanted = _SEPARATOR.sub("_", asked), _SEPARATOR.sub("_", name)
    return plain == wanted or plain.endswith(f"_{wanted}")
