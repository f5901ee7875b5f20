"""Checks that two services can't share one directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from ray_gym.errors import UserError
from ray_gym.service.setup import claim_directory


def test_a_directory_is_one_service_s_until_that_has_ended(tmp_path: Path) -> None:
    with claim_directory(tmp_path / "mine"):
        told = r"service\.name: another service is up in .*mine; end that one"
        with pytest.raises(UserError, match=told), claim_directory(tmp_path / "mine"):
            pass
        with claim_directory(tmp_path / "another"):
            pass
    with claim_directory(tmp_path / "mine"):
        pass
