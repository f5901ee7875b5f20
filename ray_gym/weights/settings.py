"""Checks that the `config.json` of a checkpoint describes the model that is up: weights of the same shapes can be meant
for other arithmetic.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

WITHOUT_EFFECT = frozenset(
    {
        "transformers_version",
        "_name_or_path",
        "torch_dtype",
        "dtype",
        "use_cache",
        "_attn_implementation",
        "architectures",
    }
    | {
        "bos_token_id",
        "eos_token_id",
        "pad_token_id",
        "attention_dropout",
        "initializer_range",
        "gradient_checkpointing",
    }
)
"""Names of settings that change no logit here, and that other releases and trainers write as they like."""


def setting_differences(expected: Path, given: Path) -> list[str]:
    """Returns a line for each setting that differs between the `config.json` of two folders. Settings that only one
    has, or that are in `WITHOUT_EFFECT`, don't count; without a readable `config.json`, a folder has none.
    """
    mine, other = _read(expected), _read(given)
    return [
        f"{given / 'config.json'}: {name} is {other[name]!r}, the model's is {mine[name]!r}"
        for name in sorted(mine.keys() & other.keys() - WITHOUT_EFFECT)
        if mine[name] != other[name]
    ]


def _read(folder: Path) -> dict[str, Any]:
    try:
        found = json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
