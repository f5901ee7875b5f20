"""Checks the plan of a config: everything that can be wrong is found before anything starts."""

from __future__ import annotations

import inspect
import json
import random
import threading
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from ray_gym import Environment, Participant, Task, tool
from ray_gym.config.file import read_config
from ray_gym.config.sections import ParticipantSection, RunConfig
from ray_gym.data.rows import notes_on
from ray_gym.data.tasks import TaskRow
from ray_gym.deployments.vllm.engine import VllmEngine
from ray_gym.engines.openai import OpenAIEngine
from ray_gym.engines.scripted import ScriptedEngine
from ray_gym.envs.tic_tac_toe.environment import TicTacToe
from ray_gym.errors import UserError
from ray_gym.run.plan import Plan, make_plan, make_specs

FILE = Path("configs/mine.yaml")
RANDOM = {"engine": "scripted", "player": "ray_gym.envs.tic_tac_toe.players:random_player"}

DATA: dict[str, Any] = {
    "environment": {"id": "tic_tac_toe"},
    "tasks": {"generate": 2},
    "models": {"small": RANDOM},
    "participants": {"policy": {"model": "small"}, "user": {"model": "small"}},
}


def plan(**sections: Any) -> Plan:
    return make_plan(RunConfig.model_validate({**DATA, **sections}), FILE)


def error_of(**sections: Any) -> str:
    with pytest.raises(UserError) as caught:
        plan(**sections)
    return str(caught.value)


@pytest.mark.parametrize(
    "many", [{"tasks": {"generate": 2, "repeats": 10**23}}, {"groups": {"extra": 10**23}, "tasks": {"generate": 1}}]
)
def test_more_episodes_than_can_be_planned_are_refused_at_once(many: dict[str, Any]) -> None:
    assert error_of(**many).startswith("tasks: these are more than 10,000,000 episodes; lower tasks.generate")


def test_an_environment_that_can_not_be_sent_to_workers_has_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    made = TicTacToe.__init__

    def with_a_lock(self: TicTacToe, options: Any) -> None:
        made(self, options)
        self.lock = threading.Lock()  # type: ignore[attr-defined]

    monkeypatch.setattr(TicTacToe, "__init__", with_a_lock)
    assert error_of().startswith("environment.id: tic_tac_toe: TicTacToe.lock is a lock, and can't be sent to workers")


def test_a_plan_has_every_episode_with_an_id_of_its_own() -> None:
    made = plan(tasks={"generate": 3, "repeats": 2})
    assert (
        len(made.specs) == len({spec.episode_id for spec in made.specs}) == len({spec.seed for spec in made.specs}) == 6
    )
    assert [spec.repeat for spec in made.specs] == [0, 1] * 3
    assert [spec.group_id for spec in made.specs[::2]] == [spec.group_id for spec in made.specs[1::2]]
    assert len({spec.group_id for spec in made.specs}) == 3
    assert made.specs == plan(tasks={"generate": 3, "repeats": 2}).specs
    assert not {s.episode_id for s in made.specs} & {
        s.episode_id for s in plan(run={"seed": 1}, tasks={"generate": 3}).specs
    }


def test_the_id_of_an_episode_depends_on_seed_task_and_repeat_alone() -> None:
    config = plan(tasks={"generate": 1, "repeats": 2}).config
    both = make_specs(config, [TaskRow("a", "{}"), TaskRow("b", "{}")])
    alone = make_specs(config, [TaskRow("b", '{"more": 1}')])
    assert [spec.episode_id for spec in alone] == [spec.episode_id for spec in both[2:]]


def test_the_policy_is_trained_and_others_are_not_unless_said() -> None:
    assert {name: p.trainable for name, p in plan().participants.items()} == {"policy": True, "user": False}
    participants = {
        "policy": {"model": "small", "trainable": False},
        "user": {"model": "small", "trainable": True, "max_turns": 3},
    }
    made = plan(participants=participants, limits={"max_turns": 7}).participants
    assert {name: (p.trainable, p.max_turns) for name, p in made.items()} == {"policy": (False, 7), "user": (True, 3)}


def test_only_models_that_someone_uses_are_brought_up_but_all_are_checked() -> None:
    assert list(plan(models={"small": RANDOM, "spare": RANDOM}).engines) == ["small"]
    assert "models.spare.playr: unknown key; did you mean 'player'?" in error_of(
        models={"small": RANDOM, "spare": {"engine": "scripted", "playr": "x:y"}}
    )


NAMES = {  # overrides of a good config, and what is said of them
    "participants.user=null": "{file}: participants.user: missing; tic_tac_toe is played by policy and user",
    "participants.usr.model=small": "{file}: participants.usr: tic_tac_toe has no such participant; "
    "did you mean 'user'?",
    "participants.policy.model=smal": "{file}: participants.policy.model: there is no model 'smal' under models; "
    "did you mean 'small'?",
    "environment.id=tictactoe": "environment.id: there is no environment 'tictactoe'; "
    "did you mean 'tic_tac_toe'? known: ",
    "environment.id=no.such:Thing": "environment.id: can't import no.such",
    "environment.id=ray_gym.envs.tic_tac_toe:TicTacTo": "environment.id: ray_gym.envs.tic_tac_toe has no 'TicTacTo'; "
    "did you mean 'TicTacToe'?",
    "environment.id=ray_gym.envs.tic_tac_toe.board:Board": "environment.id: ray_gym.envs.tic_tac_toe.board:Board is not a subclass",
    "environment.legal_moves=1": "'environment.legal_moves=1': environment.legal_moves: unknown key; did you mean 'legal_moves_only'?",
    "environment.legal_moves_only=perhaps": "'environment.legal_moves_only=perhaps': environment.legal_moves_only: "
    "Input should be a valid boolean",
    "models.small.engine=vlm": "{file}: models.small.engine: there is no engine 'vlm'; did you mean 'vllm'? known: ",
    "models.small.playr=x:y": "'models.small.playr=x:y': models.small.playr: unknown key; did you mean 'player'?",
    "models.small.player=ray_gym.envs.tic_tac_toe.players:randm_player": "models.small.player: ray_gym.envs.tic_tac_toe.players has no "
    "'randm_player'; did you mean 'random_player'?",
    "models.small.player=nowhere": "models.small.player: 'nowhere' is not of the form package.module:name",
    "models.small.arguments.depth=3": "models.small.arguments: ray_gym.envs.tic_tac_toe.players:random_player",
}


@pytest.mark.parametrize("override", NAMES)
def test_a_wrong_name_is_told_with_the_nearest(override: str, tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(OmegaConf.to_yaml(OmegaConf.create(DATA)))
    with pytest.raises(UserError) as caught:
        if override == "participants.user=null":
            file.write_text(OmegaConf.to_yaml({**DATA, "participants": {"policy": {"model": "small"}}}))
            make_plan(read_config(file), file)
        make_plan(read_config(file, [override]), file)
    assert str(caught.value).startswith(NAMES[override].format(file=file))


def test_tools_cannot_be_required_where_there_are_none() -> None:
    participants = {"policy": {"model": "small", "tool_choice": "required"}}
    message = error_of(environment={"id": f"{__name__}:Toolless"}, participants=participants)
    assert message == f"{FILE}: participants.policy.tool_choice: required, but {__name__}:Toolless offers it no tools"


def vllm(**options: Any) -> dict[str, Any]:
    return {"small": {"engine": "vllm", **options}}


def seeded(seed: int | None) -> dict[str, Any]:
    return {"policy": {"model": "small", "sampling": {"seed": seed}}, "user": {"model": "small"}}


def test_a_sampling_seed_on_a_cpu_is_refused_with_the_reason() -> None:
    message = error_of(models=vllm(model="smollm2-135m-instruct", gpus=0), participants=seeded(3))
    assert (
        message.startswith("participants.policy.sampling.seed: vLLM on CPU can't take a seed")
        and "leave it out" in message
    )
    plan(models=vllm(model="smollm2-135m-instruct", gpus=1), participants=seeded(3))
    plan(models=vllm(model="smollm2-135m-instruct", gpus=0), participants=seeded(None))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "models.small: set model (what to load) or app"),
        ({"model": "./no/checkpoint"}, "models.small.model: no/checkpoint is no checkpoint (there is no such folder)"),
        (
            {"model": "smollm2-135m-instruct", "chat_template": "no.jinja"},
            "models.small.chat_template: there is no file no.jinja",
        ),
        ({"model": "smollm2-135m-instruct", "gpu": 1}, f"{FILE}: models.small.gpu: unknown key; did you mean 'gpus'?"),
        (
            {"model": "smollm2-135m-instruct", "replicas": 0},
            f"{FILE}: models.small.replicas: Input should be greater than or equal to 1",
        ),
        (
            {"model": "smollm2-135m-instruct", "engine_args": {"logprobs_mode": "raw_logprobs"}},
            "models.small.engine_args: logprobs_mode is set by the engine: exact samples rest on it",
        ),
        (
            {"model": "smollm2-135m-instruct", "chat_template_kwargs": {"tokenize": True}},
            "models.small.chat_template_kwargs: tokenize: set by the rendering itself",
        ),
        (
            {"app": "other", "tool_parser": "hermes"},
            "models.small.tool_parser: 'other' is attached to, and has its own",
        ),
    ],
)
def test_wrong_options_of_vllm_are_found_without_loading_it(options: dict[str, Any], told: str) -> None:
    assert told in error_of(models=vllm(**options))


def test_calls_that_nobody_can_read_are_found_without_loading_the_model(tmp_path: Path) -> None:
    template = tmp_path / "chat.jinja"
    options = {"model": "smollm2-135m-instruct", "chat_template": str(template)}
    template.write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
    assert "models.small: the participants have tools, but the model's chat template does not show them" in error_of(
        models=vllm(**options)
    )
    template.write_text("{% for t in tools %}?{{ t }}?{% endfor %}{% for m in messages %}{{ m.content }}{% endfor %}")
    message = error_of(models=vllm(**options))
    assert (
        message.startswith("models.small: its chat template shows tools in an unknown format")
        and "set tool_parser" in message
    )
    assert plan(models=vllm(**options, tool_parser="hermes")).engines
    template.write_text("{# tools #}<|im_start|>{% for m in messages %}{{ m.content }}{% endfor %}")
    assert plan(models=vllm(**options)).engines, "what is in a comment is not shown"


@pytest.mark.parametrize(
    ("sampling", "repeats", "told"),
    [
        ({"temperature": 0}, 4, "temperature: 0"),
        ({"temperature": 0}, 1, None),
        ({"temperature": 0.01}, 4, "temperature: 0.01"),
        ({"temperature": 0.5}, 4, None),
        ({"top_k": 1}, 4, "top_k: 1"),
        ({"top_k": 2}, 4, None),
        ({"top_p": 1e-6}, 4, "top_p: 1e-06"),
        ({"top_p": 0.5}, 4, None),
        ({"min_p": 1}, 4, "min_p: 1"),
    ],
)
@pytest.mark.parametrize("with_ids", [True, False])
def test_groups_of_equal_episodes_are_remarked(
    sampling: dict[str, float], repeats: int, told: str | None, with_ids: bool
) -> None:
    cast = {"policy": {"model": "small", "sampling": sampling}, "user": {"model": "small"}}
    models = vllm(model="smollm2-135m-instruct") if with_ids else {"small": RANDOM}
    made = plan(models=models, participants=cast, tasks={"generate": 2, "repeats": repeats})
    remarks = [line for line in made.notes if f"sampling.{told}, so the 4 episodes of a task" in line]
    assert len(remarks) == (told is not None)
    assert not any("episodes of a task" in line for line in made.notes) or told


def test_what_is_left_out_of_rows_is_noted(tmp_path: Path) -> None:
    asked = {
        "input": [{"role": "user", "content": "Which?", "weight": 1}],
        "chat_template_kwargs": {"a": 1},
        "top_p": 1,
    }
    row = {"responses_create_params": asked, "options": {"A": "x", "B": "y"}, "expected_answer": "B"}
    plain = {**row, "responses_create_params": {"input": "Why?"}}
    file = tmp_path / "rows.jsonl"
    file.write_text("\n\n".join(map(json.dumps, [plain, row, row, row])))
    section = {"path": str(file), "limit": 3}
    notes = plan(environment={"id": "mcqa"}, participants={"policy": {"model": "small"}}, tasks=section).notes
    assert notes == [
        f"{file}: chat_template_kwargs of its own, which are not used (the config has such settings for all rows): line 3 and 1 more",
        f"{file}: top_p of its own, which are not used (the config has such settings for all rows): line 3 and 1 more",
        f"{file}: weight of messages, which is not used: line 3 and 1 more",
    ]


def test_notes_on_rows_have_an_end() -> None:
    notes = notes_on("x.jsonl", {f"{'k' * 1000}{number}": ["row 0"] for number in range(25)})
    assert len(notes) == 11 and max(map(len, notes)) < 400 and "15 other things of rows are not used" in notes[-1]


class Misspelt(Environment[Task, Any]):
    """Has a tool for `usr`, and one for a clerk."""

    participants = ("policy", "user")

    def generate(self, rng: random.Random, index: int) -> Task:
        return Task()

    def setup(self, task: Task, episode: Any) -> None:
        return None

    @tool(participants=("usr",))
    def pay(self, state: Any, caller: Participant) -> str:
        return "paid"

    @tool(participants=("policy", "clerk"))
    def sell(self, state: Any, caller: Participant) -> str:
        return "sold"

    def score(self, state: Any, episode: Any) -> float:
        return 1.0


def test_a_tool_of_nobody_is_remarked() -> None:
    made = plan(environment={"id": "test_plan:Misspelt"}, models={"small": RANDOM})
    assert [line for line in made.notes if "tool" in line] == [
        "environment: tool pay is for 'usr', who does not take part; did you mean 'user'?",
        "environment: tool sell is for 'clerk', who does not take part; known: policy, user",
    ]


PLAIN = {"model": "small", "sampling": {"temperature": 0.7}}
NOT_PLAIN = {
    "tool_choice: required renormalises over a grammar": {**PLAIN, "tool_choice": "required"},
    "temperature 0": {"model": "small", "sampling": {"temperature": 0}},
    "top-p": {"model": "small", "sampling": {"top_p": 0.9}},
}


@pytest.mark.parametrize("reason", NOT_PLAIN)
def test_strict_training_refuses_what_a_forward_pass_does_not_give(reason: str) -> None:
    models = vllm(model="smollm2-135m-instruct")
    cast = {"policy": NOT_PLAIN[reason], "user": {"model": "small", "tool_choice": "required"}}
    assert "participants.policy: its samples are not plain" in plan(models=models, participants=cast).notes[0]
    message = error_of(models=models, participants=cast, train="strict")
    assert message.startswith(f"{FILE}: train: strict takes plain samples only") and reason in message
    assert "participants.user" not in message, "who is not trained may sample as it likes"
    assert plan(models=models, participants={**cast, "policy": PLAIN}, train="strict").not_plain == {}


def test_a_small_model_that_was_not_fetched_says_how(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RAY_GYM_CACHE", str(tmp_path))
    message = error_of(models=vllm(model="smollm2-135m-instruct"))
    assert (
        message.startswith("models.small.model: the small model is not in ") and "run `ray-gym model` first" in message
    )


@pytest.mark.parametrize("engine", [VllmEngine, OpenAIEngine, ScriptedEngine])
def test_engines_are_started_as_the_driver_starts_them(engine: Any) -> None:
    parameters = inspect.signature(engine.start)
    parameters.bind(None, "run", "small", print)
    assert {"check", "start", "connect", "stop", "gpus", "gives_tokens", "Options"} <= set(dir(engine))


def test_gpus_are_counted_over_replicas_and_ranks() -> None:
    made = plan(models=vllm(model="smollm2-135m-instruct", gpus=1, tensor_parallel=2, replicas=3))
    assert made.engines["small"].gpus() == 6


class Toolless(Environment[Task, None]):
    def setup(self, task: Task, episode: Any) -> None: ...

    def score(self, state: None, episode: Any) -> float:
        return 0.0

    def generate(self, rng: Any, index: int) -> Task:
        return Task()


PRICED = {**RANDOM, "price": {"input": 1, "output": 2}}


def test_a_limit_of_the_cost_needs_a_price() -> None:
    told = error_of(limits={"max_cost": 5})
    assert "limits.max_cost: 5, but no model that plays has a price; set models.small.price" in told
    unused = {"small": RANDOM, "other": PRICED}
    assert "no model that plays has a price" in error_of(limits={"max_cost": 5}, models=unused)
    made = plan(limits={"max_cost": 5}, models={"small": PRICED, "other": RANDOM})
    assert list(made.prices) == ["small"] and plan(models=unused).prices == {}, "nobody has to use a price"


class Asking(Toolless):
    auxiliary = ("judge",)


def test_a_program_plays_nobody_who_takes_no_turns() -> None:
    agent = {"model": "small", "agent": {"command": ["sh"]}}
    participants = {"policy": {"model": "small"}, "judge": agent}
    message = error_of(environment={"id": f"{__name__}:Asking"}, participants=participants)
    assert message.startswith(
        f"{FILE}: participants.judge.agent: a program takes turns, and judge is asked between them"
    )


def test_a_program_is_told_no_choice_of_tools() -> None:
    with pytest.raises(ValueError, match="tool_choice: the agent's program says itself what its calls may do"):
        ParticipantSection.model_validate({"model": "small", "tool_choice": "none", "agent": {"command": ["sh"]}})
