"""Has the policy assist with scheduling: the calendar in its last answer is what counts."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, Field, model_validator

from ray_gym import Environment, Episode, Opening, Participant, Score, Turn
from ray_gym import Options as EnvironmentOptions
from ray_gym.envs.calendar.check import CalendarCheck
from ray_gym.envs.calendar.generator import random_events, random_lines, write_conversation
from ray_gym.envs.calendar.players import scripted_user, solving_assistant
from ray_gym.envs.calendar.prompts import ASSISTANT, POLICY_BEGINS, USER_BEGINS, user_prompt
from ray_gym.envs.calendar.revealing import Revealed, reveal
from ray_gym.envs.calendar.task import CalendarTask, UserLine
from ray_gym.models.player import Player


@dataclass(frozen=True, slots=True)
class Requests:
    """The state of an episode is the list of lines that the user has to say. The calendar is only in the policy's
    messages.
    """

    lines: tuple[UserLine, ...]


class Calendar(Environment[CalendarTask, Requests]):
    """The policy is a scheduling assistant. A user's requests are in the task's conversation, or come turn by turn."""

    pattern = "multi-turn"
    scoring = "final state: the calendar in the last answer"

    class Options(EnvironmentOptions):
        """Holds the options of the environment."""

        mode: Literal["written", "live"] = "written"
        """written: the task holds the conversation up to the policy's last turn; live: a user asks turn by turn."""
        first_speaker: Literal["user", "policy"] = "user"
        """Side that speaks first in live mode."""
        stop_text: Annotated[str, Field(min_length=1, pattern=r"^\S([^\n]*\S)?$")] | None = None
        """Text with which the user ends the episode. Without one, the answer to the last request ends it."""
        partial_credit: bool = False
        """If set, the reward is a share of what the policy had to do, instead of 1 if all is right and else 0."""

        @model_validator(mode="after")
        def _check_mode(self) -> Calendar.Options:
            if self.mode == "written" and (self.first_speaker != "user" or self.stop_text is not None):
                raise ValueError("first_speaker and stop_text are about the user of mode: live; this is mode: written")
            return self

    def __init__(self, options: BaseModel | None = None) -> None:
        super().__init__(options)
        self._live = self.options.mode == "live"
        if self._live:
            self.participants = ("policy", "user")

    def generate(self, rng: random.Random, index: int) -> CalendarTask:
        events = random_events(rng)
        lines = random_lines(rng, events)
        if self._live:
            return CalendarTask(expected_state=tuple(events), user_lines=tuple(lines))
        written = write_conversation(lines, events)
        return CalendarTask.model_validate({"expected_state": events, "messages": written})

    def setup(self, task: CalendarTask, episode: Episode) -> Requests:
        return Requests(task.lines())

    def opening(self, task: CalendarTask, state: Requests) -> Opening:
        if not self._live:
            all_at_once = "\n".join(line.text for line in state.lines)
            return Opening(system={"policy": ASSISTANT}, messages={"policy": all_at_once or "Is anything planned?"})
        first = self.options.first_speaker
        return Opening(
            system={"policy": ASSISTANT, "user": user_prompt(state.lines, self.options.stop_text)},
            messages={first: USER_BEGINS if first == "user" else POLICY_BEGINS},
            first=first,
        )

    def perfect(self, task: CalendarTask) -> Mapping[str, Player]:
        policy = solving_assistant(task, hears_all=not self._live)
        return {"policy": policy, "user": scripted_user} if self._live else {"policy": policy}

    def relay(self, state: Requests, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        if turn.speaker == "user" and listener.name == "policy":
            return self._reveal(state, episode).heard[-1]
        return super().relay(state, episode, turn, listener)

    def finished(self, state: Requests, episode: Episode) -> str | None:
        if not self._live or not episode.turns:
            return None
        revealed = self._reveal(state, episode)
        if revealed.is_closed:
            return "the user said that it is done"
        is_answered = not revealed.owed and episode.turns[-1].speaker == "policy"
        return "every request was answered" if is_answered and self.options.stop_text is None else None

    async def score(self, state: Requests, episode: Episode) -> Score:
        task: CalendarTask = episode.task
        check = CalendarCheck(task.expected_state, self.options.partial_credit, tuple(task.calendar_before()))
        return await check.score(episode)

    def _reveal(self, state: Requests, episode: Episode) -> Revealed:
        said = [message.content for message in episode.messages_of("user")]
        return reveal(episode.task, state.lines, said, self.options.stop_text)
