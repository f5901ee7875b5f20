"""Verifies by library functions in processes of their own: whatever they do, there is a verdict or a clear failure."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest
import pytest_asyncio
from grading import failure_of, graded, verdicts
from playing import bare

from ray_gym import Episode
from ray_gym.errors import FailureKind
from ray_gym.graders import Grader, Library, Verdict
from ray_gym.tools.runner import ToolRunner

on_one_loop = pytest.mark.asyncio(loop_scope="module")
"""The tests share a runner, whose processes belong to one loop."""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def runner() -> AsyncIterator[ToolRunner]:
    runner = ToolRunner()
    yield runner
    await runner.close()


async def verdict_of(runner: ToolRunner, function: str, *arguments: Any, **options: Any) -> tuple[float | None, str]:
    [verdict] = verdicts(await graded(Library(f"verifiers:{function}", arguments, **options), runner=runner))
    return verdict


@on_one_loop
async def test_a_number_or_a_number_and_its_reason(runner: ToolRunner) -> None:
    assert await verdict_of(runner, "give", 0.25) == (0.25, "give")
    assert await verdict_of(runner, "give", True) == (1, "give")
    assert await verdict_of(runner, "give", [1, "it is right"]) == (1, "give: it is right")
    assert await verdict_of(runner, "Nested.half") == (0.5, "Nested.half")
    assert await verdict_of(runner, "half_of", np.int64(3)) == (1.5, "half_of")


@pytest.mark.parametrize(
    ("function", "arguments", "options", "why"),
    [
        ("never", (), {"deadline_s": 0.3}, "verifiers:never gave nothing within 0.3 s"),
        ("crash", (), {}, "its process was killed by SIGSEGV before it had answered"),
        ("leave", (), {}, "its process exited with code 3 before it had answered"),
        ("kill_its_parent", (), {}, "the process that it is forked from is gone (killed?)"),
        ("fail", ("no such thing",), {}, "LookupError: no such thing (verifiers.py:46)"),
        ("fail", ("could not parse",), {}, "LookupError: could not parse (verifiers.py:46)"),
        ("fail", ("half a surrogate \ud800",), {}, "LookupError: half a surrogate ? (verifiers.py:46)"),
        ("hoard", (), {"memory_mb": 32}, "MemoryError (memory_mb is 32)"),
        ("give", (), {}, "TypeError: give() missing 1 required positional argument: 'value'"),
    ],
)
@on_one_loop
async def test_what_gives_no_verdict_is_undecided(
    runner: ToolRunner, function: str, arguments: tuple[Any, ...], options: dict[str, Any], why: str
) -> None:
    expected = f"{function}: undecided: {why}"
    assert await verdict_of(runner, function, *arguments, **options) == (0, expected)
    assert await verdict_of(runner, "give", 1) == (1, "give"), "and the next call is served"
    played = await graded(Library(f"verifiers:{function}", arguments, undecided=-1.0, **options), runner=runner)
    assert verdicts(played) == [(-1, expected)]
    told, place = re.fullmatch(r"(.*?)( \(\w+\.py:\d+\))?", why.removeprefix(f"verifiers:{function} ")).groups("")  # type: ignore[union-attr]
    assert played.episode.undecided == [f"verifiers:{function}{place}: {told}"]
    played.episode.score_again("its judge failed")
    assert not played.episode.undecided, "that verdict does not count"


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (
            "no_such_module_anywhere:f",
            (),
            "its process could not be set up: ModuleNotFoundError: No module named",
        ),
        ("verifiers:gvie", (), "AttributeError: module 'verifiers' has no attribute 'gvie'"),
        ("verifiers:Nested.third", (), "has no attribute 'third'"),
        ("verifiers", (), "AttributeError: module 'verifiers' has no attribute ''"),
        ("verifiers:give_set", (), "it gave no JSON data: Object of type set is not JSON serializable"),
        ("verifiers:give_circle", (), "it gave no JSON data: Circular reference detected"),
        ("verifiers:give", ("1",), "it gave '1', but a verdict is a finite number, or a finite number and its reason"),
        ("verifiers:give", (None,), "it gave None, but a verdict is"),
        ("verifiers:give", ([1],), "it gave [1], but a verdict is"),
    ],
)
@on_one_loop
async def test_what_can_never_give_a_verdict_is_the_environments_failure(
    runner: ToolRunner, function: str, arguments: tuple[Any, ...], message: str
) -> None:
    failure = failure_of(await graded(Library(function, arguments), runner=runner))
    assert (failure.kind, bare(failure.where)) == (FailureKind.ENVIRONMENT, function)
    assert message in failure.message
    assert (" (verifiers.py:" in failure.where) == ("it gave no JSON data" in message)


class Asks(Grader):
    """Calls functions as an environment would."""

    def __init__(self, *calls: tuple[str, Any]) -> None:
        self.calls = calls
        self.given: list[Any] = []

    async def grade(self, episode: Episode) -> Verdict:
        for function, argument in self.calls:
            arguments = () if argument is None else (argument,)
            self.given.append(await episode.isolated(f"verifiers:{function}", *arguments, deadline_s=5))
        return Verdict(1)


@on_one_loop
async def test_any_json_data_goes_in_and_comes_out(runner: ToolRunner) -> None:
    values = [10**40, -(10**40), {"a": [1, None, "\ud800", "é"]}, "x" * 10**6, 0.1]
    asks = Asks(*(("give", value) for value in values))
    assert (await graded(asks, runner=runner)).failure is None
    assert [given.value for given in asks.given] == values
    failure = failure_of(await graded(Asks(("give", {1, 2})), runner=runner))
    assert failure.kind == FailureKind.ENVIRONMENT and "set is not JSON serializable" in failure.message


@on_one_loop
async def test_two_libraries_do_not_end_each_others_processes(runner: ToolRunner) -> None:
    class Both(Asks):
        async def grade(self, episode: Episode) -> Verdict:
            for function in ("verifiers:parent", "os:getppid") * 3:
                self.given.append((await episode.isolated(function, deadline_s=5)).value)
            return Verdict(1)

    both = Both()
    assert (await graded(both, runner=runner)).failure is None
    ours, theirs = both.given[::2], both.given[1::2]
    assert len(set(ours)) == len(set(theirs)) == 1 and ours[0] != theirs[0]


@pytest.mark.parametrize("given", [float("inf"), float("nan"), 10**400, [float("-inf"), "very wrong"]])
@on_one_loop
async def test_a_verdict_is_finite(runner: ToolRunner, given: Any) -> None:
    played = await graded(Library("verifiers:give", (given,)), runner=runner)
    failure = failure_of(played)
    assert (failure.kind, failure.where) == (FailureKind.ENVIRONMENT, "verifiers:give")
    assert "a verdict is a finite number" in failure.message and verdicts(played) == []
