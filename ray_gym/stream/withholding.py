"""Withholds tokens of old weights from training, and keeps the rest of their group.

Dropping a whole stale group starves the tasks whose episodes take long. Withholding keeps the group: its rewards are
still the baseline of all its episodes, and its newer tokens still train.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ray_gym.models.versions import Versions

COLUMN = "withheld_tokens"


def withhold(samples: pa.Table, oldest_kept: Versions | None) -> pa.Table:
    """Returns samples in which tokens from weights before their model's `oldest_kept` have a loss mask of 0 (None: all
    keep theirs), with the column `withheld_tokens` (int32), the number of these tokens.

    A sample that is left without a token to train on is not trainable any more.
    """
    none = np.zeros(samples.num_rows, np.int32)
    if oldest_kept is None or not samples.num_rows:
        return samples.append_column(COLUMN, pa.array(none))
    samples = samples.combine_chunks()
    masks = samples.column("loss_mask").chunk(0)
    offsets = masks.offsets.to_numpy() - masks.offsets[0].as_py()
    mask = masks.flatten().to_numpy(zero_copy_only=False).copy()
    old = _tokens_before(samples, offsets, oldest_kept, len(mask)) & (mask == 1)
    mask[old] = 0
    rows = np.repeat(np.arange(samples.num_rows), np.diff(offsets))
    withheld = np.bincount(rows[old], minlength=samples.num_rows).astype(np.int32)
    left = np.bincount(rows[mask == 1], minlength=samples.num_rows)
    trainable = np.array(samples.column("trainable").to_pylist(), dtype=bool) & (left > 0)
    changed = {
        "loss_mask": pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(mask, pa.int8())),
        "trainable": pa.array(trainable),
    }
    for name, values in changed.items():
        samples = samples.set_column(samples.schema.get_field_index(name), name, values)
    return samples.append_column(COLUMN, pa.array(withheld))


def _tokens_before(samples: pa.Table, offsets: NDArray[np.int64], oldest: Versions, tokens: int) -> NDArray[np.bool_]:
    """Marks the tokens that came from weights before the oldest of their model: bool [tokens of all samples]."""
    old = np.zeros(tokens, np.bool_)
    models, versions = samples.column("model").to_pylist(), samples.column("versions").to_pylist()
    for start, model, spans in zip(offsets[:-1], models, versions, strict=True):
        for span in spans:
            if span["version"] < oldest[model]:
                old[start + span["start"] : start + span["end"]] = True
    return old
