"""Writes conversations and pairs as data sets that Hugging Face's `datasets` reads, for TRL and OpenRLHF.

They are Parquet, and each message and tool is a JSON text: `datasets` of 4.7 and later gives the data itself.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import pyarrow as pa

from ray_gym.export.chats import ID_FIELDS, Chats, View
from ray_gym.export.finished import Row
from ray_gym.export.form import Form
from ray_gym.export.pairs import CUT_CHOSEN, NOT_FOR_DPO, Pair, PairOptions, pairs_of
from ray_gym.export.parquet import JSON
from ray_gym.export.selection import Counts
from ray_gym.export.tools_shown import ToolsShown
from ray_gym.run.directory.reading import Run

TOOLS_UNSEEN = "lines whose prompts showed tools, which OpenRLHF does not give to the template"
"""Note on lines."""
NOT_OWN = "pairs that part at words that are not the policy's own: a template can't end the prompt there"
"""Reason for which a pair is left out."""
_TEXTS = pa.list_(JSON)
_PAIR_IDS = [
    *((name, pa.string()) for name in ("group_id", "task_id")),
    *(("episode_ids", pa.list_(pa.string())), ("rewards", pa.list_(pa.float64()))),
]


class TrlSft(Chats):
    """Writes conversations for TRL's SFTTrainer: what came before the first own words is the prompt."""

    to = "trl"
    schema = pa.schema([("prompt", _TEXTS), ("completion", _TEXTS), ("tools", _TEXTS), *ID_FIELDS])

    def fields(self, view: View, counts: Counts) -> dict[str, Any]:
        """Returns the prompt, the completion and the tools."""
        prompt, completion = view.messages[: view.begins], view.messages[view.begins :]
        return {"prompt": prompt, "completion": completion, "tools": view.tools}


class OpenrlhfSft(Chats):
    """Writes conversations for OpenRLHF's SFTDataset with `--data.multiturn`."""

    to = "openrlhf"
    schema = pa.schema([("messages", _TEXTS), *ID_FIELDS])

    def fields(self, view: View, counts: Counts) -> dict[str, Any]:
        """Returns the messages."""
        counts.notes[TOOLS_UNSEEN] += bool(view.tools)
        return {"messages": view.messages}


@dataclass(frozen=True)
class Pairs(Form):
    """Writes pairs of conversations. A subclass says for whom."""

    options: PairOptions
    tools: ToolsShown
    """Source of the tools."""
    Options = PairOptions
    columns = Chats.columns
    sides: ClassVar[tuple[str, str, str]] = ("prompt", "chosen", "rejected")
    """Names of the columns for the common messages, the better and the worse ones."""

    @classmethod
    @contextmanager
    def open_form(cls, options: PairOptions, run: Run) -> Iterator[Self]:
        """Makes the form, and closes its source of tools after the block."""
        with ToolsShown(run) as tools:
            yield cls(options, tools)

    def lines(self, groups: Iterable[list[Row]], counts: Counts) -> Iterator[dict[str, Any]]:
        """Yields a line for each pair of the scored episodes of a group. Pairs and episodes that give no line are
        counted in `counts`, with the reason.
        """
        for group in groups:
            for pair in pairs_of(group, self.options, "object", counts):
                if not pair.parts_at_own_words:
                    counts.left_out[NOT_OWN] += 1
                    continue
                counts.notes[NOT_FOR_DPO] += not pair.is_single
                counts.notes[CUT_CHOSEN] += pair.is_of_a_cut_answer
                sides = zip(self.sides, (pair.context, pair.chosen, pair.rejected), strict=True)
                yield {**dict(sides), **self.more(pair, counts), **pair.ids()}

    @abstractmethod
    def more(self, pair: Pair, counts: Counts) -> dict[str, Any]:
        """Returns the fields of a line beside the conversations and ids."""


class TrlPreference(Pairs):
    """Writes pairs for TRL's DPOTrainer and RewardTrainer."""

    to = "trl"
    schema = pa.schema([*((name, _TEXTS) for name in (*Pairs.sides, "tools")), *_PAIR_IDS])

    def more(self, pair: Pair, counts: Counts) -> dict[str, Any]:
        """Returns the tools."""
        return {"tools": self.tools.of(pair.better)}


class OpenrlhfPreference(Pairs):
    """Writes pairs for OpenRLHF's RewardDataset, which reward models and DPO read."""

    to = "openrlhf"
    sides = (
        "context",
        "better",
        "worse",
    )  # not the names of what RewardDataset maps them to, which would keep their type
    schema = pa.schema([*((name, _TEXTS) for name in sides), *_PAIR_IDS])

    def more(self, pair: Pair, counts: Counts) -> dict[str, Any]:
        """Returns nothing: OpenRLHF gives templates no tools."""
        counts.notes[TOOLS_UNSEEN] += bool(self.tools.of(pair.better))
        return {}
