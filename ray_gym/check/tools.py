"""Checks that tools serve only the participants that they are declared for, and that they answer bad arguments.

Every participant calls every tool with broken and with odd arguments, on the fresh state of an episode. The plays are
searched for forbidden calls and for tools that raised.
"""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ray_gym.check.arguments import broken_arguments, fitting_arguments
from ray_gym.check.casts import NASTY, NASTY_POLICY, casts_for
from ray_gym.check.finding import Finding, shorten
from ray_gym.check.scenes import Play, RememberingModel, Scene
from ray_gym.check.texts import odd_text
from ray_gym.check.waiting import limit_waiting
from ray_gym.environment import Environment
from ray_gym.episode.episode import Episode
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.events import Event
from ray_gym.messages import ToolCall
from ray_gym.play.play import new_episode, set_up
from ray_gym.tools.tool import Tool

if TYPE_CHECKING:
    from ray_gym.check.evidence import Evidence

ODD_CALLS = 12
"""Number of calls of each tool by each participant with odd arguments that fit its schema."""
_WRONG_CALLER = "check `caller` where calls are carried out, and never call a tool in another participant's name"
_RAISES = "refuse with `raise ToolError(...)` what the tool can't do; narrow the types of its arguments"


async def look(evidence: Evidence) -> list[Finding]:
    """Finds tools that are offered to or carried out for the wrong participants, or that raise.

    It returns one finding for each place. Errors: WaitsForEver.
    """
    findings = list(_declared_for_nobody(evidence))
    for play in evidence.plays:
        findings += _offered_to_others(play)
        findings += _carried_out_for_others(play)
        findings += _carried_out_under_another_id(play)
        findings += _errors_raised(play)
    tools = evidence.subject.make().tools
    for tool in tools.values():
        findings += await _call_directly(evidence, tool)
    return list({finding.where: finding for finding in findings}.values())


def has_failed_in_tool(play: Play) -> bool:
    """Says whether an episode failed by the environment's fault in a tool."""
    failure = play.played.failure
    return failure is not None and failure.kind == FailureKind.ENVIRONMENT and failure.where.startswith("tool ")


def _declared_for_nobody(evidence: Evidence) -> Iterator[Finding]:
    environment = evidence.subject.make()
    brought = [tool for play in evidence.plays for tool in play.played.episode.tools.values()]
    for tool in [*environment.tools.values(), *brought]:
        for name in set(tool.participants or ()) - set(environment.participants):
            known = ", ".join(environment.participants)
            yield Finding(f"tool {tool.schema.name}", f"it is for {name!r}, who does not take part", f"known: {known}")


def _offered_to_others(play: Play) -> Iterator[Finding]:
    tools = play.played.episode.tools
    for name, model in play.stage.models.items():
        assert isinstance(model, RememberingModel)
        for tool in sorted(model.offered):
            if tool not in tools or not tools[tool].offered_to(name):
                what = f"it was offered to {name}, for whom it is not declared ({play.scene})"
                yield Finding(f"tool {tool}", what, "leave `tools` as the class has them; narrow schemas only")


def _carried_out_for_others(play: Play) -> Iterator[Finding]:
    """Finds calls by participants for whom the tool is not declared, which were carried out or given another's name.

    The result with the call's id shows this.
    """
    episode = play.played.episode
    tools = episode.tools
    forbidden = {
        call.id: (call.name, event.participant)
        for event in episode.events
        for call in event.tool_calls
        if call.name in tools and event.participant and not tools[call.name].offered_to(event.participant)
    }
    for event in episode.events:
        if event.kind != "tool_result" or event.tool_call_id not in forbidden:
            continue
        name, caller = forbidden[event.tool_call_id]
        if event.error is None or event.participant != caller:
            what = f"a call by {caller}, for whom it is not declared, was carried out for {event.participant}"
            yield Finding(f"tool {name}", f"{what} ({play.scene})", _WRONG_CALLER)


def _carried_out_under_another_id(play: Play) -> Iterator[Finding]:
    """Finds tool results that answer none of their participant's own calls, and that follow a message in which another
    participant made a call that it may not make. Other results without a call are no fault: an environment may call
    tools itself, such as for actions that it reads in texts.
    """
    tools = play.played.episode.tools
    own_ids: dict[str | None, set[str | None]] = {}
    last: Event | None = None
    for event in play.played.episode.events:
        if event.kind == "message":
            last = event
            own_ids.setdefault(event.participant, set()).update(call.id for call in event.tool_calls)
        if event.kind != "tool_result" or last is None or last.participant is None:
            continue
        if last.participant == event.participant or event.tool_call_id in own_ids.get(event.participant, ()):
            continue
        if event.tool_call_id in own_ids[last.participant]:
            continue  # found above
        for call in last.tool_calls:
            if call.name in tools and not tools[call.name].offered_to(last.participant):
                what = f"{event.participant} has a result of no call of its own, after a call by {last.participant}"
                yield Finding(f"tool {call.name}", f"{what}, who may not call it ({play.scene})", _WRONG_CALLER)


def _errors_raised(play: Play) -> Iterator[Finding]:
    if has_failed_in_tool(play) and (failure := play.played.failure):
        yield Finding(failure.where, f"{shorten(failure.message)} ({play.scene})", _RAISES)


async def _call_directly(evidence: Evidence, tool: Tool) -> list[Finding]:
    async with (
        evidence.theatre.environment() as environment,
        limit_waiting(environment, "called directly") as goes_on,
    ):
        return await _call_by_all(evidence, environment, tool, goes_on)


async def _call_by_all(
    evidence: Evidence, environment: Environment[Any, Any], tool: Tool, goes_on: Callable[[], None]
) -> list[Finding]:
    scene = Scene(0, NASTY if NASTY in casts_for(environment) else NASTY_POLICY)
    episode = new_episode(evidence.theatre.spec(scene), evidence.theatre.stage(scene, environment, {}))
    try:
        return await _call_in(episode, evidence.subject.seed, tool, goes_on)
    finally:
        await episode.leave()


async def _call_in(episode: Episode, seed: int, tool: Tool, goes_on: Callable[[], None]) -> list[Finding]:
    """Calls a tool in an episode, by all participants. Errors: WaitsForEver."""
    try:
        await set_up(episode)
    except EpisodeFailure:
        return []  # the check of the hooks says it
    rng, findings = random.Random(seed), list[Finding]()
    for name in episode.environment.participants:
        good = [fitting_arguments(tool.schema, rng, lambda: odd_text(rng)) for _ in range(ODD_CALLS)]
        for arguments in [*broken_arguments(tool.schema), *good]:
            goes_on()
            is_allowed = tool.offered_to(name) and arguments in good
            findings += await _call(episode, name, ToolCall("call", tool.schema.name, arguments), is_allowed)
    return findings


async def _call(episode: Episode, name: str, call: ToolCall, is_allowed: bool) -> list[Finding]:
    where, shown = f"tool {call.name}", f"{call.name}({shorten(call.arguments, 80)}) by {name}"
    if episode.stopped:
        return []
    before = None if is_allowed else _snapshot(episode.state)
    try:
        answer = await episode.call(name, call)
    except EpisodeFailure as error:
        return [Finding(error.failure.where, f"{shown}: {shorten(error.failure.message)}", _RAISES)]
    except Exception as error:
        return [Finding(where, f"{shown}: {shorten(repr(error))}", _RAISES)]
    if is_allowed:
        return []
    if answer.error is None:
        return [Finding(where, f"{shown} was carried out, and should have been refused", _WRONG_CALLER)]
    if _snapshot(episode.state) != before:
        return [Finding(where, f"{shown} was refused, and changed the state", "change nothing before all is checked")]
    return []


def _snapshot(state: Any) -> bytes | None:
    """Returns the state as a pickle; None for a state that can't be pickled."""
    try:
        return pickle.dumps(state)
    except Exception:
        return None
