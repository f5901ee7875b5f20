"""Each model counts its own versions, and versions only grow."""

from __future__ import annotations

from ray_gym.models.versions import Versions


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
