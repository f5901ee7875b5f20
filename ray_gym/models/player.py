"""Defines a player: a function that plays in the place of a language model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from ray_gym.messages import Message

if TYPE_CHECKING:
    pass


Player = Callable[..., Message | Awaitable[Message]]
