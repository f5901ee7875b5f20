"""Asks a model for an answer in a certain form, and repeats the question until it gives one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from ray_gym.messages import Message, is_blank

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode
    from ray_gym.models.base import Completion

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class AskResult(Generic[Found]):
    """Holds the result of asking a model a question, perhaps several times."""

    found: Found | None
    """Value that was read from the last answer; None if no answer had the form."""
    last: str
    """Text of the last answer."""
    answers: int
    """Number of answers."""
    cut: str = ""
    """Reason for which the last answer lacks words, and the remedy; "" if it is whole."""
    too_long: bool = False
    """True if the question left no room for an answer in the model's context."""

    @property
    def why(self) -> str:
        """Returns what follows the text of the last answer in a message: why it lacks words, if it does."""
        return f" ({self.cut})" if self.cut else ""


async def ask_until(
    episode: Episode, auxiliary: str, question: str, read: Callable[[str], Found | None], reminder: str, retries: int
) -> AskResult[Found]:
    """Asks a question until `read` returns a value for the answer's words after its last thought, at most `retries` more
    times, and returns the result.

    An answer that was cut is read too. After an answer that can't be read, the model is asked again in the same
    conversation, with the reminder. After an empty answer, which chat templates may refuse, the model is asked in a
    fresh conversation. If the context is full, the model is not asked again, since the next question would be longer
    still. Errors: EpisodeFailure if a call fails; ValueError for a name that is not in the environment's `auxiliary`.
    """
    conversation = first = [Message("user", question)]
    for count in range(1, retries + 2):
        completion = await episode.consult(auxiliary, *conversation)
        said = completion.message.content
        found, is_full = read(said[completion.last_words :]), completion.finish_reason == "context_full"
        if found is not None or is_full or count > retries:
            break
        again = [Message("assistant", said), Message("user", reminder)]
        conversation = first if is_blank(said) else [*conversation, *again]
    return AskResult(
        found, said, count, _cut(auxiliary, completion), too_long=found is None and is_full and conversation is first
    )


def _cut(auxiliary: str, completion: Completion) -> str:
    """Returns the reason for which an answer lacks words, and the remedy; "" if it is whole."""
    thoughts = " in its thoughts" if is_blank(completion.message.content) and completion.message.reasoning else ""
    if completion.finish_reason == "length":
        return f"it was cut{thoughts}: raise participants.{auxiliary}.sampling.max_tokens"
    if completion.finish_reason == "content_filter":
        return "the model's endpoint withheld it (content_filter)"
    return "it is thoughts alone" if thoughts else ""
