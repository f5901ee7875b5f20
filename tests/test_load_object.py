"""Checks how a name of package.module:name that can't be imported is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from ray_gym.errors import UserError
from ray_gym.load_object import load_object


@pytest.mark.parametrize("name", [".shop:Shop", "..shop:Shop", ".:Shop"])
def test_a_name_that_begins_with_a_dot(name: str) -> None:
    told = f"environment.id: {name!r} begins with a dot, and there is no package around it: write {name.lstrip('.')}"
    with pytest.raises(UserError) as caught:
        load_object(name, "environment.id")
    assert str(caught.value) == told


def test_a_circular_import_is_no_missing_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "first_of_two.py").write_text("from second_of_two import K\n\n\nclass Shop: ...\n")
    (tmp_path / "second_of_two.py").write_text("from first_of_two import Shop\n\nK = Shop\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match="circular import") as caught:
        load_object("first_of_two:Shop", "environment.id")
    assert "it is in none of the folders" not in str(caught.value) and "did you mean" not in str(caught.value)


def test_a_module_that_is_nowhere_is_told_with_the_folders() -> None:
    with pytest.raises(UserError, match="it is in none of the folders"):
        load_object("nowhere_at_all:Shop", "environment.id")


@pytest.mark.parametrize("is_package", [True, False])
def test_an_object_of_a_module_within_the_package_is_told_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_package: bool
) -> None:
    name = f"package_of_shops_{is_package}"
    (tmp_path / name).mkdir()
    if is_package:
        (tmp_path / name / "__init__.py").write_text("Shops = 1\n")
    (tmp_path / name / "env.py").write_text("class Shop: ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError) as caught:
        load_object(f"{name}:Shop.make", "environment.id")
    assert str(caught.value) == f"environment.id: {name} has no 'Shop'; did you mean '{name}.env:Shop.make'?"
    with pytest.raises(UserError, match="has no 'Sho'"):
        load_object(f"{name}:Sho", "environment.id")
