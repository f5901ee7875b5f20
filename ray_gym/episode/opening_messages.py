"""Builds the messages that the threads of an episode begin with, from the task's conversation and the opening."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.messages import Message, is_blank
from ray_gym.openai_api.conversation import Conversation, policy_view, user_view
from ray_gym.task import Opening


def earlier_messages(conversation: Conversation, participants: Iterable[str]) -> dict[str, list[Message]]:
    """Returns the messages of a task's conversation, by participant, from each participant's point of view.

    The policy's view is always there, and the other participant's too if there is exactly one other. Without a
    conversation the result is empty.
    """
    said = policy_view(conversation)
    if not said:
        return {}
    others = [name for name in participants if name != "policy"]
    return {"policy": said} | ({others[0]: user_view(conversation)} if len(others) == 1 else {})


def next_to_answer(last: Message, participants: Iterable[str]) -> str:
    """Returns the name of the participant that answers the last message of a task's conversation.

    Errors: EpisodeFailure (data) if the policy spoke last and there is no other participant.
    """
    if last.role != "assistant":
        return "policy"
    others = [name for name in participants if name != "policy"]
    if not others:
        raise EpisodeFailure(FailureKind.DATA, "task.messages", "the policy spoke last, and nobody else could answer")
    return others[0]


def first_messages(opening: Opening, name: str, earlier: Sequence[Message] | None, observes: bool) -> list[Message]:
    """Returns the first messages of a participant's thread: `earlier` ones of the task, and those of the opening.

    The policy's opening messages are left out if there are earlier ones, for they would begin the conversation a second
    time. Other participants keep theirs, which may tell them a goal. If the opening `observes`, its messages follow the
    earlier ones, for every participant. A blank text tells nothing.
    """
    given = opening.messages.get(name, [])
    told = ([] if is_blank(given) else [Message("user", given)]) if isinstance(given, str) else list(given)
    if observes:
        return [*(earlier or []), *told]
    return [*(told if name != "policy" or not earlier else []), *(earlier or [])]
