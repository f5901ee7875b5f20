"""Checks that a command whose extra is missing names it, in one line, before anything starts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import REPOSITORY

from ray_gym.cli import main

MATH_TASKS = str(REPOSITORY / "envs" / "math" / "example.jsonl")
SUDOKU = ("--env", "reasoning_gym", "--option", "dataset=sudoku")
LAKE = ("--option", "name=FrozenLake-v1")
CASES = [
    ("vllm", "cpu", ("rollout", "tic_tac_toe")),
    ("vllm", "vllm", ("rollout", "tic_tac_toe", "models.small.gpus=1")),
    ("vllm", "cpu", ("rollout", "reward_model")),
    ("vllm", "cpu", ("serve", "service")),
    ("vllm", "cpu", ("config", "tic_tac_toe", "tasks.limit=1")),
    ("math_verify", "envs", ("rollout", "math")),
    ("math_verify", "envs", ("check-env", "math")),
    ("math_verify", "envs", ("data", "validate", MATH_TASKS, "--env", "math")),
    ("aviary", "adapters", ("rollout", "aviary")),
    ("gymnasium", "adapters", ("check-env", "gymnasium", *LAKE)),
    ("reasoning_gym", "adapters", ("data", "generate", *SUDOKU, "--n", "1")),
    ("transformers", "cpu", ("data", "validate", MATH_TASKS, "--env", "mcqa", "--tokenizer", "smollm2-135m-instruct")),
    ("torch", "cpu", ("model",)),
    ("statsmodels", "stats", ("stats", "runs/mine")),
    ("scipy", "stats", ("stats", "runs/mine", "runs/other")),
    ("wandb", "wandb", ("track", "runs/mine", "--to", "wandb")),
    ("mlflow", "mlflow", ("track", "runs/mine", "--to", "mlflow")),
    ("statsmodels", "stats", ("report", "runs/mine", "-o", "report.html")),
]


@pytest.fixture(autouse=True)
def nothing_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Takes the cluster and the small model away."""
    monkeypatch.chdir(tmp_path)
    for name in ("RAY_TMPDIR", "RAY_GYM_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / "empty"))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)


def hide(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    """Lets it be as if a package were not installed, for this process."""
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    if "ray_gym.envs.reasoning_gym.items" in sys.modules:  # imported by an earlier test, and the library by it
        monkeypatch.delitem(sys.modules, "ray_gym.envs.reasoning_gym.items")
        monkeypatch.delattr("ray_gym.envs.reasoning_gym.items")


@pytest.mark.parametrize(("module", "extra", "arguments"), CASES, ids=[" ".join(case[2])[:50] for case in CASES])
def test_the_extra_is_named(
    module: str,
    extra: str,
    arguments: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    hide(monkeypatch, module)
    monkeypatch.setattr(sys, "argv", ["ray-gym", *arguments])
    monkeypatch.setattr(sys, "path", list(sys.path))
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr().err
    assert ended.value.code == 2, told
    assert told.count("\n") == 1 and f"pip install 'ray-gym[{extra}]'" in told and "Traceback" not in told
    assert list(tmp_path.iterdir()) == []


def test_environments_are_listed_without_what_they_need(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in ("math_verify", "aviary", "gymnasium", "reasoning_gym"):
        hide(monkeypatch, module)
    monkeypatch.setattr(sys, "argv", ["ray-gym", "envs"])
    with pytest.raises(SystemExit) as ended:
        main()
    listed = {line.split()[0] for line in capsys.readouterr().out.splitlines() if line[1:2].strip()}
    assert ended.value.code == 0 and {"math", "aviary", "gymnasium", "reasoning_gym", "tic_tac_toe"} <= listed
