"""Checks how paths are made absolute."""

from __future__ import annotations

from pathlib import Path

import pytest

from ray_gym.errors import UserError
from ray_gym.paths import absolute_path, home_expanded


def test_two_dots_are_left_out_unless_they_lead_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shared" / "here").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "shared" / "here")
    monkeypatch.chdir(tmp_path / "shared" / "here")
    assert absolute_path(Path("../new/./run")) == tmp_path / "shared" / "new" / "run"
    assert absolute_path(tmp_path / "link" / "run") == tmp_path / "link" / "run"
    assert absolute_path(tmp_path / "link" / ".." / "run") == tmp_path / "link" / ".." / "run"
    assert absolute_path(Path()) == tmp_path / "shared" / "here"


def test_a_home_that_is_not_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert home_expanded("~/runs") == Path("/home/me/runs") and home_expanded("runs/~me") == Path("runs/~me")
    with pytest.raises(UserError, match=r"^~nosuch/x: there is no user 'nosuch'$"):
        home_expanded("~nosuch/x")
    with pytest.raises(UserError, match=r"^tasks\.path: ~nosuch: there is no user 'nosuch'$"):
        home_expanded(Path("~nosuch"), "tasks.path")
