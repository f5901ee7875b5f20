"""Takes tests through the kinds of sandbox that this machine has."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sandboxes import bubblewrap, opened

from ray_gym.sandbox import Sandbox


@pytest.fixture(autouse=True)
def own_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Puts the folders of this test's sandboxes into a folder of its own, which is empty afterwards."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture(params=["process", pytest.param("bubblewrap", marks=pytest.mark.agents)])
def kind(request: pytest.FixtureRequest) -> str:
    """Gives the name of each kind that needs no image; all have the same supervisor, so one of them does for the gate.

    A file whose tests use it needs a word of the part `agents` in its text: others are not read for that part.
    """
    if request.param == "bubblewrap":
        bubblewrap()
    return str(request.param)


@pytest.fixture
async def sandbox(kind: str) -> AsyncIterator[Sandbox]:
    """Gives a sandbox of each of these kinds."""
    async with opened(kind) as sandbox:
        yield sandbox
