"""Plays a recorded episode again, up to its scoring: the environment's own code makes its state from recorded answers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any

from ray_gym.episode.episode import Episode
from ray_gym.episode.participant import Participant
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.errors import EpisodeFailure, Failure
from ray_gym.journal.call_log import CallLog
from ray_gym.messages import ToolCall
from ray_gym.play.play import new_episode, play_to_end
from ray_gym.rescoring.record_log import RecordLog
from ray_gym.rescoring.recorded import RecordedEpisode
from ray_gym.task import Task
from ray_gym.tools.answer import ToolAnswer, WhenLost


class NotReplayable(Exception):
    """Says that an episode can't be played again, and why."""

    def __init__(self, episode: str, why: str) -> None:
        super().__init__(f"episode {episode} can't be played again: {why}")


class ReplayedEpisode(Episode):
    """Plays again what an episode did inside, and nothing that it did outside."""

    def __init__(self, spec: EpisodeSpec, stage: Stage, task: Task, log: CallLog | None = None) -> None:
        super().__init__(spec, stage, task, log)
        assert isinstance(log, RecordLog)
        self.log = log
        """Log with the recorded answers."""
        self.played_events = 0
        """Number of events of the play, before the scoring."""
        self.played_threads: frozenset[str] = frozenset()
        """Threads of the play."""
        log.episode = self

    def begin_scoring(self) -> None:
        """Begins the scoring; the first time, it remembers what belongs to the play."""
        if not self.scoring:
            self.played_events, self.played_threads = len(self.events), frozenset(self.threads)
        super().begin_scoring()

    async def effect(
        self,
        name: str,
        make: Callable[[str], Awaitable[Any]],
        arguments: Any = None,
        when_lost: WhenLost = "retry",
    ) -> Any:
        """Refuses an effect of the environment's own, whose result is not in the record. Errors: Diverged."""
        raise self.log.refuse(
            f"{type(self.environment).__name__} does something outside of the episode ({name}), and the record does not "
            "have the result"
        )

    async def _answer_of_tool(self, caller: Participant, call: ToolCall) -> ToolAnswer:
        """Returns the answer of a tool: of one with an effect the recorded answer, since it must not be called again."""
        tool = self.tools.get(call.name)
        if tool is None or tool.options.effect is None:
            return await super()._answer_of_tool(caller, call)
        own = [event for event in self.events if event.kind == "tool_result" and event.thread == caller.name]
        answers = [event for event in self.log.recorded.events if event.kind == "tool_result"]
        then = [event for event in answers if event.thread == caller.name][len(own) : len(own) + 1]
        if not then:
            raise self.log.refuse(f"it calls {call.name}, which has an effect, and the record does not have the result")
        return ToolAnswer(then[0].content, then[0].error)


async def play_again(recorded: RecordedEpisode, stage: Stage, asked_anew: Collection[str] = ()) -> ReplayedEpisode:
    """Plays a recorded episode again up to its end, and returns it, ready to be scored.

    asked_anew: auxiliary participants whose recorded answers don't count. Errors: NotReplayable if the episode was
    played from outside, if it goes another way than recorded, or if it fails.
    """
    if (told := next((event for event in recorded.events if event.kind == "tool_call"), None)) is not None:
        raise NotReplayable(
            recorded.name, f"it was played from outside (event {told.seq} is an agent's call of a tool)"
        )
    answers = recorded.played_answers(stage.environment.participants, stage.limits.token_budget)
    log = RecordLog(recorded, answers, asked_anew)
    try:
        episode = new_episode(recorded.spec, stage, log, ReplayedEpisode)
        assert isinstance(episode, ReplayedEpisode)
        if recorded.spec.try_ and recorded.events[0].kind == "note":
            episode.note(recorded.events[0].content)
        await play_to_end(episode)
        log.begin_scoring()
    except EpisodeFailure as error:
        raise NotReplayable(recorded.name, log.diverged or _told(error.failure)) from error
    except Exception as error:
        raise NotReplayable(recorded.name, log.diverged or _told(Failure.of(error, "episode"))) from error
    if log.diverged is not None:
        raise NotReplayable(recorded.name, log.diverged)
    return episode


def _told(failure: Failure) -> str:
    return f"it fails ({failure.kind} in {failure.where}: {failure.message})"
