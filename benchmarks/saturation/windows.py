"""What an engine did while it had all that it was to have in flight. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ray_gym.deployments.chat.token_engine import GenerationRequest


@dataclass(frozen=True, slots=True)
class Call:
    """One generation, as the engine's process saw it, in seconds of `time.time()`."""

    request: GenerationRequest
    began_at: float
    ended_at: float
    tokens: int
    cached: int

    @property
    def computed(self) -> int:
        """Tokens of the prompt that no cache had."""
        return len(self.request.prompt_ids) - self.cached


@dataclass(frozen=True, slots=True)
class Window:
    start: float
    end: float

    @property
    def seconds(self) -> float:
        return self.end - self.start

    def share(self, call: Call) -> float:
        """How much of a call lies in it."""
        inside = min(self.end, call.ended_at) - max(self.start, call.began_at)
        return max(0.0, inside) / max(call.ended_at - call.began_at, 1e-9)


def chains(calls: Iterable[Call]) -> list[list[Call]]:
    """The calls of each episode, one after the other; the episodes in the order in which they began."""
    found: dict[str, list[Call]] = {}
    for call in sorted(calls, key=lambda call: call.began_at):
        found.setdefault(call.request.session_id, []).append(call)
    return list(found.values())


def gaps_ms(episodes: Iterable[Sequence[Call]]) -> list[float]:
    """How long after each answer the engine was asked what follows from it."""
    return [1000 * (after.began_at - call.ended_at) for calls in episodes for call, after in pairwise(calls)]


def full_window(episodes: Sequence[Sequence[Call]], concurrency: int) -> Window:
    """From when so many episodes are in flight until they are for the last time; in between one may just be giving way to another.

    Errors: ValueError if they never are.
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
    return Window(full_at[0], full_at[-1])


def tokens_a_second(calls: Iterable[Call], window: Window) -> float:
    return sum(call.tokens * window.share(call) for call in calls) / window.seconds
