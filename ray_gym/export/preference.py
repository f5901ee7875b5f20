"""Writes pairs of conversations of a task as preferences, for NeMo RL's reward models and direct preference
optimisation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ray_gym.export.finished import Row
from ray_gym.export.form import Form
from ray_gym.export.pairs import CUT_CHOSEN, NOT_FOR_DPO, PairOptions, pairs_of
from ray_gym.export.selection import Counts

WITH_TOOLS = "pairs with tool calls: NeMo RL renders preferences without the tools that the policy was shown"
"""Note on pairs."""


@dataclass(frozen=True)
class Preference(Form):
    """Writes pairs of conversations of a task as preferences, for NeMo RL."""

    min_gap: float
    """Least difference of the rewards of a pair. Pairs with the same reward are always left out."""
    single_response: bool
    """True to leave out pairs that differ in more than the last response."""
    Options = PairOptions
    to = "nemo-rl"
    columns = ("episode_id", "group_id", "task_id", "repeat", "status", "reward", "events")

    def lines(self, groups: Iterable[list[Row]], counts: Counts) -> Iterator[dict[str, Any]]:
        """Yields a line for each pair of the scored episodes of a group. Pairs and episodes that give no line are
        counted in `counts`, with the reason.
        """
        options = PairOptions(min_gap=self.min_gap, single_response=self.single_response)
        for group in groups:
            for pair in pairs_of(group, options, "text", counts):
                counts.notes[NOT_FOR_DPO] += not pair.is_single
                counts.notes[CUT_CHOSEN] += pair.is_of_a_cut_answer
                counts.notes[WITH_TOOLS] += pair.has_calls
                completions = [{"rank": 0, "completion": pair.chosen}, {"rank": 1, "completion": pair.rejected}]
                yield {"context": pair.context, "completions": completions, **pair.ids()}
