"""Makes the dataset that TRL asks for, and nothing reads: which tasks are played is the stream's affair."""

from __future__ import annotations

from typing import Any


def placeholder_dataset(rows: int = 1024) -> Any:
    """Returns a `datasets.Dataset` of as many rows, whose prompts are their numbers.

    The synchronous trainer needs at least as many rows as one generation batch has groups.
    """
    from datasets import Dataset

    return Dataset.from_dict({"prompt": [f"group {number}" for number in range(rows)]})
