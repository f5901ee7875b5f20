"""Writes a new environment from the templates in the folder of this module: plain files with $placeholders."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from string import Template

from ray_gym.errors import UserError, refused_writes
from ray_gym.scaffold.names import check_name, prefix_of

PATTERNS: Mapping[str, str] = {
    "single-step": "Add up a few numbers.",
    "multi-step": "Bring the stock of a shop to what is wanted.",
    "multi-turn": "Book a table in a restaurant for a user who says what it is asked for.",
}
"""One sentence about the example environment of each pattern."""
TARGETS: Mapping[str, str] = {
    "pyproject.toml": "pyproject.toml",
    "gitignore": ".gitignore",
    "README.md": "README.md",
    "config.yaml": "config.yaml",
    "small_model.yaml": "small_model.yaml",
    "package.py": "$name/__init__.py",
    "py.typed": "$name/py.typed",
    "environment.py": "$name/environment.py",
    "players.py": "$name/players.py",
    "example.jsonl": "$name/example.jsonl",
    "test.py": "tests/test_$name.py",
}
"""Paths of the written files in the new folder, by template."""


@dataclass(frozen=True, slots=True)
class Written:
    """Holds the folder of a new environment, and the paths in it of the files that were written."""

    folder: Path
    files: tuple[str, ...]


def write_environment(name: str, parent: Path, pattern: str) -> Written:
    """Writes the files of a new environment to the new folder `name` in `parent`, and returns their paths. `pattern`:
    key of `PATTERNS`.

    Errors: UserError for an unknown pattern, a wrong name, a missing `parent`, a folder that exists, or one that can't
    be written. After an error nothing is left.
    """
    if pattern not in PATTERNS:
        raise UserError(f"--pattern: there is no {pattern!r}; known: {', '.join(PATTERNS)}")
    folder = parent / name
    if folder.exists() or folder.is_symlink():
        raise UserError(f"{folder}: there is such a folder or file already; choose another name, or another --dir")
    check_name(name)
    if not parent.is_dir():
        raise UserError(f"--dir: there is no folder {parent}; make it first")
    texts = _texts(name, pattern)
    with refused_writes("--dir", folder):
        folder.mkdir()
        try:
            for target, text in texts.items():
                (folder / target).parent.mkdir(exist_ok=True)
                (folder / target).write_text(text, "utf-8")
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    return Written(folder, tuple(texts))


def _texts(name: str, pattern: str) -> dict[str, str]:
    """Returns the texts of the files, by their paths in the new folder."""
    fields = {"name": name, "prefix": prefix_of(name), "pattern": pattern, "summary": PATTERNS[pattern]}
    fields["rules"] = _fill(_template(pattern, "rules.md"), fields).rstrip()
    return {_fill(target, fields): _fill(_template(pattern, template), fields) for template, target in TARGETS.items()}


def _template(pattern: str, name: str) -> str:
    """Returns the text of a template: the pattern's own, or else the one that all patterns share."""
    templates = files("ray_gym.scaffold") / "templates"
    own = templates / pattern / f"{name}.template"
    return (own if own.is_file() else templates / "common" / f"{name}.template").read_text("utf-8")


def _fill(text: str, fields: Mapping[str, str]) -> str:
    return Template(text).substitute(fields)
