"""Checks the clients before anything is sent."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest
from pydantic import ValidationError

from ray_gym import AsyncClient, Client
from ray_gym.client import AsyncSession, RolloutRequest, Session


@pytest.mark.parametrize("value", ["two\nlines", "", " spaced ", "ключ"])
def test_what_is_no_header(value: str) -> None:
    with Client("http://localhost:1") as client, pytest.raises(ValueError, match="key: expected printable ASCII"):
        client.open_session(key=value)
    if value:
        with pytest.raises(ValueError, match="token: expected printable ASCII") as caught:
            Client("http://localhost:1", value)
        assert value not in str(caught.value)


def test_mistakes_are_found_before_they_are_sent() -> None:
    with pytest.raises(ValidationError, match="repeat"):
        RolloutRequest(repeat=3)  # type: ignore[call-arg]


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://host", "http://", "http://host?x=1", "http://host:port"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(ValueError, match="base_url: "):
        Client(url)


def test_the_end_of_a_line_is_no_part_of_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_GYM_URL", "http://host:8000\r\n")
    assert Client().base_url == Client("http://host:8000/ ").base_url == "http://host:8000"


@pytest.mark.parametrize(("blocking", "asynchronous"), [(Client, AsyncClient), (Session, AsyncSession)])
def test_both_have_the_same_methods(blocking: type, asynchronous: type) -> None:
    def methods(of: type) -> dict[str, list[str]]:
        found = inspect.getmembers(of, inspect.isfunction)
        return {name: list(inspect.signature(it).parameters) for name, it in found if not name.startswith("__")}

    assert methods(blocking) == methods(asynchronous)


def test_the_client_is_imported_when_it_is_used() -> None:
    code = "import sys, ray_gym; assert 'httpx' not in sys.modules; ray_gym.Client; assert 'httpx' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
