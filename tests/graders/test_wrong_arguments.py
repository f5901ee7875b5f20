"""Checks that an argument of a grader which is something else than it may be is named, at the author's line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from grading import Says, failure_of, graded

from ray_gym import Episode
from ray_gym.errors import FailureKind
from ray_gym.graders import (
    AllOf,
    Constraints,
    ExactMatch,
    FinalState,
    FirstThatPasses,
    Found,
    Grader,
    Judge,
    JudgePrompt,
    Library,
    RecencyWeighted,
    TurnMean,
    Verdict,
    Weighted,
)

QUESTION = "Is it so?"
ABOUT = JudgePrompt("{x} and {y}", ("x", "y"))
SURE: dict[str, Any] = {"[[YES]]": 1, "[[NO]]": 0}


class TextAsValue(Grader):
    async def grade(self, episode: Episode) -> Verdict:
        return Verdict("1")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("makes", "told"),
    [
        (lambda: ExactMatch(4), "ExactMatch: expected is 4, a int; expected a text, or several in a tuple"),  # type: ignore[arg-type]
        (lambda: ExactMatch(["4", None]), "ExactMatch: expected is None, a NoneType; expected a text"),  # type: ignore[arg-type]
        (lambda: ExactMatch("4", extract="last_boxed"), "extract is 'last_boxed', a str; expected a function"),  # type: ignore[arg-type]
        (lambda: ExactMatch("4", extract=len), "the answer that `extract` found is 3, a int; expected a text, or None"),  # type: ignore[arg-type]
        (lambda: Found(None), "extract is None, a NoneType; expected a function"),  # type: ignore[arg-type]
        (lambda: Constraints(["a"]), "Constraints: conditions is ['a'], a list; expected a mapping"),  # type: ignore[arg-type]
        (lambda: AllOf(a=True), "AllOf: a is True, a bool; expected a grader; conditions are for Constraints"),  # type: ignore[arg-type]
        (lambda: FirstThatPasses(ExactMatch("a"), 5), "FirstThatPasses: number 2 is 5, a int; expected a grader"),  # type: ignore[arg-type]
        (lambda: Weighted(a=ExactMatch("4")), "a ExactMatch; expected a weight and a grader, as in (1.0, grader)"),  # type: ignore[arg-type]
        (lambda: Weighted(a=("1", ExactMatch("4"))), "a tuple; expected a weight and a grader"),  # type: ignore[arg-type]
        (lambda: Judge(QUESTION, list(SURE)), "Judge: labels is ['[[YES]]', '[[NO]]'], a list; expected a mapping"),  # type: ignore[arg-type]
        (lambda: Judge(QUESTION, SURE | {"[[NO]]": "0"}), "Judge: the value of [[NO]] is '0', a str; expected a num"),
        (lambda: Judge(QUESTION, {1: 0.1, 2: 0.2}), 'Judge: a label is 1, a int; expected a text: "1"'),  # type: ignore[dict-item]
        (lambda: Judge(QUESTION, {None: 0.1}), "Judge: a label is None, a NoneType; expected a text"),  # type: ignore[dict-item]
        (lambda: ABOUT.filled(x=1, y=""), "JudgePrompt: x is 1, a int; expected a text"),  # type: ignore[arg-type]
        (lambda: ABOUT.filled(x="", y=None), "JudgePrompt: y is None, a NoneType; expected a text"),  # type: ignore[arg-type]
        (lambda: Library(print, ("1",)), "<built-in function print>, a builtin_function_or_method; expected its name"),  # type: ignore[arg-type]
        (lambda: Library(lambda: 1, ()), "a function; expected its name, as package.module:name"),  # type: ignore[arg-type]
        (lambda: Judge(QUESTION, SURE, "second"), "Judge: retries is 'second', a str; expected a whole number"),  # type: ignore[arg-type]
        (lambda: Judge(QUESTION, SURE, 0, "0"), "a verdict's value is '0', a str; expected a number"),  # type: ignore[arg-type]
        (lambda: Library("verifiers:give", {"value": 1}), "Library: arguments is {'value': 1}, a dict; expected the"),  # type: ignore[arg-type]
        (lambda: Library("verifiers:give", "1"), "Library: arguments is '1', a str; expected the call's arguments in"),  # type: ignore[arg-type]
        (lambda: Library("verifiers:give", (1,), -1), "Library: deadline_s is -1, a int; expected a positive number"),
        (
            lambda: FinalState({"a": np.array([1, 2])}, {"a": [1, 2]}),
            "FinalState: a: array([1, 2]) and [1, 2] can't be",
        ),
        (lambda: TurnMean(lambda *_: "0.5"), "the value that `evaluate` gives a message is '0.5', a str; expected a"),  # type: ignore[arg-type]
        (lambda: RecencyWeighted(lambda *_: None), "the value that `evaluate` gives a message is None, a NoneType"),  # type: ignore[arg-type]
        (TextAsValue, "a verdict's value is '1', a str; expected a number"),
    ],
)
async def test_it_is_named(makes: Any, told: str) -> None:
    failure = failure_of(await graded(lambda episode: makes(), "yes", judge=Says(["I can't say."])))
    assert failure.kind is FailureKind.ENVIRONMENT and "TypeError: " in failure.message and told in failure.message
    assert failure.where.startswith("Graded.score (")


@pytest.mark.parametrize(
    ("makes", "told"),
    [
        (lambda: Judge(QUESTION, {}), "Judge: labels: name at least one; no answer would have a verdict"),
        (lambda: ExactMatch([]), "ExactMatch: expected: name at least one answer; none would be right"),  # type: ignore[arg-type]
        (lambda: ExactMatch(()), "ExactMatch: expected: name at least one answer; none would be right"),
        (lambda: ABOUT.filled(x="1"), "JudgePrompt: nothing is given for {y}"),
        (lambda: ABOUT.filled(), "JudgePrompt: nothing is given for {x}"),
        (lambda: ABOUT.filled(x="1", y="2", yy="3"), "JudgePrompt: {yy} is none of its places, {x}, {y}"),
    ],
)
async def test_what_is_missing_is_named(makes: Any, told: str) -> None:
    failure = failure_of(await graded(lambda episode: makes(), "yes", judge=Says(["I can't say."])))
    assert (failure.kind, failure.message) == (FailureKind.ENVIRONMENT, f"ValueError: {told}")
    assert failure.where.startswith("Graded.score (")
