"""Writes samples as tokens and labels, for TRL's SFTTrainer, which then tokenises nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ray_gym.export.chats import ID_FIELDS, IDS, ids
from ray_gym.export.conversation import POLICY
from ray_gym.export.finished import Row
from ray_gym.export.form import Form, FormOptions
from ray_gym.export.samples import usable_samples
from ray_gym.export.selection import Counts, scored_episodes

NOT_TRAINED = -100
"""Label of a token that no loss is computed on."""
FORKED = "samples that are a part of their episode (a fork): each has the episode's reward"
"""Note on lines."""
_NUMBERS = pa.list_(pa.int32())


class TokenOptions(FormOptions):
    """Holds the options of `--form trl-tokens`."""

    participant: str = POLICY
    """Name of the participant whose samples are written."""


@dataclass(frozen=True)
class TrlTokens(Form):
    """Writes the samples of a participant: a line for each, so that forks are lines of their own."""

    participant: str = POLICY
    """Name of the participant whose samples are written."""
    Options = TokenOptions
    to = "trl"
    has_tokens = True
    columns = (*IDS, "repeat", "status", "reward", "rewards", "samples")
    schema = pa.schema(
        [
            *(("input_ids", _NUMBERS), ("labels", _NUMBERS), *ID_FIELDS),
            *(("sample", pa.int32()), ("thread", pa.string()), ("fork_reason", pa.string())),
        ]
    )

    def lines(self, groups: Iterable[list[Row]], counts: Counts) -> Iterator[dict[str, Any]]:
        """Yields a line for each trainable sample: `input_ids` are its tokens, `labels` those that were generated, and
        `NOT_TRAINED` elsewhere. Episodes and samples that give no line are counted in `counts`, with the reason.
        """
        for group in groups:
            for row in scored_episodes(group, counts):
                for number, sample in usable_samples(row, counts, self.participant):
                    counts.notes[FORKED] += sample["fork_reason"] is not None
                    pairs = zip(sample["token_ids"], sample["loss_mask"], strict=True)
                    yield {
                        "input_ids": sample["token_ids"],
                        "labels": [token if is_own else NOT_TRAINED for token, is_own in pairs],
                        **ids(row, self.participant),
                        "sample": number,
                        **{name: sample[name] for name in ("thread", "fork_reason")},
                    }
