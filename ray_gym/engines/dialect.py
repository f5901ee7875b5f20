"""Gives requests the form that one endpoint takes, as it tells by its refusals: models refuse fields of OpenAI's API,
want back what they gave beside earlier calls, or take messages only in some order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ray_gym.engines.arranged import ARRANGEMENTS, arranged, is_of_ids, is_of_order, with_short_ids
from ray_gym.engines.endings import is_limit_unknown, own_words
from ray_gym.engines.sent_back import GIVEN, asked_back, sent_back
from ray_gym.models.base import CompletionRequest

Json = dict[str, Any]

MAX_TOKENS, MAX_COMPLETION_TOKENS = "max_tokens", "max_completion_tokens"
"""Names of the largest number of generated tokens. OpenAI's reasoning models take the newer one alone."""
_REFUSALS = frozenset({400, 422, 500})
"""HTTP statuses of refusals that may be due to a field."""
_SPELLED: Mapping[str, re.Pattern[str]] = {
    "top_p": re.compile(r"(?<![a-z])top[_ -]?p\b", re.IGNORECASE),
    "temperature": re.compile(r"(?<![a-z_])temperature\b", re.IGNORECASE),
    "parallel_tool_calls": re.compile(r"parallel[_ ]?tool[_ ]?(?:calls?|use)", re.IGNORECASE),
}
"""Fields that can be left out, as errors spell them. Where two can't be together, the first goes."""
_DEFAULTS: Mapping[str, tuple[Any, ...]] = {
    "top_p": (1,),
    "temperature": (1,),
    "parallel_tool_calls": (True, False),  # a model that does not know it makes one call
}
"""Values with which they can be: those that the API has without the field. Another value is asked for, or nothing is."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Tells how an endpoint takes requests."""

    exact: bool
    """True if the endpoint gives token ids. It gets all fields: without one, the checkpoint's default would count, and
    the record would say something else."""
    limit_name: str = MAX_TOKENS
    left_out: frozenset[str] = frozenset()
    """Fields of requests that it refuses."""
    sent_back: frozenset[str] = frozenset({GIVEN})
    """Names of the fields that it gets back with its earlier messages (see `sent_back`)."""
    kept_back: frozenset[str] = frozenset()
    """Names of those that it refuses."""
    arrangements: frozenset[str] = frozenset()
    """Names of the arrangements in which it takes messages (see `arranged`)."""
    has_short_ids: bool = False
    """True if it takes ids of calls of nine letters and digits alone."""

    def apply(self, body: Json, request: CompletionRequest) -> Json:
        """Returns the body of a request in this form, with the limit of tokens by its name here."""
        spoken = {name: value for name, value in body.items() if not self._leaves_out(name, value)}
        if MAX_TOKENS in spoken:
            spoken[self.limit_name] = spoken.pop(MAX_TOKENS)
        if not self.exact:
            spoken["messages"] = arranged(sent_back(body["messages"], request, self.sent_back), self.arrangements)
            if self.has_short_ids:
                spoken["messages"] = with_short_ids(spoken["messages"])
        return spoken

    def after(self, status: int, refusal: str, body: Json, request: CompletionRequest) -> Dialect | None:
        """Returns the form in which a request may be taken that was refused in this one; None if it is not known. No
        form comes twice.

        `refusal`: body of the HTTP answer. `body`: body of the request, as `apply` has not yet changed it.
        """
        spoken = self.apply(body, request)
        if MAX_TOKENS in spoken and is_limit_unknown(refusal):
            return replace(self, limit_name=MAX_COMPLETION_TOKENS)
        if self.exact or status not in _REFUSALS:
            return None
        others = self._others(own_words(refusal), spoken)
        return next((other for other in others if other.apply(body, request) != spoken), None)

    def _others(self, words: str, spoken: Json) -> Iterator[Dialect]:
        """Yields the forms that a refusal may ask for; the next one that changes the request is it. `spoken`: body of the
        refused request.
        """
        for name, pattern in _SPELLED.items():
            if pattern.search(words) and _is_default(name, spoken.get(name)):
                yield replace(self, left_out=self.left_out | {name})
        asked = asked_back(words)
        yield replace(self, sent_back=self.sent_back | (asked - self.kept_back))
        yield replace(self, sent_back=self.sent_back - asked, kept_back=self.kept_back | (self.sent_back & asked))
        if is_of_ids(words):
            yield replace(self, has_short_ids=True)
        for name in ARRANGEMENTS if is_of_order(words) else ():
            yield replace(self, arrangements=self.arrangements | {name})

    def _leaves_out(self, name: str, value: Any) -> bool:
        return name in self.left_out and _is_default(name, value)


def _is_default(name: str, value: Any) -> bool:
    return value is not None and value in _DEFAULTS[name]
