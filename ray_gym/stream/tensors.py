"""Makes torch tensors of samples, padded or packed. torch is imported only when they are asked for.

Every field that has an entry a token keeps the record's alignment: `logprobs[i, t]` and `loss_mask[i, t]` are of token
t itself. A model's logits at t - 1 are those of token t, so a loss compares `logits[:, :-1]` with these fields at
`[:, 1:]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ray_gym.errors import UserError

FIELDS = {"token_ids": np.int64, "loss_mask": np.bool_, "logprobs": np.float32, "versions": np.int32}
NO_VERSION = -1
"""Version of the tokens that no model generated."""


@dataclass(frozen=True, slots=True)
class Tensors:
    """Holds the trainable samples of episodes as torch tensors.

    Padded, tokens have the shape [samples, tokens], with padding on the right; packed, all samples follow one another in
    [1, tokens].
    """

    token_ids: Any
    """Token ids: int64."""
    attention_mask: Any
    """True for tokens, False for padding: bool."""
    position_ids: Any
    """Position of each token in its sample: int64."""
    loss_mask: Any
    """True for generated tokens: bool."""
    logprobs: Any
    """Recorded logprobs of generated tokens, 0 elsewhere: float32."""
    versions: Any
    """Version of the weights that each generated token came from, `NO_VERSION` elsewhere: int32."""
    advantages: Any
    """Advantage of each sample: float32 [samples]."""
    rewards: Any
    """Reward of each sample: float32 [samples]."""
    starts: Any
    """Number of the tokens before each sample and after the last, as kernels for packed sequences take it: int32
    [samples + 1]."""
    sample_of: Any
    """Number of the sample that each token belongs to, of the shape of `token_ids`; that of the row in padding: int64."""
    rows: tuple[int, ...]
    """Row of each sample in the table that it came from."""
    withheld_tokens: int = 0
    """Number of generated tokens that were withheld for their age, also in samples that have no other and are not here.
    A loss that is a mean over tokens counts them, so that its gradient is the full batch's without their terms."""


def tensors_of(
    samples: pa.Table,
    advantages: NDArray[np.float64],
    *,
    pad: int | None = 0,
    multiple_of: int = 1,
    device: Any = None,
) -> Tensors:
    """Makes tensors of the trainable samples.

    `advantages`: float64 [rows of samples]. `pad`: token id of padding; None packs the samples without any.
    `multiple_of`: the number of tokens in a row is rounded up to a multiple of this. `device`: as torch takes it.
    Errors: UserError if no sample is trainable, or torch is not installed.
    """
    torch = _torch()
    rows = np.flatnonzero(np.array(samples.column("trainable").to_pylist(), dtype=bool))
    if not len(rows):
        raise UserError("no sample is trainable, so there is nothing to make tensors of")
    chosen = samples.take(pa.array(rows))
    flat = _flat(chosen)
    lengths = np.array([len(ids) for ids in chosen.column("token_ids").to_pylist()], dtype=np.int64)
    place = _packed(lengths, multiple_of) if pad is None else _padded(lengths, multiple_of)
    made = {name: place.put(values, NO_VERSION if name == "versions" else 0) for name, values in flat.items()}
    made["token_ids"] = place.put(flat["token_ids"], pad or 0)
    made |= {"attention_mask": place.put(np.ones(len(place.at), np.bool_), False), "sample_of": place.sample_of}
    made["position_ids"] = place.put(np.concatenate([np.arange(length) for length in lengths]), 0)
    made["starts"] = np.concatenate([[0], lengths.cumsum()]).astype(np.int32)
    made["advantages"] = advantages[rows].astype(np.float32)
    made["rewards"] = np.array(chosen.column("reward").to_pylist(), dtype=np.float32)
    tensors = {name: torch.from_numpy(values).to(device) for name, values in made.items()}
    withheld = (
        int(pc.sum(samples.column("withheld_tokens")).as_py()) if "withheld_tokens" in samples.column_names else 0
    )
    return Tensors(**tensors, rows=tuple(rows.tolist()), withheld_tokens=withheld)


@dataclass(frozen=True, slots=True)
class _Place:
    """Says where the tokens of all samples go."""

    shape: tuple[int, int]
    at: NDArray[np.int64]
    """Place of each token in the flat tensor."""
    sample_of: NDArray[np.int64]

    def put(self, values: NDArray[Any], padding: Any) -> NDArray[Any]:
        """Returns an array of the shape, with values of all tokens at their places and padding elsewhere."""
        found = np.full(self.shape[0] * self.shape[1], padding, values.dtype)
        found[self.at] = values
        return found.reshape(self.shape)


def _padded(lengths: NDArray[np.int64], multiple_of: int) -> _Place:
    width = _rounded(int(lengths.max()), multiple_of)
    at = np.concatenate([row * width + np.arange(length) for row, length in enumerate(lengths)])
    return _Place((len(lengths), width), at, np.repeat(np.arange(len(lengths)), width).reshape(len(lengths), width))


def _packed(lengths: NDArray[np.int64], multiple_of: int) -> _Place:
    total = int(lengths.sum())
    width = _rounded(total, multiple_of)
    sample_of = np.full(width, len(lengths) - 1, np.int64)
    sample_of[:total] = np.repeat(np.arange(len(lengths)), lengths)
    return _Place((1, width), np.arange(total), sample_of.reshape(1, width))


def _rounded(width: int, multiple_of: int) -> int:
    return -(-width // multiple_of) * multiple_of


def _flat(samples: pa.Table) -> dict[str, NDArray[Any]]:
    """Returns the fields with an entry a token as flat arrays, the samples one after the other."""
    found: dict[str, NDArray[Any]] = {}
    for name in ("token_ids", "loss_mask", "logprobs"):
        values = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in samples.column(name).chunks]
        found[name] = np.concatenate(values).astype(FIELDS[name])
    versions = []
    for spans, ids in zip(samples.column("versions").to_pylist(), samples.column("token_ids").to_pylist(), strict=True):
        of_tokens: NDArray[np.int32] = np.full(len(ids), NO_VERSION, FIELDS["versions"])
        for span in spans:
            of_tokens[span["start"] : span["end"]] = span["version"]
        versions.append(of_tokens)
    found["versions"] = np.concatenate(versions)
    found["versions"][~found["loss_mask"]] = NO_VERSION
    return found


def _torch() -> Any:
    try:
        import torch
    except ModuleNotFoundError:
        raise UserError("tensors are torch's, which is not installed here: pip install torch") from None
    return torch
