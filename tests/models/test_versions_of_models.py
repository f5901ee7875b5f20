"""Each model counts its own versions, and versions only grow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ray_gym.errors import UserError
from ray_gym.models.versions import Versions, read_versions


def test_models_that_are_not_named_have_the_version_of_the_others() -> None:
    versions = Versions(2, {"policy": 5})
    assert (versions["policy"], versions["user"], versions.lowest) == (5, 2, 5)
    assert Versions(3).lowest == 3
    assert versions.before(3) == Versions(-1, {"policy": 2})


def test_the_higher_version_of_each_model_counts() -> None:
    versions = Versions(0, {"policy": 5, "user": 1})
    assert versions.merge({"policy": 4, "user": 2}).of == {"policy": 5, "user": 2}
    assert versions.merge({"user": 3}).of == {"policy": 5, "user": 3}, "what is not named stays"
    assert versions.merge(Versions(4)) == Versions(4, {"policy": 5, "user": 4})
    assert Versions(3).merge({"policy": 1})["policy"] == 3


@pytest.mark.parametrize("given", [3, np.int64(3), {"policy": 3, "user": 3}])
def test_a_whole_number_is_that_of_all_models(given: Any) -> None:
    read = read_versions(given, ["policy", "user"])
    assert read == {"policy": 3, "user": 3} and {type(version) for version in read.values()} == {int}


@pytest.mark.parametrize("given", [1.0, "2", None, True, -1, {"policy": 2.5}, {"policy": None}])
def test_what_is_no_version(given: Any) -> None:
    with pytest.raises(UserError, match=r"version: .*, but it is a whole number from 0 on"):
        read_versions(given, ["policy"])


def test_a_model_that_is_not_trained() -> None:
    with pytest.raises(UserError, match=r"models\.judge: no such model is trained; policy, user"):
        read_versions({"judge": 1}, ["policy", "user"])
