"""Pairs conversations of one task, the better one first.

In a group of episodes the best is paired with the worst, the second best with the second worst, and so on. So each
conversation is in at most one pair.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from ray_gym.export.conversation import POLICY, ArgumentsAs, Chat, conversation, is_cut
from ray_gym.export.finished import Row
from ray_gym.export.form import FormOptions
from ray_gym.export.selection import Counts, LeftOut, leaving_out, scored_episodes

MORE_THAN_A_RESPONSE = "pairs that differ in more than the last response"
NOTHING_IN_COMMON = "pairs with nothing in common at their beginning"
ONE_BEGINS_THE_OTHER = "pairs of which one is how the other begins, or the same"
SAME_REWARD = "pairs whose rewards are too close"
NOT_FOR_DPO = f"{MORE_THAN_A_RESPONSE}: for reward models, not for DPO"
"""Note on pairs."""

CUT_CHOSEN = "pairs whose better side has an answer that a limit or a filter cut: a template writes it as a whole one"
"""Note on pairs."""


class PairOptions(FormOptions):
    """Holds the options of forms of pairs."""

    min_gap: Annotated[float, Field(ge=0)] = 0.0
    """Least difference of the rewards of a pair. Pairs with the same reward are always left out."""
    single_response: bool = False
    """True to leave out pairs that differ in more than the last response."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Holds two conversations of the policy that begin with the same messages."""

    context: Chat
    """Messages that both have in common."""
    chosen: Chat
    """Further messages of the better one."""
    rejected: Chat
    """Further messages of the worse one."""
    better: Row
    worse: Row

    @property
    def is_single(self) -> bool:
        """Says whether the conversations differ in one last response."""
        return len(self.chosen) == len(self.rejected) == 1

    @property
    def parts_at_own_words(self) -> bool:
        """Says whether the first messages that differ are the policy's own."""
        return all(side[0]["role"] == "assistant" for side in (self.chosen, self.rejected))

    @property
    def is_of_a_cut_answer(self) -> bool:
        """Says whether a limit or a filter cut an answer of the better conversation."""
        return is_cut(self.better["events"], POLICY)

    @property
    def has_calls(self) -> bool:
        """Says whether a message after the common ones has tool calls."""
        return any("tool_calls" in message for message in [*self.chosen, *self.rejected])

    def ids(self) -> dict[str, Any]:
        """Returns the fields of a line that say which episodes it is of, and their rewards, the better one first."""
        return {
            **{name: self.better[name] for name in ("group_id", "task_id")},
            "episode_ids": [self.better["episode_id"], self.worse["episode_id"]],
            "rewards": [self.better["reward"], self.worse["reward"]],
        }


def pairs_of(group: list[Row], options: PairOptions, arguments_as: ArgumentsAs, counts: Counts) -> Iterator[Pair]:
    """Yields the pairs of the scored episodes of a group: the best with the worst, and so on inwards. Pairs and episodes
    that are left out are counted in `counts`, with the reason.
    """
    best_first = sorted(scored_episodes(group, counts), key=lambda row: -row["reward"])
    for place in range(len(best_first) // 2):
        with leaving_out(counts):
            yield _pair(best_first[place], best_first[-1 - place], options, arguments_as)


def _pair(better: Row, worse: Row, options: PairOptions, arguments_as: ArgumentsAs) -> Pair:
    """Returns the pair of two episodes. The worse one's answers may be blank, which nobody is to imitate.

    Errors: LeftOut if the rewards are too close, the better one's policy said nothing, the arguments of a call are no JSON
    object, the conversations have no common beginning, or one begins with all of the other; with `single_response` also
    if they differ in more than the last message.
    """
    gap = better["reward"] - worse["reward"]
    if gap <= 0 or gap < options.min_gap:
        raise LeftOut(SAME_REWARD)
    said = [conversation(row["events"], POLICY, arguments_as, row is worse) for row in (better, worse)]
    common = _common_length(*said)
    if common == 0:
        raise LeftOut(NOTHING_IN_COMMON)
    chosen, rejected = (chat[common:] for chat in said)
    if not chosen or not rejected:
        raise LeftOut(ONE_BEGINS_THE_OTHER)
    pair = Pair(said[0][:common], chosen, rejected, better, worse)
    if options.single_response and not pair.is_single:
        raise LeftOut(MORE_THAN_A_RESPONSE)
    return pair


def _common_length(first: Chat, second: Chat) -> int:
    return next(
        (place for place, (one, other) in enumerate(zip(first, second, strict=False)) if one != other),
        min(len(first), len(second)),
    )
