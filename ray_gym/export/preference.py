"""Pairs conversations of one task, the better one first, for reward models and direct preference optimisation.

In a group of episodes the best is paired with the worst, the second best with the second worst, and so on. So each
conversation is in at most one pair.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from ray_gym.export.conversation import POLICY, Chat, conversation
from ray_gym.export.finished import Row
from ray_gym.export.form import Form, FormOptions
from ray_gym.export.selection import Counts, LeftOut, scored_episodes

MORE_THAN_A_RESPONSE = "pairs that differ in more than the last response"
NOTHING_IN_COMMON = "pairs with nothing in common at their beginning"
ONE_BEGINS_THE_OTHER = "pairs of which one is how the other begins, or the same"
SAME_REWARD = "pairs whose rewards are too close"
WITH_TOOLS = "pairs with tool calls: NeMo RL renders preferences without the tools that the policy was shown"


class PreferenceOptions(FormOptions):
    """Holds the options of `--form preference`."""

    min_gap: Annotated[float, Field(ge=0)] = 0.0
    """Least difference of the rewards of a pair. Pairs with the same reward are always left out."""
    single_response: bool = False
    """True to leave out pairs that differ in more than the last response."""


@dataclass(frozen=True)
class Preference(Form):
    """Writes pairs of conversations of a task as preferences, for NeMo RL."""

    min_gap: float
    """Least difference of the rewards of a pair. Pairs with the same reward are always left out."""
    single_response: bool
    """True to leave out pairs that differ in more than the last response."""
    Options = PreferenceOptions
    to = "nemo-rl"
    columns = ("episode_id", "group_id", "task_id", "repeat", "status", "reward", "events")

    def lines(self, groups: Iterable[list[Row]], counts: Counts) -> Iterator[dict[str, Any]]:
        """Yields a line for each pair of the scored episodes of a group: the best with the worst, and so on inwards.
        Pairs and episodes that give no line are counted in `counts`, with the reason.
        """
        for group in groups:
            best_first = sorted(scored_episodes(group, counts), key=lambda row: -row["reward"])
            for place in range(len(best_first) // 2):
                try:
                    line = self._line(best_first[place], best_first[-1 - place])
                except LeftOut as reason:
                    counts.left_out[str(reason)] += 1
                    continue
                self._note(line, counts)
                yield line

    def _line(self, better: Row, worse: Row) -> dict[str, Any]:
        """Returns the line of a pair. Errors: LeftOut if the rewards are too close, the policy said nothing, the
        arguments of a call are no JSON object, the conversations have no common beginning, or one begins with all of
        the other; with `single_response` also if they differ in more than the last message.
        """
        gap = better["reward"] - worse["reward"]
        if gap <= 0 or gap < self.min_gap:
            raise LeftOut(SAME_REWARD)
        said = [conversation(row["events"], POLICY, "text") for row in (better, worse)]
        common = _common_length(*said)
        if common == 0:
            raise LeftOut(NOTHING_IN_COMMON)
        chosen, rejected = (chat[common:] for chat in said)
        if not chosen or not rejected:
            raise LeftOut(ONE_BEGINS_THE_OTHER)
        if self.single_response and not _is_single(chosen, rejected):
            raise LeftOut(MORE_THAN_A_RESPONSE)
        return {
            "context": said[0][:common],
            "completions": [{"rank": 0, "completion": chosen}, {"rank": 1, "completion": rejected}],
            **{name: better[name] for name in ("group_id", "task_id")},
            "episode_ids": [better["episode_id"], worse["episode_id"]],
            "rewards": [better["reward"], worse["reward"]],
        }

    @staticmethod
    def _note(line: dict[str, Any], counts: Counts) -> None:
        completions: list[Chat] = [one["completion"] for one in line["completions"]]
        counts.notes[f"{MORE_THAN_A_RESPONSE}: for reward models, not for DPO"] += not _is_single(*completions)
        counts.notes[WITH_TOOLS] += any("tool_calls" in message for chat in completions for message in chat)


def _is_single(*completions: Chat) -> bool:
    return all(len(chat) == 1 for chat in completions)


def _common_length(first: Chat, second: Chat) -> int:
    return next(
        (place for place, (one, other) in enumerate(zip(first, second, strict=False)) if one != other),
        min(len(first), len(second)),
    )
