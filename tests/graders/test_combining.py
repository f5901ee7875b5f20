"""Checks graders made of graders: their values, their verdicts in the record, and the result when one of them fails."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from grading import failure_of, graded, value, verdicts

from ray_gym import Episode
from ray_gym.aio.concurrent import run_concurrently
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.graders import AllOf, Constraints, ExactMatch, FirstThatPasses, Grader, Verdict, Weighted, last_boxed


@dataclass
class Fixed(Grader):
    """Gives a value, or raises it, once `after` is set; sets `done`, or `ended` if it is cancelled."""

    gives: float | Exception
    after: asyncio.Event | None = None
    done: asyncio.Event = field(default_factory=asyncio.Event)
    asked: bool = False
    cleaned_up: bool = False

    async def grade(self, episode: Episode) -> Verdict:
        self.asked = True
        try:
            if self.after is not None:
                await self.after.wait()
        finally:
            await asyncio.sleep(0)
            self.cleaned_up = True
        self.done.set()
        if isinstance(self.gives, Exception):
            raise self.gives
        return Verdict(self.gives, "as told")


def failing(kind: FailureKind) -> EpisodeFailure:
    return EpisodeFailure(kind, "here", "broken")


async def test_weights() -> None:
    played = await graded(Weighted(answer=(0.75, Fixed(1)), form=(0.25, Fixed(0.5))))
    assert played.score is not None
    assert (played.score.reward, played.score.parts) == (0.875, {"answer": 1, "form": 0.5})
    assert verdicts(played) == [
        (1, "answer: as told"),
        (0.5, "form: as told"),
        (0.875, "Weighted: 0.75 * 1 (answer) + 0.25 * 0.5 (form)"),
    ]
    assert 0.7 + 0.2 + 0.1 < 1
    assert await value(Weighted(a=(0.7, Fixed(1)), b=(0.2, Fixed(1)), c=(0.1, Fixed(1)))) == 1, "weights add up"
    with pytest.raises(ValueError, match="name at least one part"):
        Weighted()


async def test_all_of() -> None:
    played = await graded(AllOf(a=Fixed(1), b=Fixed(0.9)))
    assert played.score is not None and (played.score.reward, played.score.parts) == (0, {"a": 1, "b": 0.9})
    assert verdicts(played)[-1] == (0, "AllOf: not met: b")
    assert await value(AllOf(enough=0.9, a=Fixed(1), b=Fixed(0.9))) == 1
    with pytest.raises(ValueError, match="name at least one part"):
        AllOf(enough=1)


async def test_a_part_may_be_called_anything() -> None:
    grader = AllOf({"enough": Fixed(0.5), "two words": Fixed(1)}, enough=0.5, third=Fixed(0))
    played = await graded(grader)
    assert played.score is not None and played.score.parts == {"enough": 0.5, "two words": 1, "third": 0}
    assert verdicts(played)[-1] == (0, "AllOf: not met: third")
    with pytest.raises(ValueError, match="in a mapping"):
        AllOf(enough=Fixed(1))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the same name"):
        AllOf({"a": Fixed(1)}, a=Fixed(1))


async def test_the_dearer_one_is_asked_only_if_the_cheaper_one_does_not_pass() -> None:
    cheap, dear = Fixed(0.5), Fixed(0.25)
    assert await value(FirstThatPasses(cheap, dear)) == 0.5 and not dear.asked
    assert await value(FirstThatPasses(Fixed(0.4), dear)) == 0.25 and dear.asked, "the last one asked counts"
    assert await value(FirstThatPasses(Fixed(0.5), Fixed(0.75), enough=0.6)) == 0.75
    assert verdicts(await graded(FirstThatPasses(Fixed(0), Fixed(1)))) == [
        (0, "Fixed: as told"),
        (1, "Fixed: as told"),
        (1, "FirstThatPasses: Fixed: as told"),
    ]
    with pytest.raises(ValueError, match="at least one grader"):
        FirstThatPasses()


async def test_constraints() -> None:
    conditions = {"short": True, "polite": False, "in English": True, "no lists": False}
    assert await value(Constraints(conditions)) == 0
    assert await value(Constraints(conditions, partial=True)) == 0.5
    assert await value(Constraints({"short": True})) == 1
    played = await graded(Constraints(conditions))
    assert played.score is not None and played.score.parts == {name: float(held) for name, held in conditions.items()}
    assert verdicts(played) == [(0, "Constraints: broken: polite, no lists")]


async def test_parts_are_asked_at_the_same_time() -> None:
    last = Fixed(1)
    middle = Fixed(0.5, after=last.done)
    first = Fixed(0, after=middle.done)
    async with asyncio.timeout(5):
        played = await graded(Weighted(first=(1, first), middle=(1, middle), last=(1, last)))
    assert played.score is not None and list(played.score.parts) == ["first", "middle", "last"]
    assert [why for _, why in verdicts(played)][:3] == ["last: as told", "middle: as told", "first: as told"]


@pytest.mark.parametrize("kind", [FailureKind.JUDGE, FailureKind.INFRA, FailureKind.ENVIRONMENT, FailureKind.DATA])
@pytest.mark.parametrize("combine", ["Weighted", "AllOf"])
async def test_the_first_error_wins_keeps_its_kind_and_ends_the_others(kind: FailureKind, combine: str) -> None:
    begun = Fixed(1)
    fails = Fixed(failing(kind), after=begun.done)
    waits, too_late = Fixed(1, after=asyncio.Event()), Fixed(failing(FailureKind.USER), after=asyncio.Event())
    parts = {"begun": begun, "fails": fails, "waits": waits, "too_late": too_late}
    grader = (
        Weighted(**{name: (1.0, part) for name, part in parts.items()}) if combine == "Weighted" else AllOf(**parts)
    )
    async with asyncio.timeout(5):
        played = await graded(AllOf(nested=grader))
    assert failure_of(played) == failing(kind).failure
    assert waits.cleaned_up and too_late.cleaned_up and not waits.done.is_set()


async def test_a_graders_own_mistake_is_the_environments() -> None:
    failure = failure_of(await graded(AllOf(good=Fixed(1), bad=Fixed(ZeroDivisionError("by zero")))))
    assert failure.kind == "environment" and failure.message == "ZeroDivisionError: by zero"
    assert failure.where == "Graded.score (test_combining.py:41)"
    assert "no reward" in failure_of(await graded(Fixed(float("nan")))).message


async def fail(cause: Exception) -> None:
    raise failing(FailureKind.JUDGE) from cause


async def test_what_led_to_an_error_is_kept_and_results_are_in_order() -> None:
    cause = OSError("gone")
    with pytest.raises(EpisodeFailure) as caught:
        await run_concurrently(fail(cause))
    assert caught.value.__cause__ is cause
    assert await run_concurrently(asyncio.sleep(0.01, "a"), asyncio.sleep(0, "b")) == ["a", "b"]
    assert await run_concurrently() == []


async def test_cancellation_from_outside_ends_all_of_them() -> None:
    waiting, begun = [Fixed(1, after=asyncio.Event()) for _ in range(2)], Fixed(1)
    task = asyncio.create_task(graded(Weighted(a=(1, waiting[0]), b=(1, waiting[1]), c=(1, begun))))
    await begun.done.wait()
    assert all(one.asked and not one.cleaned_up for one in waiting)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert all(one.cleaned_up for one in waiting)


async def test_the_example_of_the_documentation() -> None:
    def makes(episode: Episode) -> Grader:
        right, brief = ExactMatch("42", extract=last_boxed), Constraints({"brief": len(episode.answer) < 500})
        return Weighted(right=(0.9, right), brief=(0.1, brief))

    shown = Path(__file__).parents[2].joinpath("docs/graders.md").read_text()
    for worth, text in verdicts(await graded(makes, "so " * 200 + r"\boxed{42}")):
        assert f"\nverdict {worth:g}: {text}\n" in shown


@pytest.mark.parametrize("holds", ["text".find("x"), 2, 0.5, "0.5", None, [], re.search("a", "a"), float("nan")])
def test_a_condition_holds_or_does_not(holds: Any) -> None:
    told = rf"Constraints: 'has x' is {re.escape(f'{holds!r:.60}')}, a {type(holds).__name__}; expected True or False"
    with pytest.raises(TypeError, match=told):
        Constraints({"fine": True, "has x": holds})


def test_without_conditions_there_is_no_reward() -> None:
    with pytest.raises(ValueError, match="there are no conditions, so any answer would have all of the reward"):
        Constraints({})


async def test_conditions_of_numpy_and_numbers() -> None:
    assert await value(Constraints({"a": np.bool_(True), "b": 1, "c": 0.0, "d": np.int64(1)}, partial=True)) == 0.75
