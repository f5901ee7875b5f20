"""Holds scripted reward models, which use only simple features, and a policy that satisfies them.

models: {reward: {engine: scripted, player: "ray_gym.envs.reward_model.players:scalar_player"}}
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from ray_gym import Message
from ray_gym.graders.comparison import FIRST_MUCH_BETTER, HIGHEST, LOWEST, SECOND_MUCH_BETTER
from ray_gym.models.base import CompletionRequest

HIGHEST_QUALITY = 3.0
FEWEST_WORDS, MOST_WORDS = 20, 120
_WORD = re.compile(r"[^\W\d_]+")
_COMPARED = re.compile(
    r"<conversation>\n(.*)\n</conversation>\s*<first>\n(.*)\n</first>\s*<second>\n(.*)\n</second>", re.DOTALL
)
_LAST_REQUEST = re.compile(r"(?:\A|\n)User: ((?:(?!\nUser: ).)*)\Z", re.DOTALL)
_FILLERS = (
    "please", "notice", "every", "thing", "asked", "about", "will", "be", "found", "here", "in", "one", "short", "and", "tidy",
    "answer", "which", "ends", "as", "it", "should", "do", "with", "full", "stop",
)  # fmt: skip


def quality(request: str, answer: str) -> float:
    """Returns the quality of an answer, from -1 to 3.

    The quality is a point for a fitting length, a point for a complete last sentence, and the share of the request's
    longer words that the answer uses, less the share of repeated words in the answer.
    """
    words = _words(answer)
    wanted = {word for word in _words(request) if len(word) > 3}
    taken_up = len(wanted & set(words)) / len(wanted) if wanted else 1.0
    fits = FEWEST_WORDS <= len(words) <= MOST_WORDS
    is_whole = answer.rstrip().endswith((".", "!", "?"))
    said_again = 1 - len(set(words)) / len(words) if words else 0.0
    return taken_up + fits + is_whole - said_again


def scalar_player(request: CompletionRequest, rng: random.Random) -> Message:
    """Plays a scalar reward model, which answers with a number: the quality of the last message as an answer to the
    user's last.
    """
    *earlier, answer = request.messages
    return Message("assistant", f"{quality(_last_request(earlier), answer.content):.6f}")


def comparing_player(request: CompletionRequest, rng: random.Random) -> Message:
    """Plays a generative reward model. The better answer gets the highest score, and the other a score that is lower by
    twice the difference in quality, rounded, but at least 1. The ranking tells the better one.
    """
    found = _COMPARED.search(request.messages[-1].content)
    if found is None:
        return Message("assistant", "I see no two answers.")
    conversation, first, second = found.groups()
    asked = _LAST_REQUEST.search(conversation)
    one, other = (quality(asked[1] if asked else "", answer) for answer in (first, second))
    scores = [_as_score(one - other), _as_score(other - one)]
    middle = (FIRST_MUCH_BETTER + SECOND_MUCH_BETTER) / 2
    ranking = round(min(max(middle - one + other, FIRST_MUCH_BETTER), SECOND_MUCH_BETTER))
    return Message("assistant", f"Scores: {scores[0]}, {scores[1]}\nRanking: {ranking}")


def best_player(request: CompletionRequest, rng: random.Random) -> Message:
    """Plays a policy with the features that these reward models reward: it says each word of more than three letters in
    the last request once, and fills up to `FEWEST_WORDS` words.
    """
    wanted = dict.fromkeys(word for word in _words(_last_request(request.messages)) if len(word) > 3)
    words = [*wanted, *(word for word in _FILLERS if word not in wanted)]
    return Message("assistant", f"{' '.join(words[: max(len(wanted), FEWEST_WORDS)]).capitalize()}.")


def _last_request(messages: Sequence[Message]) -> str:
    return next((message.content for message in reversed(messages) if message.role == "user"), "")


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _as_score(lead: float) -> int:
    return max(LOWEST, HIGHEST + round(2 * min(lead, 0)))
