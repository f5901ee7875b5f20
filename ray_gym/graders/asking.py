"""Asks a model for an answer of a certain form, again and again until it gives one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from ray_gym.messages import Message

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class AskResult(Generic[Found]):
    """This is what came of asking.

    `found` is None if no answer had the form; `last` is the last answer, `answers` their number. `too_long`: the
    question left no room for an answer.
    """

    found: Found | None
    last: str
    answers: int
    too_long: bool = False


async def ask_until(
    episode: Episode, auxiliary: str, question: str, read: Callable[[str], Found | None], reminder: str, retries: int
) -> AskResult[Found]:
    """Asks the question until `read` finds what it looks for, at most `retries` times more. Answers that a limit has
    cut are read as far as they go.

    An answer that can't be read is asked for again in the same conversation, with the reminder; but after an empty
    answer, which templates may refuse, in a fresh one. Where the context is full, another question would only be
    longer.
    """
    conversation = first = [Message("user", question)]
    for count in range(1, retries + 2):
        completion = await episode.consult(auxiliary, *conversation)
        said = completion.message.content
        found, is_full = read(said), completion.finish_reason == "context_full"
        if found is not None or is_full or count > retries:
            break
        again = [Message("assistant", said), Message("user", reminder)]
        conversation = [*conversation, *again] if said.strip() else first
    return AskResult(found, said, count, too_long=found is None and is_full and conversation is first)
