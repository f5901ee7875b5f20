"""Checks `ray-gym new-env`: its files pass their own tests and are clean, and what it refuses leaves nothing behind.

Not here: `ray-gym check-env` on what was written.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ray_gym.errors import UserError
from ray_gym.scaffold import PATTERNS, write_environment

REPOSITORY = Path(__file__).parents[2]
VARIABLES = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
ALL_PATTERNS = pytest.mark.parametrize(
    "pattern",
    [
        pattern if pattern == "single-step" else pytest.param(pattern, marks=pytest.mark.packaging)
        for pattern in PATTERNS
    ],
)
"""One pattern in the gate, the others in a part."""
NAMES = {pattern: f"made_{pattern.replace('-', '_')}" for pattern in PATTERNS}


def run(folder: Path, *command: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Runs a module's command, as an author runs it in the new folder."""
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env=VARIABLES,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with one environment of each pattern."""
    parent = tmp_path_factory.mktemp("made")
    for pattern, name in NAMES.items():
        write_environment(name, parent, pattern)
    return parent


@pytest.mark.packaging
@ALL_PATTERNS
def test_its_own_tests_pass(made: Path, pattern: str) -> None:
    done = run(made / NAMES[pattern], "pytest", "-q", "-p", "no:cacheprovider")
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout + done.stderr


def test_they_are_linted_and_formatted(made: Path) -> None:
    for name in NAMES.values():
        linted, formatted = run(made / name, "ruff", "check", "."), run(made / name, "ruff", "format", "--check", ".")
        assert linted.returncode == 0, linted.stdout
        assert formatted.returncode == 0, formatted.stdout


@pytest.mark.packaging
def test_their_types_hold(made: Path) -> None:
    """Checks the types of all environments at once, since reading ray_gym takes most of the time."""
    config = made / NAMES["multi-turn"] / "pyproject.toml"
    roots = [str(made / name) for name in NAMES.values()]
    files = [*(f"{made / name / name}" for name in NAMES.values()), *map(str, made.glob("*/tests/*.py"))]
    variables = {**VARIABLES, "MYPYPATH": os.pathsep.join(roots)}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", f"--config-file={config}", "--explicit-package-bases", *files],
        cwd=made,
        env=variables,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0 and "no issues found in 12 source files" in done.stdout, done.stdout + done.stderr


@pytest.mark.packaging
@pytest.mark.parametrize("pattern", PATTERNS)
def test_its_configs_can_be_played(made: Path, pattern: str) -> None:
    name = NAMES[pattern]
    from_file = (f"environment.id={name}", "tasks.generate=null", f"tasks.path={name}/example.jsonl")
    scripted = run(made / name, "ray_gym", "config", "config.yaml", *from_file)
    small_model = run(made / name, "ray_gym", "config", "small_model.yaml")
    assert scripted.stdout.endswith("# 10 episodes\n"), scripted.stderr
    assert small_model.stdout.endswith("# 16 episodes\n"), small_model.stderr


@pytest.mark.packaging
def test_the_command_lists_what_it_wrote_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    done = run(tmp_path, "ray_gym", "new-env", "sums", "--dir", "mine", "--pattern", "single-step")
    assert done.returncode == 0, done.stderr
    written = {
        str(path.relative_to(tmp_path / "mine/sums")) for path in (tmp_path / "mine").rglob("*") if path.is_file()
    }
    assert written == {line.strip() for line in done.stdout.split("try it:")[0].splitlines()[1:]}
    assert {"sums/environment.py", "sums/example.jsonl", "tests/test_sums.py", "config.yaml", ".gitignore"} < written
    assert "$" not in "".join(path.read_text() for path in (tmp_path / "mine/sums").glob("*.*"))
    assert "cd mine/sums\n  python -m pytest\n  ray-gym rollout config.yaml" in done.stdout
    listed = run(tmp_path / "mine/sums", "ray_gym", "envs").stdout
    assert "sums " in listed and "Add up a few numbers." in listed


def test_what_is_installed_has_every_file(tmp_path: Path) -> None:
    """By what setuptools puts into a wheel; in a copy, for it writes beside pyproject.toml."""
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / file, tmp_path)
    shutil.copytree(REPOSITORY / "ray_gym", tmp_path / "ray_gym", ignore=shutil.ignore_patterns("__pycache__"))
    build = [sys.executable, "-c", "import setuptools; setuptools.setup()", "-q", "build_py", "--build-lib", "built"]
    subprocess.run(build, cwd=tmp_path, capture_output=True, check=True, timeout=60)
    wanted, built = (
        {path.relative_to(folder) for path in (folder / "ray_gym").rglob("*") if path.is_file()}
        for folder in (tmp_path, tmp_path / "built")
    )
    assert wanted == built
    assert {"py.typed", "configs/pairs/vllm_and_vllm.yaml", "grafana/ray_gym.json", "envs/math/README.md"} <= {
        str(path.relative_to("ray_gym")) for path in built
    }


NOT_NAMES = {
    "Shop Stock": "'Shop Stock' is no name of a package; take lower-case letters, digits and single underscores, "
    "for example shop_stock",
    "2048": "'2048' is no name of a package; take lower-case letters, digits and single underscores",
    "a-b": "for example a_b",
    "_hidden": "for example hidden",
    "../up": "for example up",
    "größe": "is no name of a package",
    "": "is no name of a package",
    "lambda": "lambda is a word of Python",
    "calendar": "calendar is a word of Python, or a module of its library",
    "tests": "tests is what another folder of a project is called",
    "tic_tac_toe": "there is an environment tic_tac_toe already",
    "pydantic": "there is a module pydantic already, at ",
    "ray_gym": "there is a module ray_gym already, at ",
}


@pytest.mark.parametrize("name", NOT_NAMES)
def test_names_that_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError) as refused:
        write_environment(name, tmp_path / "new" if not name else tmp_path, "multi-step")
    assert NOT_NAMES[name] in str(refused.value)
    assert not list(tmp_path.iterdir())


def test_other_things_that_are_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for name in ("taken", "file", "link"):
        with pytest.raises(UserError, match="there is such a folder or file already"):
            write_environment(name, tmp_path, "multi-step")
    with pytest.raises(UserError, match=r"--dir: there is no folder .*absent; make it first"):
        write_environment("sums", tmp_path / "absent", "multi-step")
    with pytest.raises(UserError, match="--pattern: there is no 'multi'; known: single-step, multi-step, multi-turn"):
        write_environment("sums", tmp_path, "multi")
    assert (tmp_path / "file").read_text() == "mine" and not list((tmp_path / "taken").iterdir())
    assert {path.name for path in tmp_path.iterdir()} == {"taken", "file", "link"}


@pytest.mark.packaging
def test_a_disk_that_is_full_leaves_nothing_behind(tmp_path: Path) -> None:
    """Files of this process may have 600 bytes: pyproject.toml has more."""
    command = [sys.executable, "-B", "-m", "ray_gym", "new-env", "sums"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=VARIABLES,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (600, 600)),
    )
    assert done.returncode == 2 and "--dir: can't write sums: File too large" in done.stderr, done.stderr
    assert not list(tmp_path.iterdir())
