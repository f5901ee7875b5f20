"""A generative reward model: the answers of a group are compared in pairs, so each one's score depends on the others.

For a pair the model writes two scores (1 to 5) and a ranking (1: the first is much better, ... 6: the second is much better).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ray_gym.concurrent import concurrently
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.graders.grader import Verdict
from ray_gym.messages import Message

if TYPE_CHECKING:
    from ray_gym.episode import Episode

LOWEST, HIGHEST = 1, 5
FIRST_MUCH_BETTER, SECOND_MUCH_BETTER = 1, 6
TIE_STEP = 0.5
"""How many points a ranking moves each of two answers with the same score, at most: less than one, so that it only breaks ties."""
_SCORES = re.compile(r"scores?\W*?(\d+)\s*(?:,|and|/|\s)\s*(\d+)", re.IGNORECASE)
_RANKING = re.compile(r"ranking\W*?(\d+)", re.IGNORECASE)
FORM = "Scores: <first>, <second>\nRanking: <1 to 6>"
REMINDER = f"That can't be read. Scores are whole numbers from 1 to 5, the ranking is one from 1 to 6. Answer in this form:\n{FORM}"

Ask = Callable[[str, str], str]
"""The question about two answers, of which the first is named first."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What a comparison says of the two, in points between 1 and 5."""

    first: float
    second: float


@dataclass(frozen=True)
class PairwiseComparison:
    """`pairs`: in a circle (each answer twice, once in each place) or all of them, in one order each.

    `ask` writes the question; it has to ask for `FORM`. What can't be read is asked for again, `retries` times; after that it is the
    model's failure. Calls are on the record of the first of a pair.
    """

    ask: Ask
    pairs: Literal["circle", "all"] = "circle"
    retries: int = 2
    reward_model: str = "reward_model"

    async def verdicts(self, episodes: Sequence[Episode], answers: Sequence[str]) -> list[Verdict]:
        """A value between 0 and 1 for each: the mean of its points. Alone in its group, an answer gets 0.5.

        Errors: EpisodeFailure (judge).
        """
        pairs = circle(len(answers)) if self.pairs == "circle" else list(itertools.combinations(range(len(answers)), 2))
        compared = await concurrently(*(self._compare(episodes[i], answers[i], answers[j]) for i, j in pairs))
        points: list[list[float]] = [[] for _ in answers]
        for (i, j), one in zip(pairs, compared, strict=True):
            points[i].append(one.first)
            points[j].append(one.second)
        verdicts = [_verdict(own) for own in points]
        for episode, verdict in zip(episodes, verdicts, strict=True):
            episode.record_verdict("PairwiseComparison", verdict.value, verdict.why)
        return verdicts

    async def _compare(self, episode: Episode, first: str, second: str) -> Compared:
        conversation = [Message("user", self.ask(first, second))]
        for _ in range(self.retries + 1):
            answer = (await episode.ask(self.reward_model, *conversation)).content
            compared = read_comparison(answer)
            if compared is not None:
                return compared
            conversation += [Message("assistant", answer), Message("user", REMINDER)]
        raise EpisodeFailure(FailureKind.JUDGE, self.reward_model, f"no comparison can be read in {answer[-200:]!r}")


def circle(count: int) -> list[tuple[int, int]]:
    """Each with its neighbour, the last with the first; two have only one pair."""
    return [(0, 1)] if count == 2 else [(i, (i + 1) % count) for i in range(count)] if count > 2 else []


def read_comparison(text: str) -> Compared | None:
    """The last scores and the last ranking in a text; None if one is missing or out of its range."""
    scores, rankings = _SCORES.findall(text), _RANKING.findall(text)
    if not scores or not rankings:
        return None
    first, second, ranking = int(scores[-1][0]), int(scores[-1][1]), int(rankings[-1])
    in_range = all(LOWEST <= score <= HIGHEST for score in (first, second))
    if not in_range or not FIRST_MUCH_BETTER <= ranking <= SECOND_MUCH_BETTER:
        return None
    if first != second:
        return Compared(first, second)
    middle = (FIRST_MUCH_BETTER + SECOND_MUCH_BETTER) / 2
    step = TIE_STEP * (middle - ranking) / (middle - FIRST_MUCH_BETTER)
    return Compared(_within(first + step), _within(second - step))


def _within(points: float) -> float:
    return min(max(points, float(LOWEST)), float(HIGHEST))


def _verdict(points: Sequence[float]) -> Verdict:
    if not points:
        return Verdict(0.5, "there was nothing to compare it with")
    mean = sum(points) / len(points)
    shown = ", ".join(f"{one:g}" for one in points)
    return Verdict((mean - LOWEST) / (HIGHEST - LOWEST), f"points in its comparisons: {shown}")
