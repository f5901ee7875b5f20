"""The doctor says which kinds of sandbox nodes have, and how to get the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from ray_gym.doctor.sandboxes import check_sandboxes, sandboxes_here


def test_a_machine_without_programs_has_the_plain_kind_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = sandboxes_here()
    assert found["process"] == ""
    assert "apt-get install bubblewrap" in found["bubblewrap"] and "docker is not in PATH" in found["docker"]


def test_nodes_that_differ_are_named() -> None:
    found = check_sandboxes({"a": {"x": "", "y": "none; install it"}, "b": {"x": "", "y": ""}, "c": {"x": ""}})
    assert [(each.node, each.check, each.found) for each in found] == [
        ("cluster", "sandbox x", "works"),
        ("a", "sandbox y", "not there: none; install it"),
        ("b", "sandbox y", "works"),
        ("c", "sandbox y", "not there: this node does not know it"),
    ]
    assert all(each.is_well for each in found), "only a run that asks for a kind needs it"
