"""Compares the answers of a group in pairs by a generative reward model, so that each score depends on the other
answers.

For a pair, the model writes two scores (1 to 5) and a ranking (1: the first is much better, ... 6: the second is much
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
from ray_gym.models.thoughts import last_words

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode

LOWEST, HIGHEST = 1, 5
"""Ends of the scale of scores."""
FIRST_MUCH_BETTER, SECOND_MUCH_BETTER = 1, 6
"""Ends of the scale of rankings."""
TIE_STEP = 0.5
"""Most points by which a ranking moves each of two answers with the same score. The two are then one point apart, or
half a point at the ends of the scale, which no answer can leave."""
FORM = "Scores: <first>, <second>\nRanking: <1 to 6>"
"""Form in which the model has to answer."""
REMINDER = f"That can't be read. Scores are whole numbers from 1 to 5, the ranking is one from 1 to 6. Answer in this form:\n{FORM}"
"""Message to a model whose answer can't be read."""

# All repetitions are bounded: the text that is read here may be long, and anything at all.
_NUMBER = r"[^\w\n/.-]{0,10}(\d+)(?:\.0+)?(?!\.?\d)"
_NAMED = r"\b(?:[^\n:]{0,40}:)?"
_NO_MORE = r"(?! {0,3}(?:[,;>\u2013-]|to\b|and\b|or\b)[^\w\n]{0,6}\d)"
_APART = r"[^\w\n/.:=|#-]{0,10}"
_SCORES = re.compile(
    rf"\bscores?{_NAMED}{_NUMBER}(?:/5\b)?{_APART}(?:and\b)?{_APART}(\d+)(?:\.0+)?(?!\.?\d)(?! {{0,3}}[:=|]){_NO_MORE}",
    re.IGNORECASE,
)
_NUMBERED_SCORE = re.compile(
    r"\bscore[ \t#(\[*_\"'.-]{0,5}(?:no\.? ?)?([12])(?!\d|\.\d)(?:[^\n:=|>\d]{0,30}[:=|>]|(?=[ \t]+\d))"
    rf"(?:{_NUMBER}(?:/5\b)?(?![/-]\d){_NO_MORE})?",
    re.IGNORECASE,
)
"""A score that is named by its answer's number (`Score 1: 4`), with its value if that can be read."""
_RANKING = re.compile(rf"\branking{_NAMED}{_NUMBER}{_NO_MORE}", re.IGNORECASE)
_BOX = re.compile(r"\\boxed ?\{([^{}\n]{0,40})\}")
"""A box of LaTeX, in which models that are trained for this task write scores and ranking."""
_FRAME = re.compile(r"\[The (?:Begin of ([A-Za-z ]{1,40})|End of [A-Za-z ]{1,40})\]\s{0,9}")
"""Lines around scores and ranking, as the models that write boxes have them."""
_WHOSE = r"(?:the |answer |response |assistant ){0,2}"
_EACH_NAMED = re.compile(
    rf"(?<=scores)([*_]{{0,3}}:[*_ ]{{0,4}}){_WHOSE}(?:1|A|first)(?: answer| response)? ?[:=] ?(\d)(?:/5)?(?: ?[,;] ?| and )"
    rf"{_WHOSE}(?:2|B|second)(?: answer| response)? ?[:=] ?(\d)(?:/5)?(?!\.?\d)",
    re.IGNORECASE,
)
"""Two scores behind one title, each with the name of its answer."""
_REMARK = re.compile(r"(?<=\d) \([A-Za-z ,]{1,40}\)(?= ?[,;]| and |[ ]*$)", re.MULTILINE)
"""Words in brackets behind a score."""
_BELOW = r"[ \t*_:]{0,9}\n\s{0,9}"
_TWO_SCORES = r"(?:[^\w\n#]|#(?!\d)){0,9}\d(?:/5)?[ \t*_,;|&]{1,9}(?:and[ \t]{1,9})?\d(?:/5)?[^\w\n]{0,9}$"
_RANK_END = r"(?:[ \t]\([^()\n]{1,60}\))?[^\w\n]{0,9}$"
_NEXT_RANK = (
    rf"\n\s{{0,9}}[^\w\n]{{0,9}}\d(?:[^\w\n]{{1,5}}(?:response|answer|assistant)?[^\w\n]{{0,3}}[12AB]?)?{_RANK_END}"
)
_ONE_RANK = rf"(?:[^\w\n#]|#(?!\d)){{0,9}}\d{_RANK_END}(?!{_NEXT_RANK})"
"""A ranking alone on its line, and no list: the next line is no other one, perhaps with the answer that has it."""
_TITLE = re.compile(
    rf"^[ \t*_#]{{0,9}}((?:individual )?scores(?={_BELOW}{_TWO_SCORES})"
    rf"|ranking(?: score)?(?={_BELOW}{_ONE_RANK})){_BELOW}",
    re.IGNORECASE | re.MULTILINE,
)
"""Title on a line of its own above a line with the two scores, or the ranking, alone: a list's numbers are none."""
_SCORE_VALUES = {str(score): score for score in range(LOWEST, HIGHEST + 1)}
_RANKING_VALUES = {str(ranking): ranking for ranking in range(FIRST_MUCH_BETTER, SECOND_MUCH_BETTER + 1)}

Ask = Callable[[str, str], str]
"""Function that writes the question about two answers, the first and the second."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Holds the points of two answers, between 1 and 5."""

    first: float
    """Points of the first answer."""
    second: float
    """Points of the second answer."""
    read: bool = True
    """False if the points were not read from an answer of the model, but set instead."""


@dataclass(frozen=True)
class PairwiseComparison:
    """Asks a reward model about pairs of a group's answers, and gives each answer the mean of its points.

    An answer of the model that can't be read is asked for again. An answer that was cut is read too. If the model's
    context has no room for a pair, the longer answer has lost: otherwise one answer could spoil its whole group. The
    calls of a pair are in the record of the first answer's episode.
    """

    ask: Ask
    """Writes the question, which has to ask for `FORM`."""
    pairs: Literal["circle", "all"] = "circle"
    """circle: each answer with its neighbour (`circle`); all: every two answers (`every_pair`)."""
    retries: int = 2
    """Number of times that an unreadable answer is asked for again."""
    unreadable: float | None = None
    """Points of both answers if no answer of the model can be read; None makes that the model's failure."""
    reward_model: str = "reward_model"
    """Name of the reward model among the environment's `auxiliary`."""

    async def verdicts(self, episodes: Sequence[Episode], answers: Sequence[str]) -> list[Verdict]:
        """Returns a verdict for each answer, and records it in the answer's episode. Its value is the mean of the
        answer's points in all its comparisons, brought from 1 to 5 to a scale from 0 to 1; 0.5 for an answer without
        any.

        The part `unreadable` is the number of the answer's comparisons whose points were set without a readable answer
        of the model. Errors: EpisodeFailure (judge) if the model gives no readable answer about a pair that fits into
        its context, and `unreadable` is None; EpisodeFailure if a call fails.
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
        message = f"no comparison can be read in {asked.answers} answers; the last: {asked.last[-200:]!r}{asked.why}"
        raise EpisodeFailure(FailureKind.JUDGE, self.reward_model, message)


def circle(count: int) -> list[tuple[int, int]]:
    """Returns pairs of each number below `count` with the next, and of the last with the first. Each is once in the
    first place and once in the second. Returns no pair for a `count` below 2.
    """
    return [(i, (i + 1) % count) for i in range(count)] if count > 1 else []


def every_pair(count: int) -> list[tuple[int, int]]:
    """Returns every pair of two numbers below `count` once.

    If `count` is odd, each number is in the first place as often as in the second. If it is even, the two differ by
    one.
    """
    distances = range(1, count // 2 + 1)
    return [(i, (i + far) % count) for far in distances for i in range(far if 2 * far == count else count)]


def read_comparison(text: str) -> Comparison | None:
    """Returns the points of two answers by the last scores and the last ranking after the last thought in a text.
    Returns None if one of them is missing or out of range.

    The scores decide, even if the ranking contradicts them. The ranking only breaks ties.
    """
    said = _BOX.sub(r"\1", last_words(text))
    said = _TITLE.sub(r"\1: ", _FRAME.sub(lambda found: f"{found[1]}: " if found[1] else "", said))
    said = _EACH_NAMED.sub(r"\1\2, \3", _REMARK.sub("", said))
    scores, rankings = _last_scores(said), _RANKING.findall(said)
    if not scores or not rankings:
        return None
    first, second = (_SCORE_VALUES.get(score) for score in scores)
    ranking = _RANKING_VALUES.get(rankings[-1])
    if first is None or second is None or ranking is None:
        return None
    if first != second:
        return Comparison(first, second)
    middle = (FIRST_MUCH_BETTER + SECOND_MUCH_BETTER) / 2
    step = TIE_STEP * (middle - ranking) / (middle - FIRST_MUCH_BETTER)
    return Comparison(_within(first + step), _within(second - step))


def _last_scores(said: str) -> tuple[str, str] | None:
    """Returns the last two scores in a text; None if there are none, or if scores in a row (`Scores: 4, 3`) and scores
    with a number each (`Score 1: 4`, `Score 2: 3`) are not the same, or one of the latter is missing.
    """
    pairs: list[tuple[str, str]] = [(found[1], found[2]) for found in _SCORES.finditer(said)]
    numbered: dict[str, str] = {found[1]: found[2] or "" for found in _NUMBERED_SCORE.finditer(said)}
    if not numbered:
        return pairs[-1] if pairs else None
    named = (numbered.get("1", ""), numbered.get("2", ""))
    return named if all(named) and (not pairs or pairs[-1] == named) else None


def _within(points: float) -> float:
    """Returns the points, limited to the scale."""
    return min(max(points, float(LOWEST)), float(HIGHEST))


def _verdict(points: Sequence[float], unread: int) -> Verdict:
    """Returns the verdict of an answer: the mean of its points, on a scale from 0 to 1; 0.5 without points. `unread`:
    number of its comparisons that could not be read.
    """
    if not points:
        return Verdict(0.5, "there was nothing to compare it with", {"unreadable": 0.0})
    mean = sum(points) / len(points)
    shown = f"points in its comparisons: {', '.join(f'{one:g}' for one in points)}"
    why = f"{shown}; {unread} of them could not be read" if unread else shown
    return Verdict((mean - LOWEST) / (HIGHEST - LOWEST), why, {"unreadable": float(unread)})
