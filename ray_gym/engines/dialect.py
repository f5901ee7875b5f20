"""Gives requests the form that one endpoint takes, as it tells by its refusals: models refuse fields of OpenAI's API,
want back what they gave beside earlier calls, or take messages only in some order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ray_gym.engines.arranged import arranged, is_of_ids, is_of_order, later_arrangements, with_short_ids
from ray_gym.engines.endings import is_context_full, is_limit_too_large, is_limit_unknown, own_words
from ray_gym.engines.nested_errors import errors_in, words_of
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
_PASSING = re.compile(r"upstream|\blost\b|time[d -]{0,2}out|overload|unavailable|out of memory", re.IGNORECASE)
_REFUSES = re.compile(
    r"support|\bnot\b|n't\b|cannot|deprecated|un(?:recogni|known|expected)|invalid|must\b", re.IGNORECASE
)
"""Words of a fault that passes, in which a field may only be mentioned, and those that refuse one all the same."""
_OF_SCHEMA = re.compile(r"\bschema\b", re.IGNORECASE)
"""Word of refusals about a tool's parameters, which may have the names of fields."""
_DEFAULTS: Mapping[str, tuple[Any, ...]] = {
    "top_p": (1,),
    "temperature": (1,),
    "parallel_tool_calls": (True, False),  # False is the default of configs
}
"""Values with which they can be: those that the API has without the field. Another value is asked for, or nothing is."""


class Refusal(Protocol):
    """A refusal is an answer by which an endpoint takes no request."""

    status: int
    text: str


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

    def after(
        self, refusal: Refusal, body: Json, request: CompletionRequest, asked: Sequence[Json], began: Dialect
    ) -> Dialect | None:
        """Returns the form in which a request may be taken that was refused in this one; None if it is not known.

        `body`: body of the request, as `apply` has not yet changed it. `asked`: bodies that were refused, the last one in
        this form; none is asked twice. `began`: form of the first.
        """
        spoken = asked[-1]
        if MAX_TOKENS in spoken and is_limit_unknown(refusal.text):
            return replace(self, limit_name=MAX_COMPLETION_TOKENS)
        if self.exact or refusal.status not in _REFUSALS:
            return None
        words = own_words(refusal.text)
        others = [*self._others(words, spoken)]
        if is_of_order(words) and not (is_context_full(refusal.text) or is_limit_too_large(refusal.text)):
            later = later_arrangements(self.arrangements, began.arrangements)
            others += [replace(self, arrangements=arrangements) for arrangements in later]
        return next((other for other in others if other.apply(body, request) not in asked), None)

    def _others(self, words: str, spoken: Json) -> Iterator[Dialect]:
        """Yields the forms with other fields that a refusal may ask for. `spoken`: body of the refused request."""
        for name, pattern in _SPELLED.items() if _may_refuse_fields(words) else ():
            if pattern.search(words) and _is_default(name, spoken.get(name)):
                yield replace(self, left_out=self.left_out | {name})
        given = asked_back(words)
        yield replace(self, sent_back=self.sent_back | given)
        yield replace(self, sent_back=self.sent_back - given)
        if is_of_ids(words):
            yield replace(self, has_short_ids=True)

    def learnt(self, taken: Dialect, began: Dialect) -> Dialect:
        """Returns this form with what another call has learnt: the difference of the form that was `taken` from the one in which
        that call `began`.
        """
        return replace(
            self,
            limit_name=taken.limit_name if taken.limit_name != began.limit_name else self.limit_name,
            left_out=self.left_out | taken.left_out,
            sent_back=self.sent_back - (began.sent_back - taken.sent_back) | (taken.sent_back - began.sent_back),
            arrangements=self.arrangements | taken.arrangements,
            has_short_ids=self.has_short_ids or taken.has_short_ids,
        )

    def _leaves_out(self, name: str, value: Any) -> bool:
        return name in self.left_out and _is_default(name, value)


def _may_refuse_fields(words: str) -> bool:
    """Says whether a refusal that names a field may be one of it. A field is left out only where it asks for the default, so
    that one too many does little harm; one too few fails every call.
    """
    told = "\n".join(words_of(errors_in(words))) or words
    is_passing = _PASSING.search(told) is not None and _REFUSES.search(told) is None
    return not is_passing and _OF_SCHEMA.search(words) is None


def _is_default(name: str, value: Any) -> bool:
    return value is not None and value in _DEFAULTS[name]
