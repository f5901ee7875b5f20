"""Makes the venvs of trainers in the cache folder, each from the lock beside its recipe.

    python .ci/trainer_venv.py NAME [NAME ...]
    python .ci/trainer_venv.py --all

A venv is made once for a lock: the file `lock.sha256` in it has the digest of the lock that it was made from. Prints
the Python of each venv. Exit codes: 0 done, 1 a venv could not be made, 2 a trainer without a lock.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import venv
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
RECIPES = REPOSITORY / "examples" / "trainers"
LOCK, STAMP = "requirements.lock", "lock.sha256"
CHECKOUTS = {"slime": "RAY_GYM_SLIME"}
"""Variables that name a checkout of a trainer that has no lock here, by its name."""
LATER_PYTHON = "later_python.txt"
"""File beside the lock of a trainer that asks for a later Python than this one, and whose classes load here. It says why."""
TORCH = REPOSITORY / "requirements-torch.lock"
"""File with the build of torch for CPUs, which PyTorch's own index has. Each lock has its other requirements."""
TORCH_INDEX = os.environ.get("TORCH_INDEX") or "https://download.pytorch.org/whl/cpu"


def main(arguments: list[str]) -> int:
    """Makes the venvs, and returns the exit code."""
    known = names()
    wanted = known if arguments == ["--all"] else arguments
    if not wanted or (unknown := [name for name in wanted if name not in known]):
        said = f"there is no trainer {unknown[0]!r}" if wanted else "which trainer"
        if wanted and unknown[0] in CHECKOUTS:
            said = f"{unknown[0]} is no package: give its tests a checkout by {CHECKOUTS[unknown[0]]}=DIR"
        print(f"{said}: make trainer NAME=... with one of {', '.join(known)}", file=sys.stderr)
        return 2
    failed = [name for name in wanted if not make(name)]
    if failed:
        print(f"no venv could be made for: {', '.join(failed)}; see above", file=sys.stderr)
    return 1 if failed else 0


def names() -> list[str]:
    """Returns the names of the trainers that have a lock."""
    return sorted(lock.parent.name for lock in RECIPES.glob(f"*/{LOCK}"))


def folder_of(name: str) -> Path:
    """Returns the folder of a trainer's venv."""
    cache = os.environ.get("RAY_GYM_CACHE") or Path.home() / ".cache" / "ray_gym"
    return Path(cache) / "trainers" / name


def digest_of(name: str) -> str:
    """Returns the digest of all that a trainer's venv is made from."""
    return hashlib.sha256((RECIPES / name / LOCK).read_bytes() + TORCH.read_bytes()).hexdigest()


def is_made(name: str) -> bool:
    """Says whether a trainer's venv is there, and of its present lock."""
    stamp = folder_of(name) / STAMP
    return stamp.exists() and stamp.read_text().strip() == digest_of(name)


def make(name: str) -> bool:
    """Makes the venv of a trainer unless it is there, and says whether it is."""
    folder = folder_of(name)
    python = folder / "bin" / "python"
    if not is_made(name):
        print(f"{name}: {folder}", flush=True)
        venv.create(folder, clear=True, symlinks=True, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps"]
        torch = [*install, "--extra-index-url", TORCH_INDEX, "-r", str(TORCH)]
        others = [*install, "--require-hashes", "-r", str(RECIPES / name / LOCK)]
        if (RECIPES / name / LATER_PYTHON).exists():
            others.append("--ignore-requires-python")
        if any(subprocess.run(command, check=False).returncode for command in (torch, others)):
            return False
        (folder / STAMP).write_text(digest_of(name) + "\n")
    print(python, flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
