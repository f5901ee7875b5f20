"""Writes episodes as OpenEnv's `TrainingTrace`: a line for each episode, with each call of the policy's model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ray_gym.export.chats import IDS, reward_of
from ray_gym.export.conversation import as_seen, chat_message
from ray_gym.export.finished import Row
from ray_gym.export.generated import FORKED, Generated, generated
from ray_gym.export.samples import usable_samples
from ray_gym.export.selection import Counts, scored_episodes
from ray_gym.export.view import ViewForm

VERSION = 1
"""Version of the trace's schema."""


@dataclass(frozen=True)
class OpenEnv(ViewForm):
    """Writes a trace of each scored episode with samples to train on. A turn of it is one call of a model."""

    to = "openenv"
    has_tokens = True
    columns = (
        *(*IDS, "repeat", "seed", "try", "status", "stop_reason", "reward", "rewards"),
        *("task", "events", "samples", "tools_shown"),
    )

    def lines(self, groups: Iterable[list[Row]], counts: Counts) -> Iterator[dict[str, Any]]:
        """Yields a line for each episode with a sample that a trainer can use. Episodes and samples that give none are
        counted in `counts`, with the reason.
        """
        for group in groups:
            for row in scored_episodes(group, counts):
                usable = list(usable_samples(row, counts, self.participant))
                tokens = generated(usable)
                threads = dict.fromkeys(sample["thread"] for _, sample in usable)
                turns = [turn for thread in threads for turn in self._turns(row, thread, tokens)]
                if turns:
                    counts.notes[FORKED] += sum(one.about["fork_reason"] is not None for one in tokens.values())
                    ordered = sorted(turns, key=lambda turn: turn["metadata"]["seq"])
                    yield {"schema_version": VERSION, "turns": ordered}

    def _turns(self, row: Row, thread: str, tokens: dict[int, Generated]) -> Iterator[dict[str, Any]]:
        """Yields the turn of each answer with tokens in a thread. The trace has no place for the episode's ids and its
        reward, so they are in each turn's `metadata`. Errors: UserError if the tools can't be found.
        """
        about = {name: row[name] for name in (*IDS, "stop_reason")}
        about |= {"participant": self.participant, "thread": thread, "reward": reward_of(row, self.participant)}
        tools = self.tools.of(row, thread)
        messages: list[dict[str, Any]] = []
        for one in row["events"]:
            if (event := as_seen(one, thread)) is None:
                continue
            message = chat_message(event, "said")
            if own := tokens.get(event["seq"]):
                request = {"messages": list(messages), "tools": tools}
                yield _turn(event, own, request, message, about)
            messages.append(message)


def _turn(
    event: Row, own: Generated, request: dict[str, Any], message: dict[str, Any], about: dict[str, Any]
) -> dict[str, Any]:
    """Returns one call. Its mask covers prompt and completion; the messages are those before the answer."""
    return {
        "node_id": f"event-{event['seq']}",
        "prompt_token_ids": own.prompt_ids,
        "completion_token_ids": own.token_ids,
        "per_token_logps": own.logprobs,
        "loss_mask": [0] * len(own.prompt_ids) + own.loss_mask,
        "request": request,
        "response": {"choices": [{"message": message, "finish_reason": event["finish_reason"]}]},
        "metadata": {**about, "seq": event["seq"], "model": event["model"], **own.about},
    }
