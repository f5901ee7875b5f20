"""Records metrics while episodes are played, in the process that plays them."""

from __future__ import annotations

from ray_gym.metrics.recorder import Count, Recorder, Values
from ray_gym.metrics.table import (
    CACHED_PROMPT_TOKENS,
    EPISODE_QUEUE,
    GENERATED_TOKENS,
    MODEL_CALL,
    PROMPT_TOKENS,
    STEP,
)
from ray_gym.models.base import Completion


class PlayMetrics:
    """Takes what happens in episodes, and records nothing: it is used where no metrics are read."""

    def begun(self, queued_s: float) -> None:
        """Takes the seconds that an episode waited until its first model call; here they are ignored."""

    def step(self, participant: str, seconds: float) -> None:
        """Takes the seconds of a participant's step (one model call and its tool calls); here they are ignored."""

    def answered(self, participant: str, model: str, completion: Completion, seconds: float) -> None:
        """Takes a model call that was answered, with its seconds and its tokens; here they are ignored. Calls that are
        answered from a journal are not reported.
        """


class RecordedPlay(PlayMetrics):
    """Records the metrics of episodes of one environment."""

    def __init__(self, recorder: Recorder, environment: str) -> None:
        self._recorder = recorder
        self._environment = environment
        self._queued = recorder.values(EPISODE_QUEUE, environment)
        self._steps: dict[str, Values] = {}
        self._calls: dict[str, tuple[Values, Count, Count, Count]] = {}

    def begun(self, queued_s: float) -> None:
        self._queued.observe(max(0.0, queued_s))  # two nodes' clocks may differ

    def step(self, participant: str, seconds: float) -> None:
        values = self._steps.get(participant)
        if values is None:
            values = self._steps[participant] = self._recorder.values(STEP, self._environment, participant)
        values.observe(seconds)

    def answered(self, participant: str, model: str, completion: Completion, seconds: float) -> None:
        values, prompt, cached, generated = self._calls.get(participant) or self._series(participant, model)
        values.observe(seconds)
        prompt.since += completion.prompt_tokens
        cached.since += completion.cached_tokens
        generated.since += completion.generated_tokens

    def _series(self, participant: str, model: str) -> tuple[Values, Count, Count, Count]:
        calls = self._recorder.values(MODEL_CALL, model, participant)
        tokens = (PROMPT_TOKENS, CACHED_PROMPT_TOKENS, GENERATED_TOKENS)
        prompt, cached, generated = (self._recorder.count(metric, model) for metric in tokens)
        self._calls[participant] = (calls, prompt, cached, generated)
        return self._calls[participant]
