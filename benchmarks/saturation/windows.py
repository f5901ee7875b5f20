"""Computes figures of engines for the time while the full number of episodes was in flight."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ray_gym.deployments.chat.token_engine import GenerationRequest


@dataclass(frozen=True, slots=True)
class EngineCall:
    """Describes a request to an engine and its answer, as the engine's process saw it. Times are seconds of
    `time.time()`.
    """

    request: GenerationRequest
    began_at: float
    ended_at: float
    tokens: int
    """Number of generated tokens."""
    cached: int
    """Number of the prompt's tokens that the prefix cache had."""

    @property
    def computed(self) -> int:
        """Returns the number of the prompt's tokens that the cache did not have."""
        return len(self.request.prompt_ids) - self.cached


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """Holds the start and the end of a window, in seconds of `time.time()`."""

    start: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.start

    def share(self, call: EngineCall) -> float:
        """Returns the share of a call's time that lies in the window."""
        inside = min(self.end, call.ended_at) - max(self.start, call.began_at)
        return max(0.0, inside) / max(call.ended_at - call.began_at, 1e-9)


def chains(calls: Iterable[EngineCall]) -> list[list[EngineCall]]:
    """Returns each episode's calls in their order. The episodes are in the order in which they began."""
    found: dict[str, list[EngineCall]] = {}
    for call in sorted(calls, key=lambda call: call.began_at):
        found.setdefault(call.request.session_id, []).append(call)
    return list(found.values())


def gaps_ms(episodes: Iterable[Sequence[EngineCall]]) -> list[float]:
    """Returns the milliseconds from the end of each call to the start of the next one of its episode."""
    return [1000 * (after.began_at - call.ended_at) for calls in episodes for call, after in pairwise(calls)]


def full_window(episodes: Sequence[Sequence[EngineCall]], concurrency: int) -> TimeWindow:
    """Finds the window from the first to the last moment at which `concurrency` episodes are in flight.

    In between, one may just be giving way to the next. Errors: ValueError if there is no such moment.
    """
    changes = [(episode[0].began_at, 1) for episode in episodes] + [(episode[-1].ended_at, -1) for episode in episodes]
    in_flight, full_at = 0, []
    for at, change in sorted(changes):
        if in_flight == concurrency:
            full_at.append(at)
        in_flight += change
        if in_flight == concurrency:
            full_at.append(at)
    if not full_at:
        raise ValueError(f"there never were {concurrency} episodes in flight")
    return TimeWindow(full_at[0], full_at[-1])


def tokens_a_second(calls: Iterable[EngineCall], window: TimeWindow) -> float:
    """Returns the generated tokens a second in the window.

    The tokens of a call count by the share of its time that lies in the window.
    """
    return sum(call.tokens * window.share(call) for call in calls) / window.seconds
