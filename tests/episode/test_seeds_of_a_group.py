"""Checks that a seed of the sampling gives the calls of a group's episodes seeds of their own."""

from __future__ import annotations

from playing import Talk, play_script

from ray_gym.engines import openai_wire as wire


async def seeds(episode: int, **sampling: int) -> list[int | None]:
    game = await play_script(
        Talk(), ["a", "b"], ["x", "y"], seed=episode, limits={"max_turns": 2},
        policy={"sampling": sampling}, user={"sampling": sampling},
    )  # fmt: skip
    requests = [request for model in game.models.values() for request in model.requests]
    sent = [wire.request_body(request, "small", False, {}).get("seed") for request in requests]
    assert sent == [request.sampling.seed for request in requests]
    return sent


async def test_each_call_of_each_episode_has_its_own_and_always_the_same() -> None:
    group = [await seeds(episode, seed=7) for episode in range(4)]
    every = [seed for episode in group for seed in episode]
    assert len(every) == 16 and len(set(every)) == 16
    assert all(seed is not None and 0 <= seed < 2**31 for seed in every)
    assert group == [await seeds(episode, seed=7) for episode in range(4)]
    assert set(every).isdisjoint(await seeds(0, seed=8))


async def test_without_a_seed_none_is_sent() -> None:
    assert await seeds(0) == [None] * 4
