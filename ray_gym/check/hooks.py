"""Checks that the hooks cope with anything that is said, and that they return values of the right types."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ray_gym.check import players
from ray_gym.check.casts import PERFECT
from ray_gym.check.finding import Finding, shorten
from ray_gym.check.scenes import Play
from ray_gym.check.scores import has_no_score
from ray_gym.check.tools import has_failed_in_tool
from ray_gym.errors import FailureKind
from ray_gym.rendering import FAILED
from ray_gym.task import Opening
from ray_gym.tools.arguments import ArgumentsBySchema
from ray_gym.tools.pickled import why_not_portable

if TYPE_CHECKING:
    from ray_gym.check.evidence import Evidence

_PLAYER = "scripted player"
_TO_MESSAGES = "handle every message that a model may write, also an empty one"
_TO_TASKS = "it fails before anybody has spoken: set up any task, and tell the first speaker something"


async def look(evidence: Evidence) -> list[Finding]:
    """Finds hooks that raised or returned the wrong type, perfect players that failed, and environments that could not
    be closed. It returns one finding for each place.
    """
    raised = [finding for play in evidence.plays for finding in _errors_raised(play)]
    by_place = {finding.where: finding for finding in reversed(raised)}
    others = (_check_result, _no_picture, _not_portable, _not_closed)
    return [*by_place.values(), *(finding for look_at in others for finding in look_at(evidence))]


def _not_portable(evidence: Evidence) -> Iterator[Finding]:
    """Finds an environment that can't be sent to workers."""
    why = why_not_portable(evidence.subject.make())
    if why is not None:
        what, _, mend = why.partition(": ")
        yield Finding(f"{evidence.subject.environment_class.__name__}.__init__", what, mend)


def _no_picture(evidence: Evidence) -> Iterator[Finding]:
    """Finds the first picture that `render` could not make, which fails no episode in a run."""
    for play in evidence.plays:
        for picture in play.played.episode.renderings:
            if picture.text.startswith(FAILED):
                where = f"{evidence.subject.environment_class.__name__}.render"
                message = f"{shorten(picture.text.removeprefix(FAILED))} ({play.scene})"
                yield Finding(where, message, "draw any state that the game can reach, also that after bad calls")
                return


def _not_closed(evidence: Evidence) -> Iterator[Finding]:
    where = f"{evidence.subject.environment_class.__name__}.close"
    for error in evidence.theatre.bad_ends[:1]:
        yield Finding(where, f"it raises {shorten(error)}", "give back what was opened, also if that is nothing")


def _errors_raised(play: Play) -> Iterator[Finding]:
    failure = play.played.failure
    if failure is None or has_failed_in_tool(play) or has_no_score(play):
        return
    message = f"{shorten(failure.message)} ({play.scene}{_last_words(play)})"
    is_policys = failure.where.startswith(_PLAYER)
    player = "policy" if is_policys else failure.where if failure.message.startswith(_PLAYER) else None
    if player is not None and _is_of_check(play, player):
        yield Finding(f"check-env's own player of {player}", message, "report it: the environment is not at fault")
    elif player is not None and play.scene.cast != PERFECT:
        where = f"the perfect player of {player}"
        yield Finding(where, message, "make scripted players answer anything that they are shown")
    elif failure.kind in (FailureKind.ENVIRONMENT, FailureKind.DATA, FailureKind.INFRA) and not is_policys:
        yield Finding(failure.where, message, _TO_MESSAGES if _has_spoken(play) else _TO_TASKS)


def _is_of_check(play: Play, participant: str) -> bool:
    """Says whether a participant is played by one of the check's own players, and by none of the environment's."""
    player = getattr(play.stage.models.get(participant), "player", None)
    return getattr(player, "__module__", None) == players.__name__


def _has_spoken(play: Play) -> bool:
    return play.played.episode.transcript.last_message() is not None


def _last_words(play: Play) -> str:
    said = play.played.episode.transcript.last_message()
    if said is None:
        return ""
    calls = " ".join(f"{call.name}({call.arguments})" for call in said.tool_calls)
    return f"; last said by {said.participant}: {shorten(f'{said.content} {calls}'.strip(), 80)!r}"


def _is_tool(given: Any) -> bool:
    """Says whether `narrow` may return a value. None is the value of one that raised an error."""
    try:
        return given is None or bool(ArgumentsBySchema(given.parameters))
    except (AttributeError, TypeError, ValueError):
        return False


def _check_result(evidence: Evidence) -> Iterator[Finding]:
    environment = evidence.subject.make()
    speakers = (None, *environment.participants)
    wanted: dict[str, tuple[str, Callable[[Any], bool]]] = {
        "finished": ("the outcome as text, or None", lambda given: given is None or isinstance(given, str)),
        "relay": ("a text, or None", lambda given: given is None or isinstance(given, str)),
        "next_speaker": (f"one of {', '.join(map(str, speakers[1:]))}, or None", lambda given: given in speakers),
        "narrow": ("a ToolSchema, with a JSON schema of an object as its parameters", _is_tool),
        "opening": ("an Opening", lambda given: given is None or isinstance(given, Opening)),
    }
    for hook, returned in evidence.trace.returned.items():
        should, is_right = wanted[hook]
        wrong = next((given for given in returned if not is_right(given)), None)
        if wrong is not None:
            where = f"{type(environment).__name__}.{hook}"
            yield Finding(where, f"it returned {shorten(repr(wrong), 60)}", f"it should return {should}")
