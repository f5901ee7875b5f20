"""Scores over the policy's messages."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

import pytest
from grading import Says, graded, value, verdicts

from ray_gym import Episode, Task
from ray_gym.events import Event
from ray_gym.graders import RecencyWeighted, TurnMean


def number(message: Event, before: Sequence[Event]) -> float:
    return float(message.content)


@pytest.mark.parametrize(
    ("grader", "expected"),
    [
        (TurnMean(number), 0.5),
        (RecencyWeighted(number), (1 * 1 + 2 * 0 + 3 * 0.5) / 6),
        (RecencyWeighted(number, decay=0.5), (0.25 * 1 + 0.5 * 0 + 1 * 0.5) / 1.75),
        (RecencyWeighted(number, decay=0.0), 0.5),
        (RecencyWeighted(number, decay=1.0), 0.5),
    ],
)
async def test_means(grader: TurnMean | RecencyWeighted, expected: float) -> None:
    assert await value(grader, "1", "0", "0.5") == pytest.approx(expected)


async def test_reasons_name_values_and_weights() -> None:
    assert verdicts(await graded(RecencyWeighted(number), "1", "0")) == [
        (pytest.approx(1 / 3), "RecencyWeighted: 1, 0, weighted 1, 2")
    ]


async def test_a_group_of_errors_and_an_exit_are_told_with_their_place() -> None:
    def raises(message: Event, before: Sequence[Event]) -> float:
        raise ExceptionGroup("several", [ValueError("a"), KeyError("b")])

    def exits(message: Event, before: Sequence[Event]) -> float:
        sys.exit("bye")

    for evaluate, told in ((raises, "ExceptionGroup: several"), (exits, "ExitOfTask: SystemExit: bye")):
        failure = (await graded(TurnMean(evaluate), "1", "0")).failure
        assert failure is not None and "test_turns.py:" in failure.where and failure.message.startswith(told)
        assert evaluate is exits or "KeyError: 'b'" in failure.message


async def test_each_message_is_looked_at_with_what_came_before_it() -> None:
    seen: list[list[str]] = []

    async def look(message: Event, before: Sequence[Event]) -> float:
        seen.append([*(event.content for event in before), message.content])
        return 1

    assert await value(TurnMean(look), "one", "two") == 1
    assert seen == [["Begin.", "one"], ["Begin.", "one", "Go on.", "two"]]


async def test_judges_may_be_asked_about_each() -> None:
    def makes(episode: Episode) -> TurnMean:
        async def judged(message: Event, before: Sequence[Event]) -> float:
            return float((await episode.ask("judge", message.content)).content)

        return TurnMean(judged)

    judge = Says(["1", "0"])
    assert await value(makes, "one", "two", judge=judge) == 0.5
    assert [request[-1].content for request in judge.requests] == ["one", "two"]


async def test_who_said_nothing_gets_nothing() -> None:
    for grader in (TurnMean(number), RecencyWeighted(number), RecencyWeighted(number, decay=0.5)):
        [(worth, why)] = verdicts(await graded(grader))
        assert worth == 0 and why.endswith(": the policy said nothing")


async def test_messages_are_looked_at_at_the_same_time() -> None:
    waiting: list[str] = []
    all_there = asyncio.Event()

    async def look(message: Event, before: Sequence[Event]) -> float:
        waiting.append(message.content)
        if len(waiting) == 3:
            all_there.set()
        await all_there.wait()
        return float(message.content)

    async with asyncio.timeout(5):
        assert await value(RecencyWeighted(look), "1", "0", "0.5") == pytest.approx((1 + 1.5) / 6)


EARLIER = Task.model_validate(
    {
        "messages": [
            {"role": "user", "content": "First?"},
            {"role": "assistant", "content": "0"},
            {"role": "user", "content": "Second?"},
        ]
    }
)


@pytest.mark.parametrize(
    ("grader", "expected"),
    [
        (TurnMean(number), 1),
        (TurnMean(number, earlier=True), 0.5),
        (RecencyWeighted(number), 1),
        (RecencyWeighted(number, earlier=True), 2 / 3),
    ],
)
async def test_what_the_assistant_said_earlier_counts_if_it_is_to(
    grader: TurnMean | RecencyWeighted, expected: float
) -> None:
    assert await value(grader, "1", task=EARLIER) == pytest.approx(expected)
