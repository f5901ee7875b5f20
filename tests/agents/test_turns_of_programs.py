"""Checks what a program's turn is bounded by, and whose fault an error of its model is."""

from __future__ import annotations

from cast import play_with, program
from playing import Talk

from ray_gym import Episode
from ray_gym.models.base import Completion, CompletionRequest


async def test_a_turn_has_as_many_steps_as_its_environment_gives_it() -> None:
    class Short(Talk):
        async def run(self, episode: Episode) -> None:
            await episode.turn("policy", max_steps=1)

    code = """
first, second = [ask([{"role": "user", "content": f"{words} {number}"}]) for number in range(2)]
print(text_of(first), second["error"]["message"])
"""
    played, models = await play_with({"policy": program(code)}, ["a", "b"], environment=Short())
    assert played.episode.answer == "a policy has had its 1 steps: end your turn"
    assert len(models["policy"].requests) == 1


async def _breaks(request: CompletionRequest) -> Completion:
    raise ValueError("2 generated ids but 1 logprobs")


async def test_an_error_of_a_model_in_values_is_not_the_policys_fault() -> None:
    code = "\nfor number in range(2): ask([{'role': 'user', 'content': f'{words} {number}'}])\nsys.exit(1)"
    played, _ = await play_with({"policy": program(code)}, ["42", _breaks])
    assert (played.status, played.score) == ("failed", None) and played.failure is not None
    assert played.failure.kind == "environment" and "2 generated ids but 1 logprobs" in played.failure.message
