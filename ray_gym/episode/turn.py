"""Counts what happens while an episode is played: turns, and usage of models and tools."""

from __future__ import annotations

import msgspec

from ray_gym.models.base import Completion


class Turn(msgspec.Struct):
    """Lets one participant speak until it yields the floor. `text` is what it said last; `tool_results` are the answers
    of its tools.
    """

    speaker: str
    index: int
    text: str = ""
    tool_results: list[str] = []
    tool_errors: int = 0
    steps: int = 0
    yielded: bool = False
    """True once a turn that is driven from outside is over."""


class Usage(msgspec.Struct):
    prompt_tokens: int = 0
    generated_tokens: int = 0
    cached_tokens: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    model_s: float = 0.0
    tool_s: float = 0.0
    budgeted_tokens: int = 0
    """Generated tokens that count towards the episode's token budget: a judge's do not."""

    def count(self, completion: Completion, duration_s: float, budgeted: bool) -> None:
        self.model_calls += 1
        self.prompt_tokens += completion.prompt_tokens
        self.generated_tokens += completion.generated_tokens
        self.cached_tokens += completion.cached_tokens
        self.model_s += duration_s
        self.budgeted_tokens += completion.generated_tokens if budgeted else 0
