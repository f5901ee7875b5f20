"""Plays customer service with a simulated customer, who has a goal, private knowledge and private tools."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from ray_gym import Environment, Episode, Message, Opening, Participant, Score, Turn
from ray_gym import Options as EnvironmentOptions
from ray_gym.envs.customer_service.agent_tools import AgentTools
from ray_gym.envs.customer_service.customer_tools import CustomerTools
from ray_gym.envs.customer_service.generator import generate_task
from ray_gym.envs.customer_service.judging import (
    MANNER_LABELS,
    ROLE_LABELS,
    question_about_agent,
    question_about_customer,
)
from ray_gym.envs.customer_service.office import Office
from ray_gym.envs.customer_service.perfect import perfect_players
from ray_gym.envs.customer_service.prompts import (
    AGENT_BEGINS,
    CUSTOMER_BEGINS,
    STILL_BUSY,
    agent_prompt,
    customer_facts,
    customer_prompt,
)
from ray_gym.envs.customer_service.task import CustomerServiceTask
from ray_gym.episode.wording import has_words
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.graders import AllOf, Constraints, FinalState, Grader, Judge
from ray_gym.models.player import Player
from ray_gym.openai_api.conversation import policy_view
from ray_gym.stop import StopReason

MANNER_WEIGHT = 0.2
"""Share of the reward that depends on the agent's manner, if the outcome is right."""


class CustomerService(AgentTools, CustomerTools, Environment[CustomerServiceTask, Office]):
    """The policy is the agent of an internet provider, and a simulated customer writes to it."""

    participants = ("policy", "user")
    pattern = "user modelling"
    scoring = "final state, LLM judge of both sides"

    class Options(EnvironmentOptions):
        """Holds the options of the environment."""

        judge: bool = True
        """Ask a judge about both sides' lines. If false, only the final state counts, and there is no judge."""
        first_speaker: Literal["user", "policy"] = "user"
        """Side that speaks first."""
        completion_signals: tuple[Annotated[str, Field(min_length=1)], ...] = ()
        """Words that end the conversation when the policy says them, in any letter case. Its prompt names them."""

    def __init__(self, options: Options | None = None) -> None:
        super().__init__(options)
        self.auxiliary = ("judge",) if self.options.judge else ()

    def generate(self, rng: random.Random, index: int) -> CustomerServiceTask:
        return generate_task(rng)

    def perfect(self, task: CustomerServiceTask) -> Mapping[str, Player]:
        return perfect_players(task, greets=self.options.first_speaker == "policy")

    def setup(self, task: CustomerServiceTask, episode: Episode) -> Office:
        office = task.office()
        office.stop_text = episode.participants["user"].stop_text
        return office

    def opening(self, task: CustomerServiceTask, state: Office) -> Opening:
        first = self.options.first_speaker
        return Opening(
            system={"policy": agent_prompt(self.options.completion_signals), "user": customer_prompt(task, state)},
            messages={first: CUSTOMER_BEGINS if first == "user" else AGENT_BEGINS},
            first=first,
        )

    def relay(self, state: Office, episode: Episode, turn: Turn, listener: Participant) -> str | None:
        """Returns the speaker's words and the notices that tools have for the listener, and clears these notices.

        Results of tools stay with their caller: after a turn with nothing else, the customer is told that the agent is
        busy, and the agent is told nothing (None).
        """
        seen, state.notices[listener.name] = state.notices[listener.name], []
        told = "\n".join([turn.text, *seen] if turn.text else seen)
        if told or not turn.tool_results:
            return told or None
        return STILL_BUSY if turn.speaker == "policy" else None

    def finished(self, state: Office, episode: Episode) -> str | None:
        """Returns the outcome if the policy's last words have a completion signal, and its last message calls no tool,
        else None.
        """
        signals, said = self.options.completion_signals, episode.messages_of("policy")
        if not signals or not said or said[-1].tool_calls:
            return None
        heard = (signal for signal in signals if has_words(episode.answer, signal, any_case=True))
        return next((f"the agent said {signal!r}" for signal in heard), None)

    async def score(self, state: Office, episode: Episode) -> Score:
        """Returns 0 if the books or a house rule are wrong in the end; else 0.8 to 1 by the agent's manner, or 1
        without a judge.

        Errors: EpisodeFailure (user), before anything is scored, if the customer was not true to their role;
        EpisodeFailure (judge) if the judge gives no label.
        """
        await self._check_customer(episode)
        task = episode.task
        expected, books = task.expected_books(), state.books()
        parts: dict[str, Grader] = {entry: FinalState(books[entry], expected[entry]) for entry in expected}
        parts |= {rule: Constraints({rule: kept}) for rule, kept in state.check_rules(task.goal.facts).items()}
        outcome = await AllOf(enough=1.0, **parts).verdict(episode, "outcome")
        if not self.options.judge or not outcome.value:
            return Score(outcome.value, outcome.parts)
        manner = await self._judge_manner(episode)
        return Score(1 - MANNER_WEIGHT * (1 - manner), {**outcome.parts, "manner": manner})

    async def _check_customer(self, episode: Episode) -> None:
        """Checks that the customer was played as the task describes them, by a judge if there is one.

        Errors: EpisodeFailure (user) if the judge finds that the customer was not true to their role, or if the
        customer ended the conversation before the agent had written; EpisodeFailure (judge) if the judge gives no
        label.
        """
        assert episode.stop is not None
        unanswered = not episode.messages_of("policy") and not episode.task.messages
        if episode.stop.reason == StopReason.STOP_TEXT and unanswered:
            raise EpisodeFailure(
                FailureKind.USER, "user", "it ended the conversation before the agent had said anything"
            )
        if not self.options.judge or not episode.messages_of("user"):
            return
        question = question_about_customer(customer_facts(episode.task), self._chat(episode, "user"))
        judge = Judge(question, ROLE_LABELS, too_long=1.0)  # else the agent could fail it by what it writes
        verdict = await judge.verdict(episode, "customer")
        if not verdict.value:
            raise EpisodeFailure(FailureKind.USER, "user", f"it was not true to its role: {verdict.why}")

    async def _judge_manner(self, episode: Episode) -> float:
        """Returns the judge's grade of the policy's lines, from 0 to 1.

        Returns 0 if the policy wrote none, or if they don't fit into the judge's context. Errors: EpisodeFailure
        (judge) if the judge gives no label.
        """
        if not any(message.content for message in episode.messages_of("policy")):
            return 0.0
        question = question_about_agent(self._chat(episode, "policy"))
        return (await Judge(question, MANNER_LABELS, too_long=0.0).verdict(episode, "manner")).value

    def _chat(self, episode: Episode, side: str) -> list[Message]:
        """Returns the messages that a side saw and wrote, without the system prompt.

        The opening is a stage direction and left out, unless the task's row has an opening that was really said.
        """
        messages = [message for message in episode.threads[side].messages if message.role != "system"]
        directed = side == self.options.first_speaker and (side != "policy" or not policy_view(episode.task.messages))
        return messages[1:] if directed else messages
