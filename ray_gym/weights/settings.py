"""Checks that the `config.json` of a checkpoint describes the model that is up: equal shapes can be meant for other
arithmetic.
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
"""Settings that other releases and trainers write as they like, and that change no logit here."""


def setting_differences(expected: Path, given: Path) -> list[str]:
    """Lists the differences in the settings that both have; a checkpoint may come without any."""
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
