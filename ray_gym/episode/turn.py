"""Counts what happens in an episode: the steps of a turn, and the usage of models and tools."""

from __future__ import annotations

import msgspec

from ray_gym.messages import is_blank
from ray_gym.models.base import Completion
from ray_gym.tools.answer import ToolAnswer


class Turn(msgspec.Struct):
    """Records one turn of a participant: its steps, until it yields the floor."""

    speaker: str
    index: int
    """Number of the turn in the episode, from 0."""
    words: list[str] = []
    """Words of the participant in this turn, by step; steps without words are left out."""
    tool_results: list[str] = []
    """Answers of its tool calls, in order, with the errors among them."""
    carried_out: list[tuple[str, str]] = []
    """Tools that gave a result, each with this result, in order. Errors are not among them: a refusal of a call is for
    its caller alone."""
    tool_errors: int = 0
    """Number of its tool calls that were answered with an error."""
    steps: int = 0
    """Number of model calls."""
    yielded: bool = False
    """True once a turn that is driven from outside has ended."""
    most_steps: int | None = None
    """Most model calls of this turn; None: as many as its participant may make in any."""

    @property
    def text(self) -> str:
        """Returns all words of the turn, a line for each step that had any; an empty text if there were none."""
        return "\n".join(self.words)

    def add_words(self, text: str) -> None:
        """Adds the words of a step. Blank text is silence, and adds nothing."""
        if not is_blank(text):
            self.words.append(text)

    def replace_words(self, text: str) -> None:
        """Puts the words of a step in the place of those before: of what a program's model says in a turn, only the last
        may be what the program says in the end. Blank text is silence, and replaces nothing.
        """
        if not is_blank(text):
            self.words = [text]

    def add_answer(self, tool: str, answer: ToolAnswer) -> None:
        """Adds the answer of a tool call."""
        self.tool_results.append(answer.content)
        if answer.error is None:
            self.carried_out.append((tool, answer.content))
        else:
            self.tool_errors += 1


class Usage(msgspec.Struct):
    """Counts the tokens, calls and seconds of an episode."""

    prompt_tokens: int = 0
    generated_tokens: int = 0
    cached_tokens: int = 0
    """Tokens of prompts that the engine had in its cache."""
    model_calls: int = 0
    tool_calls: int = 0
    tool_errors: int = 0
    model_s: float = 0.0
    """Seconds that model calls took, added up."""
    tool_s: float = 0.0
    """Seconds that tool calls took, added up."""
    budgeted_tokens: int = 0
    """Generated tokens that count towards the episode's token budget; a judge's do not."""

    def count(self, completion: Completion, duration_s: float, budgeted: bool) -> None:
        """Adds a model call that took `duration_s` seconds. `budgeted` says whether it counts towards the token budget."""
        self.model_calls += 1
        self.prompt_tokens += completion.prompt_tokens
        self.generated_tokens += completion.generated_tokens
        self.cached_tokens += completion.cached_tokens
        self.model_s += duration_s
        self.budgeted_tokens += completion.generated_tokens if budgeted else 0
