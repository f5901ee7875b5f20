"""Checks that a source gives the groups that were not planned beforehand, and may hold back."""

from __future__ import annotations

from ray_gym.episode.spec import EpisodeSpec
from ray_gym.run.driver.dispatcher import Dispatcher
from ray_gym.run.lease import Lease, LeaseGroup


def group(number: int) -> list[EpisodeSpec]:
    return [EpisodeSpec(f"{number}-{n}", str(number), "t", n, 0, "{}") for n in range(2)]


def names(groups: list[LeaseGroup]) -> list[str]:
    return [leases[0].spec.group_id for leases in groups]


def test_a_source_gives_what_the_plan_does_not_and_may_hold_back() -> None:
    dispatcher = Dispatcher.of(group(0))
    made = iter(range(1, 100))
    is_open = True
    dispatcher.source = lambda: tuple(Lease(spec) for spec in group(next(made))) if is_open else None
    assert names(dispatcher.lease("a", 5)) == ["0", "1", "2"]
    is_open = False
    assert dispatcher.lease("b", 5) == []
    dispatcher.lose("a")
    assert names(dispatcher.lease("b", 5)) == ["0", "1", "2"], (
        "what was begun is leased again, whatever the source says"
    )
