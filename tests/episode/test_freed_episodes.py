"""Checks that an episode is freed with its last reference, without a search for cycles: workers search for cycles
seldom (`ray_gym/run/worker/garbage.py`).
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
from playing import Talk

from ray_gym import Message
from ray_gym.config.sections import LimitsSection, ParticipantSection
from ray_gym.episode.participant import Participant
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.errors import EpisodeFailure, FailureKind
from ray_gym.models.base import Completion, CompletionRequest
from ray_gym.play.play import Played, play

LIMITS = LimitsSection(max_turns=2, retries={"infra": 0})  # type: ignore[arg-type]


class Breaking:
    """Fails whoever is named; the others talk."""

    def __init__(self, thread: str, kind: FailureKind) -> None:
        self._thread, self._kind = thread, kind

    async def complete(self, request: CompletionRequest) -> Completion:
        if request.thread == self._thread:
            raise EpisodeFailure(self._kind, "model m", "it broke")
        return Completion(Message("assistant", "hm"))

    async def close(self) -> None:
        return None


class BreakingInScore(Talk):
    def score(self, state: object, episode: object) -> float:
        raise ValueError("no")


@pytest.fixture
def without_collections() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


async def played(environment: Talk, thread: str, kind: FailureKind) -> Played:
    cast = {
        name: Participant.from_config(name, ParticipantSection(model="m"), LIMITS) for name in environment.participants
    }
    stage = Stage(environment, cast, {"m": Breaking(thread, kind)}, LIMITS)
    return await play(EpisodeSpec("e", "g", "t", 0, 0, "{}"), stage)


@pytest.mark.parametrize("kind", [FailureKind.INFRA, FailureKind.DATA, FailureKind.POLICY, FailureKind.ENVIRONMENT])
@pytest.mark.parametrize("thread", ["policy", "user", "nobody"])
async def test_an_episode_is_freed_whatever_became_of_it(
    thread: str, kind: FailureKind, without_collections: None
) -> None:
    one = await played(Talk(), thread, kind)
    assert (one.status == "failed") == (thread == "user" or (thread == "policy" and kind != FailureKind.POLICY))
    episode = weakref.ref(one.episode)
    del one
    assert episode() is None


async def test_so_is_one_whose_environment_broke(without_collections: None) -> None:
    one = await played(BreakingInScore(), "nobody", FailureKind.INFRA)
    assert one.status == "failed"
    episode = weakref.ref(one.episode)
    del one
    assert episode() is None
