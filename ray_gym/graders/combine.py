"""Combines graders into one. The parts are asked at the same time if their order does not matter."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsFloat

from ray_gym.aio.concurrent import run_concurrently
from ray_gym.graders.grader import Grader, Verdict, wrong_argument

if TYPE_CHECKING:
    from ray_gym.episode.episode import Episode


class Weighted(Grader):
    """Adds up the values of named graders, each times its weight: `Weighted(answer=(0.9, ...), form=(0.1, ...))`.

    Errors: ValueError without any part; TypeError for one that is no weight and grader.
    """

    def __init__(self, **parts: tuple[float, Grader]) -> None:
        if not parts:
            raise ValueError("Weighted: name at least one part, as in Weighted(answer=(1.0, grader))")
        for name, part in parts.items():
            match part:
                case [SupportsFloat(), Grader()]:
                    continue
            raise wrong_argument(f"Weighted: {name}", part, "a weight and a grader, as in (1.0, grader)")
        self._parts = parts

    async def grade(self, episode: Episode) -> Verdict:
        """Returns the sum of the weighted values, with the value of each part. Errors: EpisodeFailure of a part."""
        given = await _verdicts(episode, {name: grader for name, (_, grader) in self._parts.items()})
        total = math.fsum(weight * given[name].value for name, (weight, _) in self._parts.items())
        why = " + ".join(f"{weight:g} * {given[name].value:g} ({name})" for name, (weight, _) in self._parts.items())
        return Verdict(total, why, {name: verdict.value for name, verdict in given.items()})


class AllOf(Grader):
    """Gives 1 if each of the named graders gives at least `enough`, else 0. Names that are no keywords are given by a
    mapping.

    Errors: ValueError without any part, if two parts have the same name, or if `enough` is a grader; TypeError for a part
    that is none.
    """

    def __init__(self, named: Mapping[str, Grader] | None = None, /, *, enough: float = 1.0, **parts: Grader) -> None:
        self._parts, self._enough = {**(named or {}), **parts}, enough
        if isinstance(enough, Grader):
            raise ValueError("AllOf: enough is a number; name a part so in a mapping: AllOf({'enough': grader})")
        if not self._parts:
            raise ValueError("AllOf: name at least one part, as in AllOf(answer=grader)")
        if len(self._parts) < len(named or {}) + len(parts):
            raise ValueError("AllOf: two parts have the same name")
        for name, part in self._parts.items():
            if not isinstance(part, Grader):
                raise wrong_argument(f"AllOf: {name}", part, "a grader; conditions are for Constraints")

    async def grade(self, episode: Episode) -> Verdict:
        """Returns 1 if every part gives at least `enough`, else 0, with the value of each part. Errors: EpisodeFailure
        of a part.
        """
        given = await _verdicts(episode, self._parts)
        missed = [name for name, verdict in given.items() if verdict.value < self._enough]
        why = f"not met: {', '.join(missed)}" if missed else "all met"
        return Verdict(float(not missed), why, {name: verdict.value for name, verdict in given.items()})


class FirstThatPasses(Grader):
    """Asks graders in order, until one gives at least `enough`, and gives the value of the last one asked. Put the
    cheapest first.

    Errors: ValueError without any grader; TypeError for one that is none.
    """

    def __init__(self, *graders: Grader, enough: float = 0.5) -> None:
        if not graders:
            raise ValueError("FirstThatPasses: needs at least one grader")
        for number, grader in enumerate(graders, 1):
            if not isinstance(grader, Grader):
                raise wrong_argument(f"FirstThatPasses: number {number}", grader, "a grader")
        self._graders, self._enough = graders, enough

    async def grade(self, episode: Episode) -> Verdict:
        """Returns the value and the parts of the last grader that was asked. Errors: EpisodeFailure of a
        grader.
        """
        for grader in self._graders:
            given = await grader.verdict(episode)
            if given.value >= self._enough:
                break
        return Verdict(given.value, f"{grader.name}: {given.why}", given.parts)


@dataclass(frozen=True)
class Constraints(Grader):
    """Gives 1 if all named conditions hold, else 0; with `partial`, the share of the conditions that hold.

    Errors: ValueError without conditions; TypeError for conditions without names, and for one that is neither true nor
    false (1 and 0 are, too).
    """

    conditions: Mapping[str, bool]
    """Conditions that were checked already, by name. Each becomes a part of the verdict."""
    partial: bool = False
    """True for a value between 0 and 1."""

    def __post_init__(self) -> None:
        if not self.conditions:
            raise ValueError("Constraints: there are no conditions, so any answer would have all of the reward")
        if not isinstance(self.conditions, Mapping):
            raise wrong_argument("Constraints: conditions", self.conditions, "a mapping of names to True or False")
        for name, holds in self.conditions.items():
            if isinstance(holds, str | bytes) or not isinstance(holds, SupportsFloat) or holds not in (0, 1):
                raise wrong_argument(f"Constraints: {name!r}", holds, "True or False")

    async def grade(self, episode: Episode) -> Verdict:
        """Returns 1 if all conditions hold, else 0 (with `partial` the share that holds), with 1 or 0 for each
        condition.
        """
        broken = [name for name, holds in self.conditions.items() if not holds]
        share = 1 - len(broken) / len(self.conditions)
        value = share if self.partial else float(not broken)
        why = f"broken: {', '.join(broken)}" if broken else "all hold"
        return Verdict(value, why, {name: float(holds) for name, holds in self.conditions.items()})


async def _verdicts(episode: Episode, graders: Mapping[str, Grader]) -> dict[str, Verdict]:
    """Asks all graders at the same time, and returns their verdicts by name. Errors: EpisodeFailure of a grader."""
    given = await run_concurrently(*(grader.verdict(episode, name) for name, grader in graders.items()))
    return dict(zip(graders, given, strict=True))
