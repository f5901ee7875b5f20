"""Configs are found by their names, and a file of the user's goes first."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from conftest import REPOSITORY

from ray_gym.errors import UserError
from ray_gym.installed.configs import FOLDER, find_config, ready_configs

READY = {config.name: config for config in ready_configs()}
PATHS = ("path", "file", "chat_template", "tokenizer")
"""Keys whose values may be paths."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def paths_in(node: object) -> list[str]:
    if isinstance(node, dict):
        own = [value for key, value in node.items() if key in PATHS and isinstance(value, str)]
        return own + [path for value in node.values() for path in paths_in(value)]
    return [path for item in node for path in paths_in(item)] if isinstance(node, list) else []


def test_all_of_the_repository_have_names() -> None:
    files = [path.relative_to(REPOSITORY / "configs") for path in (REPOSITORY / "configs").rglob("*.yaml")]
    assert set(READY) == {path.with_suffix("").as_posix() for path in files} and len(READY) > 25


@pytest.mark.parametrize("name", READY)
def test_each_is_told_in_a_line(name: str) -> None:
    summary = READY[name].summary
    assert summary.endswith(".") and "\n" not in summary and 20 < len(summary) < 200


@pytest.mark.parametrize("name", READY)
def test_a_copy_says_the_same_and_finds_its_files_from_elsewhere(name: str) -> None:
    copy, original = READY[name].copy(), READY[name].path.read_text()
    assert copy.startswith(f"# A copy of the config {name} of ray_gym ")
    read = yaml.safe_load(copy)
    paths = [path for path in paths_in(read) if "${" not in path]
    assert all(Path(path).is_absolute() and Path(path).is_file() for path in paths)
    before = yaml.safe_load(original)
    for each in (read, before):
        each["tasks"].pop("path", None)
    assert read == before


def test_a_relative_path_is_found_beside_the_config_itself() -> None:
    given = yaml.safe_load(READY["nemo_gym"].path.read_text())["tasks"]["path"]
    assert (READY["nemo_gym"].path.parent / given).is_file()


def test_names_and_files(folder: Path) -> None:
    assert find_config(Path("tic_tac_toe")) == FOLDER / "tic_tac_toe.yaml"
    assert find_config(Path("pairs/vllm_and_vllm")) == FOLDER / "pairs" / "vllm_and_vllm.yaml"
    (folder / "configs" / "pairs").mkdir(parents=True)
    (folder / "configs" / "tic_tac_toe.yaml").write_text("")
    (folder / "configs" / "__init__.py").write_text("")
    (folder / "tic_tac_toe").mkdir()
    assert find_config(Path("tic_tac_toe")) == FOLDER / "tic_tac_toe.yaml", "folders are no configs"
    assert find_config(Path("configs/tic_tac_toe.yaml")) == Path("configs/tic_tac_toe.yaml")
    (folder / "blackjack").write_text("")
    assert find_config(Path("blackjack")) == Path("blackjack"), "a file of this very path goes first"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("tic_tac_to", "no config of this name; did you mean 'tic_tac_toe'? `ray-gym configs` lists"),
        ("zzzz", "no config of this name; `ray-gym configs` lists those that come with ray_gym"),
        ("configs/tic_tac_toe.yaml", "no such config file; did you mean the config 'tic_tac_toe'?"),
        ("configs/pairs/vllm_and_vllm.yaml", "did you mean the config 'pairs/vllm_and_vllm'?"),
        ("math.yaml", "no such config file; did you mean the config 'math'?"),
    ],
)
def test_what_is_not_there(given: str, told: str) -> None:
    with pytest.raises(UserError) as refused:
        find_config(Path(given))
    assert str(refused.value).startswith(f"{given}: there is no such config file") and told in str(refused.value)


@pytest.mark.parametrize("written", ["mine.yaml", "mine.yml", "tic_tac_to.yaml", "shops/mine.yaml"])
def test_a_name_without_the_suffix_of_its_file(folder: Path, written: str) -> None:
    (folder / "shops").mkdir()
    (folder / written).write_text("")
    given = Path(written).with_suffix("")
    with pytest.raises(UserError, match=f"^{given}: there is no such config file; did you mean {written}\\?$"):
        find_config(given)


def test_other_files_are_for_their_reader_to_miss() -> None:
    assert find_config(Path("mine.yaml")) == Path("mine.yaml")
