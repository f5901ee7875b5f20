"""Groups come from a service as they are in its record; mistakes are named before anything is trained."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY

pytest.importorskip("torch")
from handmade import handmade_groups, handmade_rows, tiny_model, tiny_tokenizer
from handmade_service import HandmadeService, serving

from ray_gym.client import AsyncClient, Client
from ray_gym.errors import RunFailed, UserError
from ray_gym.hosting.application import application_name
from ray_gym.service.api import GroupDone, RolloutStatus
from ray_gym.service.setup import actor_name
from ray_gym.trainers.rows import rows_of
from ray_gym.trainers.service import (
    WeightsCommand,
    check_drawn_at,
    check_ended,
    check_served_tokenizer,
    group_of,
    play,
    play_group,
    request_for,
)


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    return handmade_rows(tiny_model(), version=3)


@pytest.fixture
def service(rows: list[dict[str, Any]]) -> Iterator[HandmadeService]:
    with serving(rows) as service:
        yield service


def test_groups_that_came_over_http_are_those_of_the_record(service: HandmadeService) -> None:
    with Client(service.url) as client:
        groups = play(client, request_for(4, 7, [{"a": 1}, {"a": 2}], environment="mine"))
    own = handmade_groups(tiny_model(), version=3)
    assert [(group.number, group.group_id, group.version) for group in groups] == [(0, "g0", 3), (1, "g1", 3)]
    for group, expected in zip(groups, own, strict=True):
        for row, other in zip(rows_of(group), rows_of(expected), strict=True):
            assert row.advantage == other.advantage and row.reward == other.reward
            for name in ("token_ids", "loss_mask", "logprobs", "versions"):
                assert getattr(row, name).tolist() == getattr(other, name).tolist()
    assert service.requests == [{"tasks": [{"a": 1}, {"a": 2}], "repeats": 4, "seed": 7, "environment": "mine"}]


async def test_one_group_at_a_time(service: HandmadeService) -> None:
    async with AsyncClient(service.url) as client:
        group = await play_group(client, request_for(4, 7))
    assert group.group_id == "g0" and service.requests == [{"generate": 1, "repeats": 4, "seed": 7}]


def test_a_model_has_to_have_the_trainers_tokenizer(service: HandmadeService) -> None:
    with Client(service.url) as client:
        check_served_tokenizer(client, "policy", tiny_tokenizer())
        service.tokenizer.add_tokens(["<another>"])
        with pytest.raises(UserError, match=r"models\.policy: its tokenizer differs"):
            check_served_tokenizer(client, "policy", tiny_tokenizer())


def test_groups_of_one_are_refused() -> None:
    with pytest.raises(UserError, match="repeats: 1"):
        request_for(1, 0)


def test_a_group_without_its_tokens_is_refused(rows: list[dict[str, Any]]) -> None:
    bare = [{name: value for name, value in row.items() if name != "samples"} for row in rows[:1]]
    with pytest.raises(UserError, match="samples=True"):
        group_of(GroupDone(group_id="g0", task_id="t0", episodes=bare))


def test_tokens_of_another_temperature_are_refused(rows: list[dict[str, Any]]) -> None:
    group = group_of(GroupDone(group_id="g0", task_id="t0", episodes=rows[:4]))
    check_drawn_at(group, 1.0)
    with pytest.raises(UserError, match=r"policy\.sampling\.temperature: tokens of 0-0 were drawn at 1\.0"):
        check_drawn_at(group, 0.7)


def test_a_rollout_that_was_not_played_to_its_end_says_why() -> None:
    status = dict.fromkeys(["reward_mean", "started_at", "ended_at"]) | {
        "episodes": 4,
        "statuses": {},
        "stop_reasons": {},
    }
    ended = RolloutStatus(id="7", environment="mine", state="failed", failure="no worker", created_at=0, **status)
    with pytest.raises(RunFailed, match="rollout 7: it is failed: no worker"):
        check_ended(ended)


def test_the_command_that_changes_weights(tmp_path: Path) -> None:
    script = tmp_path / "ray_gym.py"
    script.write_text("import sys; print(f'{sys.argv[2]}: version 3 (somewhere), argument {len(sys.argv)}')")
    command = WeightsCommand("mine-policy", (sys.executable, str(script)))
    assert command.served() == 3
    command.update(4, tmp_path)
    script.write_text("import sys; sys.exit('they do not fit')")
    with pytest.raises(RunFailed, match="they do not fit"):
        command.update(4, tmp_path)
    with pytest.raises(UserError, match="/nowhere: No such file"):
        WeightsCommand("mine-policy", ("/nowhere",)).served()


@pytest.mark.parametrize("file", ["areal/train.py", "openrlhf/train.py", "skyrl/train.py", "slime/ray_gym.yaml"])
def test_recipes_name_the_application_of_a_services_model(file: str) -> None:
    assert application_name(actor_name("small"), "policy") == "service-small-policy"
    assert "service-small-policy" in (REPOSITORY / "examples" / "trainers" / file).read_text()
