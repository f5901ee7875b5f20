"""Builds wheels, and makes fresh environments that have one installed and nothing of the checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from conftest import PATIENT, REPOSITORY

VERSIONS = ("3.11", "3.12", "3.13")
INSTALL_S = 1500
PLAY_S = 280
OWN = f"{sys.version_info[0]}.{sys.version_info[1]}"
"""The Python of the tests themselves."""


@dataclass(frozen=True, slots=True)
class Installation:
    """An installation is a venv. Its commands have nothing of this process's environment about Python or Ray."""

    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    @property
    def ray_gym(self) -> str:
        return str(self.folder / "bin" / "ray-gym")

    def environment(self, **more: str) -> dict[str, str]:
        left_out = ("PYTHON", "PYTEST_", "RAY_", "VIRTUAL_ENV")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
        cache = {name: value for name, value in os.environ.items() if name == "RAY_GYM_CACHE"}
        return {**kept, **cache, **PATIENT, "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}", **more}

    def run(self, folder: Path, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Runs a command in a folder, and gives its code and what it said."""
        return subprocess.run(
            command,
            cwd=folder,
            env=self.environment(**more),
            capture_output=True,
            text=True,
            timeout=PLAY_S,
            check=False,
        )

    def borrow(self, packages: Path) -> None:
        """Lets it import what it has not itself from another folder of packages. Of links in there to projects it sees nothing."""
        site = next((self.folder / "lib").glob("python3.*")) / "site-packages"
        (site / "borrowed.pth").write_text(f"{packages}\n")


def interpreter(version: str) -> str | None:
    """Finds an interpreter that starts: of `RAY_GYM_PYTHONS` (paths with colons between them), or by its name."""
    given = os.environ.get("RAY_GYM_PYTHONS", "").split(os.pathsep)
    names = [name for name in (*given, sys.executable, shutil.which(f"python{version}")) if name]
    return next((name for name in names if _version(name) == version), None)


def _version(python: str) -> str | None:
    """Asks an interpreter. A shim may be there and fail."""
    ask = [python, "-c", "import sys; print(*sys.version_info[:2], sep='.')"]
    try:
        return subprocess.run(ask, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None


def copy_of_checkout(folder: Path) -> Path:
    """Copies what git knows of, as it is now, links as links."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in filter(None, names):
        if (REPOSITORY / name).is_symlink() or (REPOSITORY / name).exists():  # else it is about to be removed
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, folder / name, follow_symlinks=False)
    return folder


def build_wheel(folder: Path) -> Path:
    """Builds the wheel of this checkout, with the viewer's page in it."""
    source = copy_of_checkout(folder / "source")
    (source / ".venv").symlink_to(sys.prefix)  # brings a Node where there is none
    subprocess.run(["make", "viewer"], cwd=source, check=True, timeout=300, capture_output=True)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*build, "--wheel-dir", str(folder), "."], cwd=source, check=True, timeout=300, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, python: str, folder: Path) -> Installation:
    """Installs the wheel alone into a fresh venv, what it depends on in the versions of the lock."""
    constraints = folder.parent / f"{folder.name}.txt"
    pins = re.findall(r"^[\w.-]+==\S+", (REPOSITORY / "requirements.lock").read_text(), re.MULTILINE)
    constraints.write_text("\n".join(pins))
    subprocess.run([python, "-m", "venv", str(folder)], check=True, timeout=120)
    made = Installation(folder)
    pip = [made.python, "-m", "pip", "install", "--quiet", "--constraint", str(constraints), str(wheel)]
    subprocess.run(pip, check=True, timeout=INSTALL_S, capture_output=True)
    return made


def packages_with(module: str) -> Path | None:
    """Returns the folder of this process's packages that has a module; None if there is none."""
    spec = find_spec(module)
    return Path(spec.origin).parents[1] if spec is not None and spec.origin is not None else None
