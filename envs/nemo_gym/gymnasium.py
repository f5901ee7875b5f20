"""Plays servers of the gymnasium style, in which every message of the policy is a step, and the steps' rewards are
added up.

The tools of a message are no routes of the server. The server carries them out in the step, and answers them all at
once.
"""

from __future__ import annotations

import json
from typing import Any

from ray_gym import EpisodeFailure, FailureKind, Score
from ray_gym.envs.nemo_gym.response import response_of
from ray_gym.envs.nemo_gym.row import NemoRow
from ray_gym.envs.nemo_gym.session import NemoSession
from ray_gym.envs.nemo_gym.verdict import number, why
from ray_gym.events import Event
from ray_gym.messages import utf8
from ray_gym.stop import StopReason

_KEY_FIELD = "_ng_step_request_id"


class GymnasiumSteps:
    """Takes the steps of one episode on the server, and adds up their rewards."""

    def __init__(self, session: NemoSession, task: NemoRow) -> None:
        self._session, self._episode, self._task = session, session.episode, task
        info = session.seeded.get("info") or {}
        self._key_field = _KEY_FIELD if info.get("supports_step_idempotency") is True else None
        self._taken: Event | None = None
        """Message with which the last step was taken."""
        self._last: dict[str, Any] = {}
        """Answer of the server to the last step."""
        self._reward = 0.0
        self.observation: str | None = session.seeded.get("observation")
        """Text that the policy has yet to be told; None if there is none."""
        self.outcome: str | None = None

    async def play(self) -> None:
        """Plays turns of one message each, with a step after each, until the server or a limit ends the episode.
        Errors: EpisodeFailure if the step's call fails, or gives no reward.
        """
        episode = self._episode
        while not episode.stopped:
            if self.observation:
                episode.tell("policy", self.observation)
                self.observation = None
            await episode.turn("policy", max_steps=1)
            if not episode.stopped:
                await self._step()
                if self.outcome is not None:
                    episode.end(StopReason.FINISHED, self.outcome)

    async def result_of_call(self) -> str:
        """Returns the result of the tool call that is being carried out; "" if the server gives none.

        The first call of a message takes the step, which answers all calls of the message. Errors: EpisodeFailure if
        the step's call fails, or gives no reward.
        """
        message = self._episode.messages_of("policy")[-1]
        answered = [event for event in self._episode.events[message.seq :] if event.kind == "tool_result"]
        call_id = message.tool_calls[len(answered)].id
        await self._step()
        outputs = (self._last.get("info") or {}).get("tool_outputs") or []
        return next((_text(given.get("output")) for given in outputs if given.get("call_id") == call_id), "")

    async def score(self) -> tuple[Score, str]:
        """Returns the sum of all steps' rewards, and the findings in the server's last answer as JSON text (`why`).

        First takes a step with a last message that has had none (it was cut, or reached a limit), unless the server or
        the deadline ended the episode. Errors: EpisodeFailure if that step fails.
        """
        stop = self._episode.stop
        if self.outcome is None and stop is not None and stop.reason != StopReason.DEADLINE:
            await self._step()
        return Score(self._reward), why(self._last, {}, self._session.server.headers.hide)

    async def _step(self) -> None:
        """Takes a step with the policy's last message, unless that was done already, and keeps the answer.

        Errors: EpisodeFailure if the call fails, or the server gives no JSON object with a reward.
        """
        said = self._episode.messages_of("policy")
        if not said or said[-1] is self._taken:
            return
        self._taken = said[-1]
        response = response_of(self._episode, [self._taken], self._task.tools())
        body = {**self._task.row, "response": response}
        answer = await self._session.post("/step", body, key_field=self._key_field)
        self._last = self._session.read_object("/step", answer, bad_row=())
        reward = number(self._last.get("reward"))
        if reward is None:
            problem = f"no reward in the answer: {self._session.server.explain(answer)}"
            raise EpisodeFailure(FailureKind.ENVIRONMENT, self._session.where("/step"), problem)
        self._reward += reward
        self.observation = self._last.get("observation")
        self.outcome = next((name for name in ("terminated", "truncated") if self._last.get(name)), None)


def _text(output: Any) -> str:
    return output if isinstance(output, str) else utf8(json.dumps(output, ensure_ascii=False))
