"""Checks the packages that faults are planted in, the faults, and what is told of them."""

from __future__ import annotations

import ast
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from playing_tasks import generated
from pydantic import ValidationError

from ray_gym.config.file import read_config
from ray_gym.config.sections import TasksSection
from ray_gym.data.tasks import read_tasks
from ray_gym.envs.code_repair import CodeRepair
from ray_gym.envs.code_repair.driver import outcome_of
from ray_gym.envs.code_repair.generator import Wanted, make_task
from ray_gym.envs.code_repair.grading import asked_of
from ray_gym.envs.code_repair.mutations import KINDS, mutations_of
from ray_gym.envs.code_repair.packages import BLUEPRINTS, Blueprint, Drawn
from ray_gym.envs.code_repair.running import Package, RunsForEver
from ray_gym.envs.code_repair.task import CodeRepairTask
from ray_gym.envs.code_repair.wording import path_of_tests

REPOSITORY = Path(__file__).parents[2]
EXAMPLES = REPOSITORY / "envs" / "code_repair" / "example.jsonl"
CONFIGS = ("code_repair", "code_repair_codex")


def answers(task: CodeRepairTask, *, fixed: bool) -> list[Any]:
    """Returns what the hidden checks give, with the fault or without it."""
    files = [*task.files, *(task.fixed if fixed else ())]
    package = Package(task.package, {file.path: file.text for file in files if file.path.startswith(task.package)})
    return [package.run(task.imports, one.lines, one.asks) for one in task.checks]


@pytest.mark.parametrize("blueprint", BLUEPRINTS, ids=lambda one: one.name)
def test_hidden_checks_see_the_fault_and_pass_without_it(blueprint: Blueprint, tmp_path: Path) -> None:
    task = make_task(random.Random(1), Wanted([blueprint], KINDS))
    expected = [one.outcome for one in task.checks]
    assert answers(task, fixed=True) == expected
    wrong = [given for given, right in zip(answers(task, fixed=False), expected, strict=True) if given != right]
    assert 3 <= len(wrong) <= 5
    assert task.kind in KINDS and "```python" in task.issue and task.package in task.issue
    [fixed] = task.fixed
    [faulty] = [file.text for file in task.files if file.path == fixed.path]
    assert ast.dump(ast.parse(faulty)) != ast.dump(ast.parse(fixed.text))


def test_a_package_and_its_visible_tests_run_by_themselves(tmp_path: Path) -> None:
    task = generated(CodeRepair(), 4)
    for file in task.files:
        (tmp_path / file.path).parent.mkdir(exist_ok=True)
        (tmp_path / file.path).write_text(file.text)
    tests = tmp_path / path_of_tests(task.package)
    done = subprocess.run([sys.executable, tests], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.count("passed"), done.stderr) == (0, 4, "")
    tests.write_text(tests.read_text().replace("== ", "== 'x', "))
    assert subprocess.run([sys.executable, tests], capture_output=True, check=False).returncode == 1


def test_all_kinds_of_faults_are_planted_in_all_sorts_of_packages() -> None:
    found = {
        (one.name, fault.kind)
        for one in BLUEPRINTS
        for source in Drawn.of(one, random.Random(0)).sources.values()
        for fault in mutations_of(source)
    }
    assert len(BLUEPRINTS) >= 12 and {kind for _, kind in found} == set(KINDS)
    assert all(sum(name == one.name for name, _ in found) >= 4 for one in BLUEPRINTS)


@pytest.mark.parametrize(
    ("source", "kind", "wrong"),
    [
        ("def f(a, b):\n    return a < b\n", "comparison", "a <= b"),
        ("def f(a, b):\n    return a + b\n", "operator", "a - b"),
        ("def f(a, b):\n    return max(a, b)\n", "operator", "min(a, b)"),
        ("def f(a):\n    return a[1:]\n", "off_by_one", "a[2:]"),
        ("def f(a, b):\n    return g(a, b)\n", "swapped_arguments", "g(b, a)"),
        (
            "def f(a):\n    if not a:\n        return 0\n    return g(a)\n",
            "dropped_branch",
            "def f(a):\n    return g(a)",
        ),
        ("def f(a, b=3):\n    return a\n", "wrong_default", "b=4"),
        ("def f(a, b=True):\n    return a\n", "wrong_default", "b=False"),
        ("def f(a, b):\n    return a and not b\n", "logic", "a or not b"),
        ("class C:\n    def f(self):\n        return list(self.a)\n", "shared_state", "return self.a"),
        (
            "def f(a, b=None):\n    if b is None:\n        b = []\n    return b\n",
            "shared_state",
            "b=[]):\n    return b",
        ),
    ],
)
def test_a_fault_is_an_edit_of_the_text(source: str, kind: str, wrong: str) -> None:
    made = [fault.source for fault in mutations_of(source) if fault.kind == kind]
    assert any(wrong in one for one in made) and source not in made
    for one in made:
        ast.parse(one)


def test_code_that_runs_for_ever_is_ended() -> None:
    package = Package("turning", {"turning/__init__.py": "def turn():\n    while True:\n        pass\n"})
    with pytest.raises(RunsForEver):
        package.run("from turning import turn", [], "turn()")
    assert "turning" not in sys.modules


def test_the_same_seed_gives_the_same_task() -> None:
    one, again, other = (generated(CodeRepair(), 3, seed) for seed in (0, 0, 1))
    assert one == again != other


def test_what_goes_into_a_sandbox_does_not_say_what_is_expected() -> None:
    task = generated(CodeRepair(), 0)
    asked = json.loads(asked_of(task.imports, task.checks))
    assert set(asked) == {"imports", "checks"} and all(set(one) == {"lines", "asks"} for one in asked["checks"])


def test_values_are_compared_type_by_type() -> None:
    assert outcome_of((1, "a")) == {"value": [1, "a"]} and outcome_of(object()) == {"odd": "object"}
    assert outcome_of(float("nan")) == {"odd": "float"} and json.dumps(outcome_of(True)) != json.dumps(outcome_of(1))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"kinds": []}, "give at least one"),
        ({"packages": ["stok"]}, "there is no 'stok'; there are: caching, "),
        ({"hidden": 1}, "greater than or equal to 2"),
        ({"tests_deadline_s": 0}, "greater than 0"),
    ],
)
def test_wrong_options_are_told(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        CodeRepair.Options.model_validate(options)


def test_options_choose_packages_and_kinds() -> None:
    options = CodeRepair.Options(kinds=("comparison",), packages=("gridwalk",), visible=0, hidden=4)
    tasks = [generated(CodeRepair(options), index) for index in range(3)]
    assert {task.kind for task in tasks} == {"comparison"} and all(len(task.checks) <= 4 for task in tasks)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"package": "json"}, "a module of Python's own library"),
        ({"package": "Shop"}, "String should match pattern"),
        ({"files": [{"path": "../shop/__init__.py", "text": ""}]}, "is not a relative path within the folder"),
        ({"files": [{"path": "shop/other.py", "text": ""}]}, "there is no shop/__init__.py"),
        ({"checks": [{"asks": "1", "expected": '{"is": 1}'}]}, "expected is"),
        ({"checks": []}, "at least 1 item"),
    ],
)
def test_wrong_rows_are_told(changed: dict[str, Any], told: str) -> None:
    row = {
        "package": "shop", "issue": "It fails.", "files": [{"path": "shop/__init__.py", "text": ""}],
        "checks": [{"asks": "1", "expected": '{"value": 1}'}],
    }  # fmt: skip
    CodeRepair().check(CodeRepairTask.model_validate(row))
    with pytest.raises(ValueError, match=told):
        CodeRepair().check(CodeRepairTask.model_validate({**row, **changed}))


def test_example_rows_are_tasks() -> None:
    rows = list(read_tasks(TasksSection(path=str(EXAMPLES)), CodeRepair(), 0, Path()))
    assert len(rows) == 5


@pytest.mark.parametrize("name", CONFIGS)
def test_configs_are_read(name: str) -> None:
    config = read_config(REPOSITORY / "configs" / f"{name}.yaml")
    assert config.environment.id == "code_repair" and config.sandbox.kind == "bubblewrap"
