"""Checks what an episode's row says that its model calls cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
from playing import ScriptModel, Talk

from ray_gym import Episode, Message, Task
from ray_gym.config.sections import LimitsSection, ParticipantSection
from ray_gym.episode.participant import Participant
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.episode.stage import Stage
from ray_gym.models.base import Completion
from ray_gym.models.price import Price
from ray_gym.play.play import play
from ray_gym.record.rows import row_of
from ray_gym.record.schema import SCHEMA, without_volatile
from ray_gym.run.directory.receipt import receipt_of
from ray_gym.run.driver.tally import Tally


class Judged(Talk):
    auxiliary = ("judge",)

    async def score(self, state: Any, episode: Episode) -> float:
        return float((await episode.ask("judge", "Well?")).content == "yes")


MODELS = {"policy": "large", "user": "small", "judge": "large"}


def answer(text: str, prompt: int, cached: int, generated: int) -> Completion:
    return Completion(
        Message("assistant", text), prompt_tokens=prompt, cached_tokens=cached, generated_tokens=generated
    )


async def row_under(prices: dict[str, Price]) -> dict[str, Any]:
    """Plays an episode of two turns, which a judge scores, and returns its row."""
    limits = LimitsSection(max_turns=2)
    cast = {name: Participant.from_config(name, ParticipantSection(model=of), limits) for name, of in MODELS.items()}
    policy = [answer("a", 100, 0, 10), answer("b", 200, 100, 20), answer("yes", 1000, 0, 1)]
    user = [answer("c", 50, 0, 5), answer("d", 60, 0, 5)]
    models = {"large": ScriptModel([*policy]), "small": ScriptModel([*user])}
    stage = replace(Stage(Judged(), cast, models, limits), prices=prices)
    played = await play(EpisodeSpec("e", "g", "t", 0, 0, Task().model_dump_json()), stage)
    assert played.status == "completed" and played.failure is None, played.failure
    return row_of(played, "run", "env")


async def test_every_participant_with_a_price_has_its_cost() -> None:
    row = await row_under({"large": Price(input=10, cached=1, output=100), "small": Price(1, 2)})
    costs = {one["participant"]: (one["model"], round(one["cost"] * 1e6)) for one in row["costs"]}
    assert costs["policy"] == ("large", 200 * 10 + 100 * 1 + 30 * 100)
    assert costs["judge"] == ("large", 1000 * 10 + 100)
    assert costs["user"][0] == "small" and costs["user"][1] > 0
    assert round(row["cost"] * 1e6) == sum(cost for _, cost in costs.values())
    assert "cost" not in without_volatile(row), "it depends on what was cached"


async def test_a_model_without_a_price_costs_nothing_that_is_counted() -> None:
    row = await row_under({"small": Price(1, 2)})
    assert [one["participant"] for one in row["costs"]] == ["user"] and row["cost"] == row["costs"][0]["cost"]
    bare = await row_under({})
    assert bare["cost"] is None and bare["costs"] is None
    assert SCHEMA.field("cost").type == pa.float64()


async def test_a_summary_has_the_cost_by_model() -> None:
    row = await row_under({"large": Price(10, 100), "small": Price(1, 2)})
    tally = Tally.of_resumed(2, [receipt_of(row)])
    tally.add(receipt_of(row))
    tally.add(receipt_of(row), sign=-1)
    cost = tally.summary()["cost"]
    assert list(cost["by_model"]) == ["large", "small"] and cost["spent"] is None
    assert round(cost["total"] * 1e12) == round(row["cost"] * 1e12)
    assert Tally.of_resumed(2, [receipt_of(await row_under({}))]).summary()["cost"] is None
