"""Finds classes by name: the entry points of the project in the working directory, and the errors of missing ones."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from playing import Alone

from ray_gym import Options
from ray_gym.beside import VARIABLE
from ray_gym.errors import UserError
from ray_gym.hosting import import_paths as import_paths_module
from ray_gym.hosting.import_paths import as_variables, import_from, import_paths
from ray_gym.load_object import load_object
from ray_gym.plugins import ENVIRONMENT, construct, find_environment, left_out, names

ENTRY_POINTS = '[project.entry-points."ray_gym.environments"]\n'
MODULE = "from ray_gym import Environment\n\n\nclass Mine(Environment):\n    pass\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns an author's working directory, which is on the path as the command line has it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path


def test_a_project_that_is_not_installed(folder: Path) -> None:
    (folder / "mine_of_a_project.py").write_text(MODULE)
    (folder / "pyproject.toml").write_text(f'{ENTRY_POINTS}mine = "mine_of_a_project:Mine"\n')
    assert find_environment("mine").__name__ == "Mine"
    assert {"mine", "tic_tac_toe"} <= set(names(ENVIRONMENT))
    with pytest.raises(UserError, match="there is no environment 'min'; did you mean 'mine'"):
        find_environment("min")


def test_a_project_beside_the_config_that_is_not_installed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the working directory goes first; workers are told of the folder, and read it."""
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setenv(VARIABLE, "")
    (folder / "pyproject.toml").write_text(f'{ENTRY_POINTS}taken = "mine_above:Mine"\n')
    (folder / "mine_above.py").write_text(MODULE)
    for name in ("shop", "farm"):
        (folder / name).mkdir()
        (folder / name / f"mine_of_{name}.py").write_text(MODULE)
        named = "".join(f'{each} = "mine_of_{name}:Mine"\n' for each in (name, "taken"))
        (folder / name / "pyproject.toml").write_text(f"{ENTRY_POINTS}{named}")
    with pytest.raises(UserError, match=r"or a name in the pyproject\.toml of this folder or the config's$"):
        find_environment("shop")
    import_from(folder / "shop")
    assert find_environment("shop").__module__ == "mine_of_shop" and "shop" in names(ENVIRONMENT)
    assert find_environment("taken").__module__ == "mine_above"
    with pytest.raises(UserError, match="did you mean 'shop'"):
        find_environment("shopp")
    import_from(folder / "farm")
    assert {find_environment(name).__module__ for name in ("shop", "farm")} == {"mine_of_shop", "mine_of_farm"}
    assert as_variables()[VARIABLE].endswith(f"{folder / 'shop'}:{folder / 'farm'}")
    (folder / "farm" / "pyproject.toml").write_text("[project\n")
    with pytest.raises(UserError, match=r"farm/pyproject\.toml: can't read the entry points"):
        find_environment("farm")


@pytest.mark.parametrize("text", ["[tool.ruff]\n", "", '[project]\nname = "other"\n', ENTRY_POINTS.replace("env", "x")])
def test_projects_without_environments(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text)
    assert "tic_tac_toe" in names(ENVIRONMENT)


@pytest.mark.parametrize(
    "text", ["[project\n", "project = 3\n", "[project.entry-points]\n'ray_gym.environments' = 3\n"]
)
def test_projects_that_are_broken(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text)
    with pytest.raises(UserError, match=r"pyproject\.toml: can't read the entry points of this project: "):
        names(ENVIRONMENT)


def test_a_project_s_folder_in_the_place_of_its_package(folder: Path) -> None:
    (folder / "mine_and_mine" / "mine_and_mine").mkdir(parents=True)
    (folder / "mine_and_mine" / "mine_and_mine" / "__init__.py").write_text(MODULE)
    with pytest.raises(
        UserError, match=r"has no 'Mine', for it is a folder without __init__\.py \(.*mine_and_mine\): go"
    ):
        load_object("mine_and_mine:Mine", "environment.id")


def test_a_module_named_as_one_of_pythons_is_said_to_be_pythons(folder: Path) -> None:
    (folder / "calendar.py").write_text(MODULE)
    with pytest.raises(UserError, match=r"calendar has no 'Mine', for it is Python's own module of that name: rename"):
        load_object("calendar:Mine", "environment.id")


def test_an_import_that_fails_within_a_module_has_its_place(folder: Path) -> None:
    (folder / "importer_of_a_test.py").write_text("\nimport missing_of_a_test\n")
    told = r"can't import importer_of_a_test: No module named 'missing_of_a_test' \(importer_of_a_test\.py:2\)$"
    with pytest.raises(UserError, match=told):
        load_object("importer_of_a_test:Mine", "environment.id")


def test_pythons_own_tests_are_said_to_be_pythons(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "test", raising=False)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if not (Path(path) / "test.py").exists()])
    with pytest.raises(UserError, match=r"test has no 'Mine', for it is Python's own module of that name: rename"):
        load_object("test:Mine", "environment.id")


def test_workers_get_no_relative_paths(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have another working directory."""
    monkeypatch.setenv("PYTHONPATH", "src::/elsewhere:.")
    assert import_paths() == [str(folder), str(folder / "src"), "/elsewhere"]


def test_workers_find_a_checkout_that_is_not_installed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After all other folders, for it has `tests`, `configs` and more, which a user's project may have, too."""
    monkeypatch.setattr(import_paths_module, "HERE", folder / "checkout")
    monkeypatch.setenv("PYTHONPATH", "/elsewhere")
    assert import_paths() == [str(folder), "/elsewhere", str(folder / "checkout")]


def test_a_package_envs_of_the_user_s(folder: Path) -> None:
    """Ours are there as well, nothing of theirs that has to do with something else is imported, and what fails is told by name."""
    (folder / "envs").mkdir()
    (folder / "envs" / "__init__.py").write_text("")
    (folder / "envs" / "mine.py").write_text(MODULE)
    (folder / "envs" / "tic_tac_toe.py").write_text(MODULE)
    (folder / "envs" / "broken.py").write_text("import ray_gym\nraise OSError('no game here')\n")
    (folder / "envs" / "training.py").write_text("raise SystemExit('training begins')\n")
    assert {"mine", "tic_tac_toe", "blackjack"} <= set(names(ENVIRONMENT))
    (folder / "envs" / "ending.py").write_text("import ray_gym\nraise SystemExit\n")
    assert {"training", "ending", "broken"}.isdisjoint(names(ENVIRONMENT))
    assert left_out(ENVIRONMENT) == {
        "envs.broken": "OSError: no game here (broken.py:2)",
        "envs.ending": "SystemExit (ending.py:2)",
    }
    assert find_environment("mine").__module__ == find_environment("envs.mine:Mine").__module__ == "envs.mine"
    assert find_environment("tic_tac_toe").__module__ == "ray_gym.envs.tic_tac_toe.environment"
    with pytest.raises(UserError, match=r"environment\.id: importing envs\.broken failed: .*no game here"):
        find_environment("broken")
    with pytest.raises(UserError, match=r"environment\.id: importing envs\.ending failed: SystemExit"):
        find_environment("envs.ending:Ending")


def test_names_of_before_are_found_unless_the_user_has_them(folder: Path) -> None:
    former = "envs.blackjack.players:basic_player"
    told = r"envs\.blackjack\.players is called ray_gym\.envs\.blackjack\.players now; change it, as 0\.4 removes"
    with pytest.warns(FutureWarning, match=told) as warned:
        assert load_object(former, "player") is load_object(f"ray_gym.{former}", "player")
    assert [warning.filename for warning in warned] == ["player"]
    (folder / "envs" / "blackjack").mkdir(parents=True)
    (folder / "envs" / "__init__.py").write_text("")
    (folder / "envs" / "blackjack" / "__init__.py").write_text("")
    (folder / "envs" / "blackjack" / "players.py").write_text("basic_player = 3\n")
    sys.modules.pop("envs", None)
    assert load_object(former, "player") == 3
    with pytest.raises(UserError, match=r"can't import envs\.nowhere"):
        load_object("envs.nowhere:Thing", "player")


def test_the_folders_of_the_checkout_are_imported_under_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else every file would be there twice, as two classes."""
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parents[1]), *sys.path])
    for name in ("envs", "deployments"):
        with pytest.raises(ImportError, match=f"the package ray_gym.{name}, not {name}"):
            importlib.import_module(name)


class Sized(Alone):
    class Options(Options):
        size: int = 1


class KeepsNone(Sized):
    def __init__(self, options: Options) -> None:
        self.opened = True


class KeepsDefaults(Sized):
    def __init__(self, options: Options) -> None:
        super().__init__()


class Doubles(Sized):
    def __init__(self, options: Sized.Options) -> None:
        super().__init__(options.model_copy(update={"size": 2 * options.size}))


@pytest.mark.parametrize("cls", [KeepsNone, KeepsDefaults])
def test_a_constructor_that_keeps_no_options_is_refused(cls: type[Sized]) -> None:
    told = rf"environment.id: x: {cls.__name__}.__init__ \(test_plugins.py:\d+\) does not call super"
    with pytest.raises(UserError, match=told):
        construct(cls, Sized.Options(size=3), "environment.id: x")


def test_a_constructor_may_change_options_and_leave_out_defaults() -> None:
    assert construct(Doubles, Sized.Options(size=3), "x").options.size == 6
    assert construct(KeepsDefaults, Sized.Options(), "x").options.size == 1
