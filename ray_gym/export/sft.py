"""Writes conversations with a good reward, for supervised fine-tuning: their chat messages, and the tools of their
prompts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from ray_gym.errors import UserError
from ray_gym.export.conversation import CUT, POLICY, conversation, is_cut
from ray_gym.export.finished import Row
from ray_gym.export.form import Form, FormOptions
from ray_gym.export.selection import Counts, LeftOut, leaving_out, scored_episodes
from ray_gym.export.tools_shown import ToolsShown
from ray_gym.run.directory.reading import Run

EARLIER_WORDS = "conversations that a task began with words of the assistant's, which NeMo RL trains on as well"
"""Note on conversations whose task begins with messages of the assistant."""


class SftOptions(FormOptions):
    """Holds the options of `--form sft`."""

    min_reward: float | None = None
    """Lowest reward of a conversation that is written. It has to be given."""
    no_tools: bool = False
    """True to leave out the tools."""


@dataclass(frozen=True)
class Sft(Form):
    """Writes conversations of the policy with a good reward, and the tools of its prompts, for NeMo RL."""

    min_reward: float
    """Lowest reward of a conversation that is written."""
    tools: ToolsShown | None
    """Source of the tools; None to leave them out."""
    Options = SftOptions
    to = "nemo-rl"
    columns = (
        *("episode_id", "group_id", "task_id", "repeat", "seed", "try", "status", "reward"),
        *("turns", "task", "events", "tools_shown"),
    )

    @classmethod
    @contextmanager
    def open_form(cls, options: SftOptions, run: Run) -> Iterator[Sft]:
        """Makes the form, and closes its source of tools after the block. Errors: UserError if the options have no
        lowest reward.
        """
        if options.min_reward is None:
            raise UserError(
                "--min-reward: --form sft takes the conversations with at least that reward, e.g. --min-reward 1"
            )
        with nullcontext() if options.no_tools else ToolsShown(run) as tools:
            yield cls(options.min_reward, tools)

    def lines(self, groups: Iterable[list[Row]], counts: Counts) -> Iterator[dict[str, Any]]:
        """Yields a line for each episode with at least the lowest reward. Episodes that give no line are counted in
        `counts`, with the reason. Errors: UserError if an episode's tools can't be found.
        """
        for group in groups:
            for row in scored_episodes(group, counts):
                with leaving_out(counts):
                    line = self._line(row)
                    counts.notes[CUT] += is_cut(row["events"], POLICY)
                    counts.notes[EARLIER_WORDS] += _begins_with_words(row)
                    yield line

    def _line(self, row: Row) -> dict[str, Any]:
        """Returns the line of an episode. Errors: LeftOut if its reward is too low, the policy said nothing, or the
        arguments of a call are no JSON object; UserError if its tools can't be found.
        """
        if row["reward"] < self.min_reward:
            raise LeftOut(f"episodes with a reward below {self.min_reward:g}")
        line: dict[str, Any] = {"messages": conversation(row["events"], POLICY, "object")}
        tools = self.tools.of(row) if self.tools else []
        if tools:
            line["tools"] = tools
        return {**line, **{name: row[name] for name in ("episode_id", "group_id", "task_id", "reward")}}


def _begins_with_words(row: Row) -> bool:
    openings = [event for event in row["events"] if event["kind"] == "opening" and event["thread"] == POLICY]
    return any(event["role"] == "assistant" for event in openings)
