"""Checks what may differ when a run is resumed, and how the rest is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ray_gym.config.file import as_yaml, read_config
from ray_gym.config.sections import RunConfig
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.errors import UserError
from ray_gym.run.fingerprint import Fingerprint, digest
from ray_gym.run.resume import MAY_CHANGE, config_to_resume, may_change, meaning_diff

RUN: dict[str, Any] = {
    "run": {"seed": 1},
    "environment": {"id": "tic_tac_toe", "legal_moves_only": True},
    "tasks": {"generate": 4},
    "models": {"small": {"engine": "scripted", "player": "a:b", "engine_args": {"x": 1}}},
    "participants": {"policy": {"model": "small", "sampling": {"temperature": 1.0}}},
    "limits": {"max_turns": 5},
}


def changed(key: str, value: Any) -> RunConfig:
    """RUN with one dotted key set; None takes it away."""
    data: dict[str, Any] = RunConfig.model_validate(RUN).model_dump(mode="json")
    *path, last = key.split(".")
    node = data
    for part in path:
        node = node.setdefault(part, {})
    node.pop(last, None) if value is None else node.update({last: value})
    return RunConfig.model_validate(data)


OLD = RunConfig.model_validate(RUN)
MEANS = {
    "run.seed": (2, "run.seed: 1 -> 2"),
    "train": ("strict", "train: any -> strict"),
    "environment.id": ("chess", "environment.id: tic_tac_toe -> chess"),
    "environment.legal_moves_only": (False, "environment.legal_moves_only: true -> false"),
    "environment.extra": (1, "environment.extra: (not set) -> 1"),
    "tasks.generate": (5, "tasks.generate: 4 -> 5"),
    "tasks.repeats": (2, "tasks.repeats: 1 -> 2"),
    "models.small.player": ("a:c", "models.small.player: a:b -> a:c"),
    "models.small.engine_args": (None, "models.small.engine_args.x: 1 -> (not set)"),
    "participants.policy.sampling.temperature": (0.7, "participants.policy.sampling.temperature: 1.0 -> 0.7"),
    "participants.policy.system_prompt": ("a: b", "participants.policy.system_prompt: null -> 'a: b'"),
    "participants.policy.sampling.stop": (["x"], "participants.policy.sampling.stop: [] -> [x]"),
    "limits.max_turns": (6, "limits.max_turns: 5 -> 6"),
}
MEANS_NOTHING = {
    "fanout.workers": 7,
    "fanout.concurrency": 1,
    "output.roll_s": 1,
    "output.durability": "disk",
    "output.dir": "/else",
    "output.journal_dir": "/journals",
    "run.name": "mine",
    "limits.call_deadline_s": 1,
    "limits.episode_deadline_s": 1,
    "limits.tool_deadline_s": 1,
}


def test_a_config_is_not_different_from_itself() -> None:
    assert meaning_diff(OLD, RunConfig.model_validate(RUN)) == []


@pytest.mark.parametrize("key", MEANS)
def test_what_means_something_is_a_line(key: str) -> None:
    value, line = MEANS[key]
    assert meaning_diff(OLD, changed(key, value)) == [line]


@pytest.mark.parametrize("key", MEANS_NOTHING)
def test_what_means_nothing_is_not(key: str) -> None:
    new = changed(key, MEANS_NOTHING[key])
    assert new != OLD and meaning_diff(OLD, new) == []


@pytest.mark.parametrize(
    ("before", "now"), [("envs.x:y", "ray_gym.envs.x:y"), ("deployments.x:y", "ray_gym.deployments.x:y")]
)
def test_a_module_of_ours_is_the_same_under_its_former_name(before: str, now: str) -> None:
    """The config of today may resume a run of before 0.2."""
    assert meaning_diff(changed("models.small.player", before), changed("models.small.player", now)) == []
    others = changed("models.small.player", now.replace("x:y", "x:z"))
    assert len(meaning_diff(changed("models.small.player", before), others)) == 1


def test_keys_of_limits_that_are_about_time_and_retries_may_change() -> None:
    assert may_change("limits.retries.infra") and may_change("limits.max_failed") and may_change("limits.x_deadline_s")
    assert not may_change("limits.max_turns") and not may_change("output.dir") and not may_change("fanout")


def written(path: Path, config: RunConfig) -> Path:
    path.write_text(as_yaml(config.model_dump(mode="json")))
    return path


@pytest.mark.parametrize(
    "text",
    [
        "${oc.env:HOME}",
        "\\${oc.env:HOME}",
        "\\\\${oc.env:HOME}",
        "$\\{x}\\",
        "${",
        "1e5",
        "-1.e-3",
        "on",
        "???",
        "a: #\x00\r\n",
        "\ud7ff ",
    ],
)
def test_a_text_of_a_config_is_the_same_when_it_is_read_again(tmp_path: Path, text: str) -> None:
    """Else whoever writes a prompt could have variables of the machine filled into it."""
    kept = changed("participants.policy.system_prompt", text)
    assert read_config(written(tmp_path / "run.yaml", kept)).model_dump() == kept.model_dump()


def test_a_new_config_brings_what_may_change_and_leaves_the_run_where_it_is(tmp_path: Path) -> None:
    kept = changed("output.dir", "/runs")
    new = changed("fanout.workers", 9).model_copy(update={"run": OLD.run.model_copy(update={"name": "x"})})
    config = config_to_resume(kept, "RUN", written(tmp_path / "new.yaml", new), ["limits.call_deadline_s=5"])
    assert (config.fanout.workers, config.limits.call_deadline_s) == (9, 5)
    assert config.output.dir == "/runs" and config.run == kept.run


def test_a_config_that_plays_something_else_is_refused_with_all_that_differs(tmp_path: Path) -> None:
    path = written(tmp_path / "new.yaml", changed("participants.policy.sampling.temperature", 0.7))
    with pytest.raises(UserError) as caught:
        config_to_resume(OLD, "runs/mine", path, ["run.seed=3"])
    lines = str(caught.value).splitlines()
    assert lines[0] == f"--resume: {path} plays something else than runs/mine (run -> config):"
    assert lines[1:3] == ["  run.seed: 1 -> 3", "  participants.policy.sampling.temperature: 1.0 -> 0.7"]
    assert "only fan-out, and limits of time, cost and rate may change (fanout.*, " in lines[3]


def test_overrides_without_a_config(tmp_path: Path) -> None:
    config = config_to_resume(OLD, "RUN", overrides=["fanout.workers=3", "output.durability=off"])
    assert config.with_overrides(()) == OLD.model_copy(update={"fanout": config.fanout, "output": config.output})
    assert (config.fanout.workers, config.output.durability) == (3, "off")
    with pytest.raises(UserError, match=r"--resume: run.seed=3: a run is resumed as it was; only these may change"):
        config_to_resume(OLD, "RUN", overrides=["run.seed=3"])


def test_a_relative_task_file_of_the_config_is_the_run_s_absolute_one(tmp_path: Path) -> None:
    (tmp_path / "games.jsonl").write_text("{}\n")
    kept = OLD.model_copy(
        update={"tasks": OLD.tasks.model_copy(update={"generate": None, "path": str(tmp_path / "games.jsonl")})}
    )
    new = kept.model_copy(update={"tasks": kept.tasks.model_copy(update={"path": "games.jsonl"})})
    assert config_to_resume(kept, "RUN", written(tmp_path / "new.yaml", new)) == read_config(
        written(tmp_path / "k.yaml", kept)
    )


def test_the_task_file_may_have_moved(tmp_path: Path) -> None:
    (tmp_path / "games.jsonl").write_text("{}\n")
    tasks = OLD.tasks.model_copy(update={"generate": None, "path": "/gone/games.jsonl"})
    kept, here = OLD.model_copy(update={"tasks": tasks}), str(tmp_path / "games.jsonl")
    assert config_to_resume(kept, "RUN", overrides=[f"tasks.path={here}"]).tasks.path == here
    new = kept.model_copy(update={"tasks": tasks.model_copy(update={"path": here})})
    assert config_to_resume(kept, "RUN", written(tmp_path / "new.yaml", new)).tasks.path == here


def spec(episode_id: str, task: str) -> EpisodeSpec:
    return EpisodeSpec(episode_id, "g", "t", 0, 1, task)


def test_the_digest_is_of_every_episode_s_id_and_task() -> None:
    plans = [
        [spec("a", "1"), spec("b", "2")],
        [spec("b", "2"), spec("a", "1")],
        [spec("a", "1"), spec("b", "3")],
        [spec("a", "1"), spec("c", "2")],
        [spec("a", "1")],
        [],
    ]
    assert len({digest(plan) for plan in plans}) == len(plans)
    assert digest(plans[0]) == digest(list(plans[0])) and len(digest([])) == 32


def test_other_tasks_and_another_environment_are_told_apart() -> None:
    began = Fingerprint("envs.a:A", 4, "x")
    began.check(Fingerprint("envs.a:A", 4, "x"), "RUN", "games.jsonl")
    began.check(Fingerprint("ray_gym.envs.a:A", 4, "x"), "RUN", "games.jsonl")  # where what came with us lay before 0.2
    with pytest.raises(UserError, match=r"--resume: RUN was played in envs\.a:A, and environment\.id is envs\.b:B now"):
        began.check(Fingerprint("envs.b:B", 4, "x"), "RUN", "games.jsonl")
    with pytest.raises(UserError, match=r"--resume: RUN began with other tasks than games\.jsonl gives now; put"):
        began.check(Fingerprint("envs.a:A", 4, "y"), "RUN", "games.jsonl")
    with pytest.raises(UserError, match=r"gives now \(4 episodes then, 5 now\)"):
        began.check(Fingerprint("envs.a:A", 5, "y"), "RUN", "games.jsonl")


def test_what_may_change_is_told_to_the_user() -> None:
    assert all(may_change(pattern) for pattern in MAY_CHANGE)
