"""Makes the dataset that verl asks for, of which it reads only how many prompts there are: the stream has the tasks.

data.custom_cls.path=pkg://ray_gym.trainers.verl.placeholder data.custom_cls.name=Placeholder
"""

from __future__ import annotations

from typing import Any

from torch.utils.data import Dataset


class Placeholder(Dataset):  # type: ignore[misc]  # mypy does not follow imports of torch
    """Has as many prompts as verl's `data.train_max_samples` says; their number is all that verl takes of them."""

    def __init__(self, *, max_samples: int = -1, **_: Any) -> None:
        """Takes verl's arguments. `max_samples`: number of prompts, which make an epoch of verl's; by default 1024."""
        self._prompts = max_samples if max_samples > 0 else 1024

    def __len__(self) -> int:
        return self._prompts

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"raw_prompt": [{"role": "user", "content": f"group {index}"}], "index": index}
