"""Checks that modules beside a config are found, and that modules which hide Python's are told."""

from __future__ import annotations

import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from ray_gym.agents.python import Python, PythonOptions
from ray_gym.beside import VARIABLE, _refuse_other, refuse_hidden
from ray_gym.errors import EpisodeFailure, UserError
from ray_gym.hosting.import_paths import (
    as_variables,
    beside_configs,
    hidden_modules,
    import_from,
    import_paths,
    refuse_hidden_modules,
)
from ray_gym.installed.configs import FOLDER
from ray_gym.installed.place import PACKAGE
from ray_gym.load_object import load_object
from ray_gym.run.cluster.cluster import _for_workers
from ray_gym.tools.isolated import process_slots
from ray_gym.tools.library import Libraries


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns a folder with a module, which is neither the working directory nor on the import path."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "nego_of_a_test.py").write_text("VALUE = 7\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.delitem(sys.modules, "nego_of_a_test", raising=False)
    return folder


def test_a_module_beside_the_config_is_found_here_and_by_workers(elsewhere: Path) -> None:
    sys.path.append("__editable__.ray_gym-0.2.0.finder.__path_hook__")
    with pytest.raises(UserError, match=r"can't import nego_of_a_test: .*; it is in none of the folders ") as told:
        load_object("nego_of_a_test:VALUE", "environment.id")
    assert str(Path.cwd()) in str(told.value) and "__editable__" not in str(told.value)
    import_from(elsewhere)
    import_from(elsewhere)
    assert load_object("nego_of_a_test:VALUE", "environment.id") == 7
    assert sys.path.count(str(elsewhere)) == 1 and import_paths().count(str(elsewhere)) == 1
    assert str(elsewhere) in as_variables()["PYTHONPATH"].split(os.pathsep)
    assert import_paths().index(str(elsewhere)) > import_paths().index(str(Path.cwd()))


@pytest.mark.parametrize(
    ("helped", "importing"),
    [("hidden_of_a_test", ""), ("user_of_a_test", "def f():\n    from hidden_of_a_test import VALUE\n")],
)
def test_a_module_beside_the_config_that_the_current_folder_hides_is_refused(
    elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, helped: str, importing: str
) -> None:
    """The module may also be imported by one that is found, and in a function only, which runs when episodes are
    played.
    """
    (elsewhere / "hidden_of_a_test.py").write_text("VALUE = 1\n")
    if importing:
        (elsewhere / f"{helped}.py").write_text(importing)
    here = tmp_path / "here"
    here.mkdir()
    (here / "hidden_of_a_test.py").write_text("VALUE = 2\n")
    monkeypatch.chdir(here)
    sys.path.insert(0, str(here))
    import_from(elsewhere)
    told = (
        rf"^environment.id: {elsewhere}/hidden_of_a_test.py, .*, {here}/hidden_of_a_test.py: start from .*{elsewhere},"
    )
    with pytest.raises(UserError, match=told):
        load_object(f"{helped}:VALUE", "environment.id")
    assert helped not in sys.modules
    (here / "hidden_of_a_test.py").write_text("VALUE = 1\n")  # a copy does no harm
    refuse_hidden(helped, "environment.id")


@pytest.fixture
def twice(elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Starts in a folder that hides modules which a config's folder has, and returns the latter."""
    for folder, value in ((elsewhere, 1), (tmp_path / "here", 2)):
        (folder / "kit_of_a_test").mkdir(parents=True)
        (folder / "kit_of_a_test" / "mine.py").write_text(f"VALUE = {value}\n")
        (folder / "twice_of_a_test.py").write_text(f"def check():\n    return {value}\n")
    monkeypatch.chdir(tmp_path / "here")
    sys.path.insert(0, str(tmp_path / "here"))
    return elsewhere


async def test_names_in_texts_are_refused_here_and_in_workers(twice: Path) -> None:
    """A worker's processes know a config's folder by the variable."""
    libraries = Libraries(process_slots())
    try:
        assert await libraries.call("twice_of_a_test:check", "[]", 10, None) == ("2", None)
        await libraries.close()
        import_from(twice)
        libraries = Libraries(process_slots())
        with pytest.raises(
            EpisodeFailure, match=r"project/twice_of_a_test\.py, .*here/twice_of_a_test\.py: start from"
        ):
            await libraries.call("twice_of_a_test:check", "[]", 10, None)
    finally:
        await libraries.close()
    with pytest.raises(UserError, match=r"agent\.python: .*project/twice_of_a_test\.py, .*here/twice_of_a_test\.py"):
        Python(PythonOptions(python="twice_of_a_test:check"))


def test_an_agents_own_folder_goes_first_for_what_it_imports(twice: Path) -> None:
    (twice / "agent_of_a_test.py").write_text("import twice_of_a_test\n")
    import_from(twice)
    assert Python(PythonOptions(python="agent_of_a_test:play")).reads()[0] == twice / "agent_of_a_test.py"


def test_workers_get_the_configs_folder_where_a_name_is_there_twice(twice: Path) -> None:
    """The variable is left out else: Ray starts new workers for it."""
    assert beside_configs() == {} and "job_config" in _for_workers({})
    import_from(twice)
    assert beside_configs() == {VARIABLE: os.pathsep.join([str(Path.cwd()), str(twice)])}
    assert as_variables().items() >= beside_configs().items()
    assert _for_workers({}) == {"runtime_env": {"env_vars": as_variables()}}
    (twice / "twice_of_a_test.py").unlink()
    assert beside_configs(), "a folder with modules is there twice, too"
    (twice / "kit_of_a_test" / "mine.py").unlink()
    assert beside_configs() == {}


def test_packages_and_their_relative_imports_are_looked_at(
    elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder, value in ((elsewhere, 1), (tmp_path / "here", 2)):
        (folder / "pack_of_a_test").mkdir(parents=True)
        (folder / "pack_of_a_test" / "__init__.py").write_text("from .deep import VALUE\n")
        (folder / "pack_of_a_test" / "deep.py").write_text(f"VALUE = {value}\n")
    monkeypatch.chdir(tmp_path / "here")
    sys.path.insert(0, str(tmp_path / "here"))
    import_from(elsewhere)
    with pytest.raises(UserError, match=r"project/pack_of_a_test/deep\.py, .*here/pack_of_a_test/deep\.py"):
        refuse_hidden("pack_of_a_test", "environment.id")


def test_the_folder_of_ready_configs_is_left_out(elsewhere: Path) -> None:
    import_from(FOLDER)
    assert str(FOLDER) not in sys.path


@pytest.mark.parametrize("name", ["glob.py", "types.py", "logging/__init__.py", "select.py"])
def test_a_module_that_hides_pythons_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("")
    hidden = tmp_path / name.partition("/")[0]
    assert hidden_modules(tmp_path) == [hidden]
    with pytest.raises(UserError, match="it hides Python's own module"):
        refuse_hidden_modules(tmp_path)


def test_the_remedy_is_of_the_folder_that_hides(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("")
    with pytest.raises(UserError, match="rename it, or move the config into another folder"):
        import_from(tmp_path)
    with pytest.raises(UserError, match="rename it, or start from another folder"):
        refuse_hidden_modules(tmp_path)


BUILT_ON = ["numpy.py", "google.py", "yaml.py", "pydantic/__init__.py", "ray_gym/__init__.py", "aiohttp.py"]
OF_RAY_SERVE = ["starlette.py", "fastapi.py", "grpc.py", "uvicorn/__init__.py", "jinja2.py"]
OF_EXTRAS = ["vllm.py", "torch.py", "transformers/__init__.py", "mcp.py"]


@pytest.mark.parametrize("name", [*BUILT_ON, *OF_RAY_SERVE, *OF_EXTRAS])
def test_a_module_that_hides_one_of_what_we_are_built_on_is_told(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("")
    stem = Path(name.partition("/")[0]).stem
    if name in OF_EXTRAS and find_spec(stem) is None:
        pytest.skip(f"{stem} is not installed")
    with pytest.raises(
        UserError, match=f"{stem}.*: it hides the module {stem}, which ray_gym needs, from Ray's processes"
    ):
        import_from(tmp_path)
    assert str(tmp_path) not in sys.path


def test_our_own_folder_hides_nothing() -> None:
    assert not [path for path in hidden_modules(PACKAGE.parent) if path.name == "ray_gym"]


def test_other_modules_and_folders_hide_nothing(tmp_path: Path) -> None:
    for name in ("mine.py", "test/__init__.py", "email/notes.txt", "envs/__init__.py", "Glob.py", "pytest.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    refuse_hidden_modules(tmp_path)


def test_a_module_beside_the_config_that_an_installed_one_hides_is_to_be_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pydantic.py").write_text("x = 1")
    for folder, remedy in ((tmp_path, "rename it"), (tmp_path.parent, f"start from the folder {tmp_path}, or rename")):
        monkeypatch.chdir(folder)
        with pytest.raises(UserError, match=rf"is hidden by another module of that name, .*: {re.escape(remedy)}"):
            _refuse_other(tmp_path / "pydantic.py", tmp_path, "pydantic", "environment.id")
