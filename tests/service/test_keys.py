"""Checks the ids that idempotency keys give."""

from __future__ import annotations

from ray_gym.service.keys import digest, id_for


def test_the_same_key_of_the_same_caller_is_the_same_id() -> None:
    assert id_for("ann", "k") == id_for("ann", "k") == digest("3 ann k")
    assert len({id_for("ann", "k"), id_for("bob", "k"), id_for("ann", "l")}) == 3


def test_no_caller_can_spell_another_s_key() -> None:
    assert id_for("ann", "b k") != id_for("ann b", "k")


def test_without_a_key_every_id_is_new() -> None:
    assert id_for("ann", None) != id_for("ann", None)
