"""Checks what the command line says if it can't even be imported."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest
from conftest import REPOSITORY

from ray_gym import cli


@pytest.mark.parametrize("name", ["yaml", "json", "dataclasses", "calendar", "typing", "random", "importlib"])
def test_a_module_that_hides_one_of_ours_is_named_also_by_python_m(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text("")
    command = [sys.executable, "-m", "ray_gym", "rollout", "tic_tac_toe_scripted"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"ray-gym: {tmp_path / name}.py: it hides ")


@pytest.mark.parametrize("name", ["google.py", "google/__init__.py"])
def test_a_module_that_hides_a_package_of_several_owners_is_named_though_the_folder_comes_last(
    tmp_path: Path, name: str
) -> None:
    """Python prefers any module, also of a later folder, to a package that has no file of its own."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("")
    (tmp_path / "c.yaml").write_text((REPOSITORY / "configs" / "tic_tac_toe_scripted.yaml").read_text("utf-8"))
    command = [
        sys.executable,
        "-c",
        "import sys; sys.path.remove(''); from ray_gym.cli import main; main()",
        "config",
        "c.yaml",
    ]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith(f"ray-gym: {tmp_path / name.partition('/')[0]}: it hides the module google")


def test_a_fault_of_ours_is_told_though_the_packages_are_below_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails() -> None:
        raise RuntimeError("an internal bug")

    monkeypatch.setattr("ray_gym.cli.app.main", fails)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.chdir(sys.prefix)
    before = {
        name for name, module in sys.modules.items() if "site-packages" in (getattr(module, "__file__", "") or "")
    }
    with pytest.raises(RuntimeError, match="an internal bug"):
        cli.main()
    assert before and before <= sys.modules.keys()


def test_other_files_in_the_first_folder_do_no_harm(tmp_path: Path) -> None:
    for name in ("mine.py", "calendar.txt", "this.py"):
        (tmp_path / name).write_text("")
    (tmp_path / "typing").mkdir()
    command = [sys.executable, "-m", "ray_gym", "--version"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    assert subprocess.run(command, cwd=tmp_path, env=environment, timeout=60, check=False).returncode == 0


SHOP = """
from ray_gym import *

class Shop(Environment[Task, None]):
    def generate(self, rng, index): return Task()
    def setup(self, task, episode): return None
    def opening(self, task, state): return Opening(messages={"policy": "hi"})
    def score(self, state, episode): return 1.0
"""


@pytest.mark.runs
@pytest.mark.parametrize("start", [("-m", "ray_gym"), ("-c", "from ray_gym.cli import main; main()")])
def test_a_module_that_hides_one_which_is_imported_late_goes_last(tmp_path: Path, start: Sequence[str]) -> None:
    (tmp_path / "ray.py").write_text("")
    (tmp_path / "shop.py").write_text(SHOP)
    command = [sys.executable, *start, "check-env", "shop:Shop", "--tasks", "1"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=90, check=False
    )
    assert "no perfect player of policy" in done.stdout and "is not a package" not in done.stderr


class _Interruption(MetaPathFinder):
    """Ends the import of one module as Ctrl-C would."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == "ray_gym.cli.app":
            raise KeyboardInterrupt
        return None


def test_an_interruption_of_the_imports_is_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "ray_gym.cli.app", raising=False)
    monkeypatch.setattr(sys, "meta_path", [_Interruption(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1 and capsys.readouterr().err == "ray-gym: interrupted\n"
