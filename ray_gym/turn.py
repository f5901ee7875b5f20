"""What is counted while an episode is played."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Turn:
    """One participant speaking until it yields the floor. `text` is what it said last; `tool_results` what its tools answered."""

    speaker: str
    index: int
    text: str = ""
    tool_results: list[str] = field(default_factory=list)
    tool_errors: int = 0
    steps: int = 0


@dataclass(slots=True)
class Usage:
    prompt_tokens: int = 0
    generated_tokens: int = 0
    cached_tokens: int = 0
    model_calls: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    model_s: float = 0.0
    tool_s: float = 0.0
