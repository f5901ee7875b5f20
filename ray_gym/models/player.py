"""Defines a player: a Python function that stands in for a language model. It takes a request and returns a message."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from ray_gym.messages import Message

if TYPE_CHECKING:
    pass


Player = Callable[..., Message | Awaitable[Message]]
