"""Checks `participants.NAME.concurrency`: a worker's calls in flight, and whose time the waiting is."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from playing import Talk

from ray_gym import Episode, Message, Task
from ray_gym.config.file import validate
from ray_gym.config.sections import LimitsSection, ParticipantSection
from ray_gym.episode.participant import Participant
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.errors import EpisodeFailure, FailureKind, UserError
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.play.play import Played, play, score_group


class Judged(Talk):
    """Lets the policy speak once, then asks a judge five questions at once."""

    auxiliary = ("judge",)

    async def run(self, episode: Episode) -> None:
        await episode.turn("policy")

    async def score(self, state: Any, episode: Episode) -> float:
        answers = await asyncio.gather(*(episode.ask("judge", f"{number}?") for number in range(5)))
        return float(sum(answer.content == "yes" for answer in answers))


@dataclass
class Counting:
    """Takes its time, and counts who is there at once; `break_at`: the numbers of calls that infrastructure breaks."""

    takes_s: float = 0.01
    break_at: tuple[int, ...] = ()
    now: dict[str, int] = field(default_factory=dict)
    most: dict[str, int] = field(default_factory=dict)
    calls: int = 0

    async def complete(self, request: CompletionRequest) -> Completion:
        name = request.thread.partition("/")[0]
        self.now[name] = self.now.get(name, 0) + 1
        self.most[name] = max(self.most.get(name, 0), self.now[name])
        self.calls += 1
        number = self.calls
        try:
            await asyncio.sleep(self.takes_s)
            if number in self.break_at:
                raise EpisodeFailure(FailureKind.INFRA, "model", "gone")
        finally:
            self.now[name] -= 1
        return Completion(Message("assistant", "yes"))

    async def close(self) -> None:
        return None


def stage_of(model: Counting, judges: int | None, **limits: Any) -> Stage:
    section = LimitsSection(**limits)
    cast = {name: Participant.from_config(name, ParticipantSection(model="m"), section) for name in ("policy", "user")}
    cast["judge"] = Participant.from_config("judge", ParticipantSection(model="m", concurrency=judges), section)
    return Stage(Judged(), cast, {"m": model}, section)


async def play_many(stage: Stage, count: int = 4) -> list[Played]:
    specs = [EpisodeSpec(f"e{number}", "g", "t", number, number, Task().model_dump_json()) for number in range(count)]
    return await asyncio.gather(*(play(spec, stage) for spec in specs))


def rewards(played: list[Played]) -> list[float | None]:
    return [one.score.reward if one.score else None for one in played]


@pytest.mark.parametrize(("judges", "least", "most"), [(1, 1, 1), (3, 3, 3), (None, 5, 20)])
async def test_so_many_calls_are_in_flight_over_all_episodes_of_a_worker(
    judges: int | None, least: int, most: int
) -> None:
    model = Counting()
    played = await play_many(stage_of(model, judges))
    assert rewards(played) == [5.0] * 4
    assert model.most["policy"] == 4 and least <= model.most["judge"] <= most


async def test_waiting_for_a_slot_is_nobodys_time() -> None:
    """20 calls, one after another, take a second; an episode goes on for 0.25 s of it, may take 0.7 s to score, and 0.4 s for a call."""
    model = Counting(takes_s=0.05)
    played = await play_many(stage_of(model, 1, score_deadline_s=0.7, call_deadline_s=0.4))
    assert [one.failure for one in played] == [None] * 4 and model.calls == 24
    assert all(one.active_s < 0.75 for one in played)


class Together(Judged):
    """The episodes of a group are judged one after another."""

    async def score_group(self, episodes: Sequence[Episode]) -> list[float]:
        for episode in episodes:
            await episode.ask("judge", "?")
        return [1.0] * len(episodes)


@pytest.mark.clock
async def test_waiting_for_a_slot_is_not_the_time_of_a_group_either() -> None:
    """20 groups of 3: 60 calls, one after another, take 1.8 s; each group goes on for 0.09 s of these, and may take 0.8 s."""
    model = Counting(takes_s=0.03)
    stage = replace(stage_of(model, 1, score_deadline_s=0.8), environment=Together())
    groups = [await play_many(stage, 3) for _ in range(20)]
    assert await asyncio.gather(*(score_group(group, stage) for group in groups)) == [None] * 20


async def test_a_group_that_nobody_of_waits_has_its_deadline() -> None:
    stage = replace(stage_of(Counting(), 1, score_deadline_s=0.1), environment=Together())
    group = await play_many(stage, 3)
    stage.models["m"] = Counting(takes_s=3600)  # type: ignore[index]
    async with asyncio.timeout(10):
        failure = await score_group(group, stage)
    assert failure is not None and failure.kind == FailureKind.JUDGE


async def test_calls_without_a_limit_go_on_while_another_waits() -> None:
    """The judge's slot is never free; the second, who is asked beside it, takes too long."""

    class Two(Judged):
        auxiliary = ("judge", "second")

        async def score(self, state: Any, episode: Episode) -> float:
            await asyncio.gather(episode.ask("judge", "?"), episode.ask("second", "?"))
            return 1.0

    stage = replace(stage_of(Counting(takes_s=3600), 1, score_deadline_s=0.1), environment=Two())
    stage.models["m"] = Mixed(Counting(takes_s=3600), slow_is="second")  # type: ignore[index]
    judge = stage.participants["judge"]
    stage.participants["second"] = replace(judge, name="second", concurrency=None)  # type: ignore[index]
    slots = stage.call_slots.of(judge)
    assert slots is not None
    async with slots, asyncio.timeout(10):
        [played] = await play_many(stage, 1)
    assert played.failure is not None and played.failure.message == "no result within score_deadline_s (0.1 s)"


async def test_a_deadline_still_holds_for_what_is_in_its_slot() -> None:
    model = Counting(takes_s=3600)
    stage = stage_of(model, 1, score_deadline_s=0.05)
    stage.models["m"] = Mixed(model)  # type: ignore[index]
    async with asyncio.timeout(10):
        played = await play_many(stage, 2)
    kinds = [one.failure.kind if one.failure else None for one in played]
    assert kinds == [FailureKind.JUDGE] * 2, "its slots are given back, so that the second is asked, too"
    assert model.now == {"judge": 0}


@dataclass
class Mixed:
    """Only judges are slow."""

    slow: Counting
    slow_is: str = "judge"

    async def complete(self, request: CompletionRequest) -> Completion:
        if request.thread.startswith(self.slow_is):
            return await self.slow.complete(request)
        return Completion(Message("assistant", "Hello."))

    async def close(self) -> None:
        return None


async def test_a_broken_call_leaves_its_slot_while_it_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ray_gym.episode.calls.pause_s", lambda tried: 0.05)
    model = Counting(break_at=(2, 3, 7))
    played = await play_many(stage_of(model, 1), 1)
    assert rewards(played) == [5.0] and model.calls == 1 + 5 + 3 and model.most["judge"] == 1


def test_it_is_a_number_from_one() -> None:
    assert validate(ParticipantSection, {"model": "m"}, "file").concurrency is None
    with pytest.raises(UserError, match=r"file: concurrency: Input should be greater than or equal to 1"):
        validate(ParticipantSection, {"model": "m", "concurrency": 0}, "file")
