"""Offers what `ray_gym.testing` gives to all authors, under the name that the tests of this repository know it by."""

from __future__ import annotations

from ray_gym.testing import call_of, generated, play_group, play_task, reward_of, says, stage_of

__all__ = ["call_of", "generated", "play_group", "play_task", "reward_of", "says", "stage_of"]
