"""CONTRIBUTING.md shows the rooms that there are, on the floors that the contracts hold."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def rooms() -> set[str]:
    return {folder.name for folder in (ROOT / "ray_gym").iterdir() if (folder / "__init__.py").is_file()}


def drawn_floors() -> list[set[str]]:
    [picture] = re.findall(r"```mermaid\n(.*?)```", PAGE, re.DOTALL)
    floors = re.findall(r"^  subgraph (f\d+).*?\n(.*?)^  end$", picture, re.DOTALL | re.MULTILINE)
    order = re.findall(r"f\d+", picture.splitlines()[-1])
    assert [name for name, _ in floors] == order
    return [set(re.findall(r"^    (\w+)\[", nodes, re.MULTILINE)) for _, nodes in floors]


def test_the_map_has_the_rooms_that_there_are() -> None:
    assert set().union(*drawn_floors()) == rooms()


def test_the_map_has_the_floors_that_lint_holds() -> None:
    [contract] = [
        contract
        for contract in PROJECT["tool"]["importlinter"]["contracts"]
        if contract["type"] == "layers" and contract.get("containers") == ["ray_gym"]
    ]
    floors = [{name.strip() for name in floor.split("|")} & rooms() for floor in contract["layers"]]
    assert drawn_floors() == [floor for floor in floors if floor]


def test_files_that_the_page_names_are_there() -> None:
    named = set(re.findall(r"`((?:ray_gym|tests|envs|configs|docs|cluster|\.ci)/[\w./-]*)`", PAGE))
    assert len(named) > 15
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
