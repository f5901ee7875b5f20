"""Gives each piece of a config on docs/models.md to its engines, and holds the page's tables against what there is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import REPOSITORY
from pages import blocks

from ray_gym.config.file import read_config
from ray_gym.plugins import ENGINE, names
from ray_gym.run.plan import engines_of, make_environment, participants_of

PAGE = REPOSITORY / "docs" / "models.md"
PIECES: list[dict[str, Any]] = [yaml.safe_load(piece) for piece in blocks(PAGE, "yaml")]
ONE, TWO = {"id": "mcqa"}, {"id": "tic_tac_toe"}


@pytest.mark.parametrize("piece", PIECES, ids=lambda piece: ",".join(piece["models"]))
def test_a_piece_of_a_config_is_taken(piece: dict[str, Any], tmp_path: Path) -> None:
    environment = TWO if "user" in piece["participants"] else ONE
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump({"environment": environment, "tasks": {"generate": 1}, **piece}))
    config = read_config(path, [])
    participants = participants_of(config, make_environment(config, str(path)), str(path))
    assert set(engines_of(config, participants, str(path))) == set(piece["models"])


def test_the_table_has_every_engine() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)) - {"engine"} == set(names(ENGINE))


def test_the_table_of_pairs_has_every_pair() -> None:
    shown = re.findall(r"^\| `(configs/pairs/\w+\.yaml)` \|", PAGE.read_text(), re.MULTILINE)
    assert {REPOSITORY / name for name in shown} == set((REPOSITORY / "configs" / "pairs").glob("*.yaml"))
