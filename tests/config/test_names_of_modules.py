"""Checks what is told about a name of a file where that of a module is expected."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from ray_gym.agents.python import PythonOptions
from ray_gym.errors import UserError
from ray_gym.load_object import load_object
from ray_gym.plugins import find_engine, find_environment


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "shelves").mkdir()
    for name in ("hintmath.py", "shelf_shop.py", "shelves/inner.py", "shelves/__init__.py"):
        (tmp_path / name).write_text("class Shop: ...\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ("shelf_shop.py:Shop", "shelf_shop:Shop"),
        ("./shelf_shop.py:Shop", "shelf_shop:Shop"),
        ("shelf_shop.py", "shelf_shop:NAME"),
        ("shelves/inner.py:Shop", "shelves.inner:Shop"),
        ("shelves/inner:Shop", "shelves.inner:Shop"),
        ("shelves\\inner.py:Shop", "shelves.inner:Shop"),
        ("shelves/__init__.py:Shop", "shelves:Shop"),
        ("../far.away/shop.py:Shop", "shop:Shop, and go to its folder, or install it"),
    ],
)
def test_a_file_is_told_as_its_module(written: str, right: str) -> None:
    told = f"environment.id: {written!r} names a file, and a module is expected, as package.module:name; write {right}"
    with pytest.raises(UserError) as caught:
        find_environment(written)
    assert str(caught.value) == told
    with pytest.raises(UserError) as caught:
        load_object(written, "environment.id")
    assert str(caught.value) == told


def test_a_whole_path_is_told_from_the_folder_of_modules(folder: Path) -> None:
    with pytest.raises(UserError, match=r"; write shelves\.inner:Shop$"):
        find_engine(f"{folder}/shelves/inner.py:Shop", "models.m.engine")


def test_functions_of_agents_are_modules_names_too() -> None:
    with pytest.raises(ValidationError, match="write shelf_shop:play"):
        PythonOptions(python="shelf_shop.py:play")


@pytest.mark.parametrize(
    ("written", "right"),
    [
        ("shelf_shop", "shelf_shop:Class"),
        ("hintmath", "hintmath:Class"),
        ("shelf_shop.Shop", "shelf_shop:Shop"),
        ("shelves.inner.Shop", "shelves.inner:Shop"),
    ],
)
def test_a_module_without_a_class_is_told_with_one(written: str, right: str) -> None:
    with pytest.raises(UserError, match=f"there is no environment '{written}'; did you mean '{right}'"):
        find_environment(written)


@pytest.mark.parametrize("written", ["json", "pydantic", "no_such_one", "..", ""])
def test_other_modules_are_not_meant(written: str) -> None:
    with pytest.raises(UserError, match="known: ") as caught:
        find_environment(written)
    assert "did you mean" not in str(caught.value)
