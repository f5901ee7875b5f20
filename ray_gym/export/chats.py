"""Defines forms of conversations: a line for each episode, from the view of one participant."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import pyarrow as pa

from ray_gym.export.conversation import CUT, POLICY, ArgumentsAs, Chat, conversation_in_two, is_cut
from ray_gym.export.finished import Row
from ray_gym.export.form import Form, FormOptions
from ray_gym.export.selection import Counts, leaving_out, scored_episodes
from ray_gym.export.tools_shown import Tool, ToolsShown
from ray_gym.run.directory.reading import Run

IDS = ("episode_id", "group_id", "task_id")
"""Columns that say which episode a line is of."""
ID_FIELDS = [*((name, pa.string()) for name in (*IDS, "participant")), ("reward", pa.float64())]
"""Fields of Arrow for them, the participant and its reward."""


class ChatOptions(FormOptions):
    """Holds the options of forms of conversations."""

    participant: str = POLICY
    """Name of the participant whose view is written."""
    no_tools: bool = False
    """True to leave out the tools."""


@dataclass(frozen=True, slots=True)
class View:
    """Holds what one participant saw of an episode."""

    messages: Chat
    """Its conversation, up to its last words (`ray_gym.export.conversation`)."""
    begins: int
    """Number of messages before the first one that it said."""
    tools: list[Tool]
    """Tools that its prompts showed, in OpenAI's form."""


@dataclass(frozen=True)
class Chats(Form):
    """Writes the conversation of a participant in each completed episode. A subclass says in which fields."""

    participant: str = POLICY
    """Name of the participant whose view is written."""
    tools: ToolsShown | None = None
    """Source of the tools; None to leave them out."""
    Options = ChatOptions
    columns = (
        *(*IDS, "repeat", "seed", "try", "status", "reward"),
        *("rewards", "turns", "task", "events", "tools_shown"),
    )
    arguments_as: ClassVar[ArgumentsAs] = "object"
    """Type of the arguments of tool calls."""

    @classmethod
    @contextmanager
    def open_form(cls, options: Any, run: Run) -> Iterator[Self]:
        """Makes the form of `ChatOptions`, and closes its source of tools after the block."""
        with nullcontext() if options.no_tools else ToolsShown(run) as tools:
            yield cls(options.participant, tools)

    def lines(self, groups: Iterable[list[Row]], counts: Counts) -> Iterator[dict[str, Any]]:
        """Yields a line for each completed episode. Those that give no line are counted in `counts`, with the reason.
        Errors: UserError if an episode's tools can't be found.
        """
        for group in groups:
            for row in scored_episodes(group, counts):
                with leaving_out(counts):
                    messages, begins = conversation_in_two(row["events"], self.participant, self.arguments_as)
                    tools = self.tools.of(row, self.participant) if self.tools else []
                    line = self.fields(View(messages, begins, tools), counts)
                    counts.notes[CUT] += is_cut(row["events"], self.participant)
                    yield {**line, **ids(row, self.participant)}

    @abstractmethod
    def fields(self, view: View, counts: Counts) -> dict[str, Any]:
        """Returns the fields of a line that hold the conversation. Errors: LeftOut if the form can't hold it."""


def ids(row: Row, participant: str) -> dict[str, Any]:
    """Returns the fields of a line that say whose it is: ids of the episode, its group and its task, the participant,
    and its own reward; None if it has none.
    """
    return {**{name: row[name] for name in IDS}, "participant": participant, "reward": reward_of(row, participant)}


def reward_of(row: Row, participant: str) -> float | None:
    """Returns the reward of a participant in a row; None if it has none."""
    if participant == POLICY:
        own: float | None = row["reward"]
        return own
    named = ((one["participant"], one["name"], one["value"]) for one in row["rewards"])
    return next((value for of, name, value in named if of == participant and name == "reward"), None)
