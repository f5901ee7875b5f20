"""Limits that end an episode: output, context, tokens in all, and time."""

from __future__ import annotations

import asyncio

import pytest
from playing import Talk, play_script, with_tokens
from test_stops import never, scored

from ray_gym import Episode

LIMITS = {  # what a call comes back with, under which limits, and the reason that is recorded
    "max_tokens": (with_tokens("4 and", [1, 2], [3], "length"), {}),
    "context_full": (with_tokens("4 and", [1, 2], [3], "context_full"), {}),
    "token_budget": (with_tokens("4 and", [1, 2], [3], "length"), {"token_budget": 2}),
}


@pytest.mark.parametrize("reason", LIMITS)
@pytest.mark.parametrize("speaker", ["policy", "user"])
async def test_either_sides_truncation_has_its_reason_and_its_tokens_are_kept(reason: str, speaker: str) -> None:
    cut, limits = LIMITS[reason]
    replies = [[cut], []] if speaker == "policy" else [[with_tokens("hello", [8], [9])], [cut]]
    if speaker == "policy" and reason == "token_budget":
        limits = {"token_budget": 1}
    trainable = {"policy": {"trainable": True}, "user": {"trainable": True}}
    game = await play_script(Talk(), *replies, limits=limits, **trainable)
    assert game.stop == (reason, "4 and") and scored(game)
    last = [event for event in game.episode.events if event.kind == "message"][-1]
    assert (last.participant, last.content) == (speaker, "4 and")
    assert last.finish_reason == ("context_full" if reason == "context_full" else "length")
    (sample,) = game.episode.threads[speaker].ledger.samples
    assert sample.token_ids.tolist() == [1, 2, 3] and sample.loss_mask.tolist() == [0, 0, 1]


async def test_a_call_that_hits_its_output_limit_ends_the_episode() -> None:
    game = await play_script(Talk(), [with_tokens("4 and", [1, 2], [3], "length")])
    assert game.stop == ("max_tokens", "4 and") and scored(game)
    assert game.episode.threads["policy"].ledger.history.tolist() == [1, 2, 3], "what was generated is kept"


async def test_a_full_context_ends_the_episode() -> None:
    game = await play_script(Talk(), [with_tokens("so", [1], [2], "context_full")])
    assert game.stop == ("context_full", "so") and scored(game)


async def test_the_token_budget_is_shared_and_limits_the_last_call() -> None:
    policy = [with_tokens("a", [1], [2, 3, 4]), with_tokens("b", [7], [8], "length")]
    game = await play_script(Talk(), policy, [with_tokens("x", [5], [6])], limits={"token_budget": 5})
    assert game.stop == ("token_budget", "b") and scored(game)
    asked = [
        request.sampling.max_tokens for request in (*game.models["policy"].requests, *game.models["user"].requests)
    ]
    assert asked == [5, 1, 2]


async def test_a_spent_token_budget_calls_no_model() -> None:
    game = await play_script(Talk(), [with_tokens("a", [1], [2, 3])], limits={"token_budget": 2})
    assert game.stop[0] == "token_budget" and game.models["user"].requests == []


async def test_the_deadline_ends_an_episode_whose_model_does_not_answer() -> None:
    async with asyncio.timeout(5):
        game = await play_script(Talk(), [never], limits={"episode_deadline_s": 0.02})
    assert game.stop == ("deadline", "0.02 s") and scored(game)


async def test_after_the_deadline_no_model_is_called_however_fast_it_would_be() -> None:
    game = await play_script(Talk(), ["a", "b"], ["x", "y"], limits={"episode_deadline_s": 1e-9, "max_turns": 2})
    assert game.stop[0] == "deadline" and game.models["policy"].requests == []


async def test_the_deadline_ends_a_control_flow_that_waits_for_something_else() -> None:
    class Waiting(Talk):
        async def run(self, episode: Episode) -> None:
            await episode.turn("policy")
            await asyncio.Event().wait()

    async with asyncio.timeout(5):
        game = await play_script(Waiting(), ["hello"], limits={"episode_deadline_s": 0.05})
    assert game.stop[0] == "deadline"


async def test_a_call_over_its_deadline_is_the_machines_fault() -> None:
    async with asyncio.timeout(5):
        game = await play_script(Talk(), [never], limits={"call_deadline_s": 0.01, "retries": {"infra": 0}})
    assert game.played.status == "failed" and game.played.failure is not None and game.played.score is None
    assert game.played.failure.kind == "infra" and game.played.failure.where == "model policy"
    assert "call_deadline_s (0.01 s)" in game.played.failure.message
    assert game.stop[0] == "failed"
