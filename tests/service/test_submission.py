"""Checks the way from a request to a run: what is taken over, and what is refused in the words of the request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ray_gym.config.sections import RunConfig
from ray_gym.engines.scripted import ScriptedEngine
from ray_gym.engines.scripted_model import ScriptedOptions
from ray_gym.openai_api.refused import Refused
from ray_gym.run.fingerprint import Fingerprint
from ray_gym.service.api import RolloutRequest
from ray_gym.service.offers import choose_offer, offers_of
from ray_gym.service.rollouts.submission import TASKS, Submission, plan_again, submission_of

PLAYERS = {
    "random": "ray_gym.envs.tic_tac_toe.players:random_player",
    "minimax": "ray_gym.envs.tic_tac_toe.players:minimax_player",
    "basic": "ray_gym.envs.blackjack.players:basic_player",
}
ENGINES = {name: ScriptedEngine(ScriptedOptions(player=player)) for name, player in PLAYERS.items()}
GAME = {"initial_moves": [{"position": 4, "mark": "X"}]}


@pytest.fixture
def config(tmp_path: Path) -> RunConfig:
    (tmp_path / "two.jsonl").write_text(f"{json.dumps(GAME)}\n{{}}\n")
    (tmp_path / "broken.jsonl").write_text('{"initial_moves": 1}\n')
    return RunConfig.model_validate(
        {
            "environment": {"id": "tic_tac_toe"},
            "tasks": {"generate": 5},
            "models": {name: {"engine": "scripted", "player": player} for name, player in PLAYERS.items()},
            "participants": {
                "policy": {"model": "random", "sampling": {"temperature": 0.5, "stop": ["!"]}},
                "user": {"model": "minimax"},
            },
            "output": {"dir": str(tmp_path / "rollouts")},
            "service": {
                "max_episodes": 40,
                "sources": {
                    "two": {"path": "two.jsonl"},
                    "broken": {"path": "broken.jsonl"},
                    "gone": {"path": "gone.jsonl"},
                },
                "offers": {
                    "cards": {"environment": {"id": "blackjack"}, "participants": {"policy": {"model": "basic"}}}
                },
            },
        }
    )


def submitted(config: RunConfig, folder: Path, **request: Any) -> Submission:
    asked = RolloutRequest.model_validate(request)
    offer = choose_offer(offers_of(config), asked.environment)
    return submission_of(asked, offer, config, folder, ENGINES, "0" * 32)


def test_a_run_is_planned_again_from_its_directory_alone(config: RunConfig, tmp_path: Path) -> None:
    tasks = [GAME, {}, {"task_id": "mine é"}]
    made = submitted(config, tmp_path, tasks=tasks, repeats=3, seed=7)
    made.write(b"{}")
    folder = tmp_path / "rollouts" / ("0" * 32)
    assert {path.name for path in folder.iterdir()} >= {"run.yaml", "plan.json", "request.json", TASKS, "episodes"}
    plan = plan_again(made.config, folder, ENGINES)
    assert (
        Fingerprint.of(plan, tmp_path) == made.fingerprint
    )  # its folder is where `score` finds the environment's module
    assert len(plan.specs) == made.episodes == 9
    assert [spec.task_id for spec in plan.specs][-1] == "mine é" and plan.engines.keys() == {"random", "minimax"}


def test_where_tasks_come_from(config: RunConfig, tmp_path: Path) -> None:
    assert submitted(config, tmp_path).episodes == 5, "the source `default`"
    assert submitted(config, tmp_path, source="two", repeats=2).episodes == 4
    assert submitted(config, tmp_path, source="two", limit=1).episodes == 1
    assert submitted(config, tmp_path, generate=3).episodes == 3
    assert submitted(config, tmp_path, tasks=[{}, GAME], limit=1).episodes == 1
    assert submitted(config, tmp_path, environment="cards", generate=2).config.environment.id == "blackjack"
    one, other = (submitted(config, tmp_path, generate=3, seed=seed) for seed in (1, 2))
    assert one.fingerprint.digest != other.fingerprint.digest


def test_participants_are_changed_and_keep_the_rest(config: RunConfig, tmp_path: Path) -> None:
    changes = {"policy": {"model": "minimax", "sampling": {"top_p": 0.9, "max_tokens": 7}, "system_prompt": "Win."}}
    made = submitted(config, tmp_path, participants=changes).config.participants
    policy = made["policy"]
    assert (policy.model, policy.system_prompt, policy.tool_choice) == ("minimax", "Win.", "auto")
    sampling = policy.sampling
    assert (sampling.temperature, sampling.top_p, sampling.max_tokens, sampling.stop) == (0.5, 0.9, 7, ("!",))
    assert made["user"] == config.participants["user"]


def test_groups_without_spread_are_noted(config: RunConfig, tmp_path: Path) -> None:
    greedy = {"policy": {"model": "minimax", "sampling": {"temperature": 0}}}
    assert submitted(config, tmp_path, participants=greedy, generate=2, repeats=1).notes == []
    [note] = submitted(config, tmp_path, participants=greedy, generate=2, repeats=4).notes
    assert note.startswith("participants.policy.sampling.temperature: 0, so the 4 episodes of a task")


def test_what_is_left_out_of_tasks_is_noted(config: RunConfig, tmp_path: Path) -> None:
    request = {"input": "Play.", "temperature": 0}
    tasks = [{}, *[{"responses_create_params": request, "initial_moves": MOVES[:1]}] * 2]
    [note] = submitted(config, tmp_path, tasks=tasks).notes
    assert note.startswith("tasks: temperature of its own, which are not used") and note.endswith(
        ": tasks[1] and 1 more"
    )


MOVES = [{"position": 0, "mark": "X"}, {"position": 0, "mark": "O"}]
BAD = {
    "unknown key": ({"tasks": [{}, {}, {}, {"moves": []}]}, "tasks[3].moves", "unknown key"),
    "wrong type": ({"tasks": [{"initial_moves": [{"position": 9, "mark": "X"}]}]}, "tasks[0].initial_moves.0.position", ""),
    "against the rules": ({"tasks": [{"initial_moves": MOVES}]}, "tasks[0]", "initial_moves"),
    "no number": ({"tasks": [{"initial_moves": float("nan")}]}, "tasks[0].initial_moves", "no number that JSON has"),
    "given twice": ({"tasks": [{"task_id": "a"}, {"task_id": "a"}]}, "tasks[1]", "given already at tasks[0]"),
    "two sources": ({"tasks": [{}], "generate": 1}, "generate", "one of tasks, generate and source"),
    "no such source": ({"source": "three"}, "source", "known: default, two"),
    "no source at all": ({"environment": "cards"}, "source", "there are none"),
    "no such environment": ({"environment": "chess"}, "environment", "known: tic_tac_toe, cards"),
    "no such participant": ({"participants": {"judge": {}}}, "participants.judge", "known: policy, user"),
    "no such model": ({"participants": {"user": {"model": "gpt"}}}, "participants.user.model", "known: random"),
    "too many tasks": ({"tasks": [{}] * 21, "repeats": 2}, None, "42 episodes are more than"),
    "too many generated": ({"generate": 1_000_000}, None, "1000000 episodes are more than"),
    "too many of a source": ({"source": "two", "repeats": 21}, None, "42 episodes are more than"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said_in_the_words_of_the_request(config: RunConfig, tmp_path: Path, case: str) -> None:
    request, param, said = BAD[case]
    with pytest.raises(Refused) as refused:
        submitted(config, tmp_path, **request)
    assert (refused.value.status, refused.value.param) == (422, param) and said in refused.value.message
    assert refused.value.message.startswith(param or "") and "request: " not in refused.value.message
    assert str(tmp_path) not in refused.value.message and not (tmp_path / "rollouts").exists()


@pytest.mark.parametrize("source", ["broken", "gone"])
def test_a_source_that_is_broken_is_the_service_s_own_fault(config: RunConfig, tmp_path: Path, source: str) -> None:
    with pytest.raises(Refused) as refused:
        submitted(config, tmp_path, source=source)
    assert (refused.value.status, refused.value.code) == (503, "broken_source") and str(tmp_path) not in str(
        refused.value
    )


def test_deep_tasks_are_refused(config: RunConfig, tmp_path: Path) -> None:
    deep: Any = {}
    for _ in range(3000):
        deep = {"a": deep}
    offer = choose_offer(offers_of(config), None)
    request = RolloutRequest.model_construct(tasks=[deep])
    with pytest.raises(Refused, match=r"tasks\[0\]: nested too deeply"):
        submission_of(request, offer, config, tmp_path, ENGINES, "0" * 32)


def test_what_is_offered(config: RunConfig) -> None:
    own, cards = (offer.info(config) for offer in offers_of(config).values())
    assert (own.name, own.participants, cards.name) == ("tic_tac_toe", ["policy", "user"], "cards")
    assert own.generates and "initial_moves" in own.task_schema["properties"] and own.description and own.tools
