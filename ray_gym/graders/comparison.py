"""Compares the answers of a group in pairs with a generative reward model, so each one's score depends on the others.

For a pair the model writes two scores (1 to 5) and a ranking (1: the first is much better, ... 6: the second is much
better).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ray_gym.aio.concurrent import run_concurrently
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.graders.asking import ask_until
from ray_gym.graders.grader import Verdict

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode

LOWEST, HIGHEST = 1, 5
FIRST_MUCH_BETTER, SECOND_MUCH_BETTER = 1, 6
TIE_STEP = 0.5
"""Points that a ranking moves each of two answers with the same score, at most: the two are then one point apart, or
half of one at the ends of the scale, which no answer can leave.
"""
FORM = "Scores: <first>, <second>\nRanking: <1 to 6>"
REMINDER = f"That can't be read. Scores are whole numbers from 1 to 5, the ranking is one from 1 to 6. Answer in this form:\n{FORM}"

# All repetitions are bounded: the text that is read here may be long, and anything at all.
_NUMBER = r"[^\w\n/.-]{0,10}(\d+)(?:\.0+)?(?!\.?\d)"
_NAMED = r"\b(?:[^\n:]{0,40}:)?"
_NO_MORE = r"(?! {0,3}(?:[,;>\u2013-]|to\b|and\b|or\b) {0,3}\d)"
_SCORES = re.compile(
    rf"\bscores?{_NAMED}{_NUMBER}(?:/5\b)?[^\w\n/.-]{{0,10}}(?:and\b)?{_NUMBER}{_NO_MORE}", re.IGNORECASE
)
_RANKING = re.compile(rf"\branking{_NAMED}{_NUMBER}{_NO_MORE}", re.IGNORECASE)
_SCORE_VALUES = {str(score): score for score in range(LOWEST, HIGHEST + 1)}
_RANKING_VALUES = {str(ranking): ranking for ranking in range(FIRST_MUCH_BETTER, SECOND_MUCH_BETTER + 1)}

Ask = Callable[[str, str], str]
"""Writes the question about two answers, of which the first is named first."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison gives each of two answers points between 1 and 5.

    `read` is False if they were set, because nothing could be read.
    """

    first: float
    second: float
    read: bool = True


@dataclass(frozen=True)
class PairwiseComparison:
    """Asks a reward model about pairs of a group's answers, and gives each answer the mean of its points.

    `pairs`: in a circle (each answer twice, once in each place) or all of them, in one order each (see `every_pair`).

    `ask` writes the question; it has to ask for `FORM`. An answer that can't be read is asked for again, `retries`
    times; after that both get `unreadable` points, which the verdict says, or, if that is None, it is the model's
    failure. An answer that was cut is read as far as it goes. Where the model's context has no room for the two, the
    longer one has lost: else one answer could spoil its whole group. Calls are on the record of the first of a pair.
    """

    ask: Ask
    pairs: Literal["circle", "all"] = "circle"
    retries: int = 2
    unreadable: float | None = None
    reward_model: str = "reward_model"

    async def verdicts(self, episodes: Sequence[Episode], answers: Sequence[str]) -> list[Verdict]:
        """Returns a verdict for each answer, with a value between 0 and 1: the mean of its points. Alone in its group,
        an answer gets 0.5.

        The part `unreadable` is the number of its comparisons that could not be read. Errors: EpisodeFailure (judge).
        """
        pairs = circle(len(answers)) if self.pairs == "circle" else every_pair(len(answers))
        compared = await run_concurrently(*(self._compare(episodes[i], answers[i], answers[j]) for i, j in pairs))
        points: list[list[float]] = [[] for _ in answers]
        unread = [0] * len(answers)
        for (i, j), one in zip(pairs, compared, strict=True):
            points[i].append(one.first)
            points[j].append(one.second)
            unread[i] += not one.read
            unread[j] += not one.read
        verdicts = [_verdict(own, count) for own, count in zip(points, unread, strict=True)]
        for episode, verdict in zip(episodes, verdicts, strict=True):
            episode.record_verdict("PairwiseComparison", verdict.value, verdict.why)
        return verdicts

    async def _compare(self, episode: Episode, first: str, second: str) -> Comparison:
        question = self.ask(first, second)
        asked = await ask_until(episode, self.reward_model, question, read_comparison, REMINDER, self.retries)
        if asked.found is not None:
            return asked.found
        if asked.too_long:
            return (
                Comparison(LOWEST, HIGHEST, read=False)
                if len(first) > len(second)
                else Comparison(HIGHEST, LOWEST, read=False)
            )
        if self.unreadable is not None:
            return Comparison(self.unreadable, self.unreadable, read=False)
        message = f"no comparison can be read in {asked.answers} answers; the last: {asked.last[-200:]!r}"
        raise EpisodeFailure(FailureKind.JUDGE, self.reward_model, message)


def circle(count: int) -> list[tuple[int, int]]:
    """Pairs each answer with its neighbour, the last with the first: every answer is once in each place, also of
    two.
    """
    return [(i, (i + 1) % count) for i in range(count)] if count > 1 else []


def every_pair(count: int) -> list[tuple[int, int]]:
    """Pairs every two answers once.

    An answer is in the first place as often as in the second, or, if their number is even, once more or less.
    """
    distances = range(1, count // 2 + 1)
    return [(i, (i + far) % count) for far in distances for i in range(far if 2 * far == count else count)]


def read_comparison(text: str) -> Comparison | None:
    """Reads the last scores and the last ranking that have the form; None if there are none, or if they are out of
    their range.

    The scores count. The ranking only breaks ties: it says nothing against different scores, even if it contradicts
    them.
    """
    scores, rankings = _SCORES.findall(text), _RANKING.findall(text)
    if not scores or not rankings:
        return None
    first, second = (_SCORE_VALUES.get(score) for score in scores[-1])
    ranking = _RANKING_VALUES.get(rankings[-1])
    if first is None or second is None or ranking is None:
        return None
    if first != second:
        return Comparison(first, second)
    middle = (FIRST_MUCH_BETTER + SECOND_MUCH_BETTER) / 2
    step = TIE_STEP * (middle - ranking) / (middle - FIRST_MUCH_BETTER)
    return Comparison(_within(first + step), _within(second - step))


def _within(points: float) -> float:
    """Limits points to the scale."""
    return min(max(points, float(LOWEST)), float(HIGHEST))


def _verdict(points: Sequence[float], unread: int) -> Verdict:
    """Makes the verdict of an answer out of its points."""
    if not points:
        return Verdict(0.5, "there was nothing to compare it with", {"unreadable": 0.0})
    mean = sum(points) / len(points)
    shown = f"points in its comparisons: {', '.join(f'{one:g}' for one in points)}"
    why = f"{shown}; {unread} of them could not be read" if unread else shown
    return Verdict((mean - LOWEST) / (HIGHEST - LOWEST), why, {"unreadable": float(unread)})
