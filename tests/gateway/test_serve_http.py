"""Checks which address Serve has, when it is refused, and what is said then."""

from __future__ import annotations

import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import free_port
from ray.serve.exceptions import RayServeException

from ray_gym.config.sections import ServiceSection
from ray_gym.deployments.gateway import gateway
from ray_gym.deployments.gateway.serve_http import HttpAddress, check_free, check_http
from ray_gym.errors import UserError

HERE, EVERYWHERE = HttpAddress("127.0.0.1", 8000), HttpAddress("0.0.0.0", 8000)


def error_of(running: HttpAddress, host: str, port: int, guarded: bool, direct: bool = False) -> str:
    with pytest.raises(UserError) as caught:
        check_http(running, host, port, guarded, direct)
    return str(caught.value)


def test_what_runs_as_asked_for_is_taken() -> None:
    check_http(HERE, "127.0.0.1", 8000, guarded=False)
    check_http(HERE, "localhost", 8000, guarded=False)
    check_http(EVERYWHERE, "0.0.0.0", 8000, guarded=True, direct=True)


def test_another_address_is_refused_with_what_is_running() -> None:
    told = error_of(HERE, "127.0.0.1", 9000, guarded=True)
    assert "Serve is up at http://127.0.0.1:8000" in told and "the config asks for 127.0.0.1:9000" in told
    assert "set service.host=127.0.0.1 service.port=8000" in told and "serve shutdown" in told
    assert "the config asks for 0.0.0.0:8000" in error_of(HERE, "0.0.0.0", 8000, guarded=True)
    assert "http://[::]:8000" in error_of(HttpAddress("::", 8000), "127.0.0.1", 8000, guarded=True)


def test_serve_without_http_is_refused() -> None:
    assert "Serve is up without HTTP" in error_of(HttpAddress(None, 8000), "127.0.0.1", 8000, guarded=True)


def test_the_running_address_decides_whether_tokens_are_needed() -> None:
    told = error_of(EVERYWHERE, "127.0.0.1", 8000, guarded=False)
    assert told.startswith("service.tokens: Serve is up at http://0.0.0.0:8000") and "set service.tokens.file" in told
    assert "RAY_SERVE_ENABLE_DIRECT_INGRESS" in error_of(HERE, "127.0.0.1", 8000, guarded=False, direct=True)


def test_a_port_that_somebody_has_is_refused_and_one_that_was_just_left_is_not() -> None:
    port = free_port()
    check_free("127.0.0.1", port)
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # as Serve opens its own
        taken.bind(("127.0.0.1", port))
        taken.listen()
        with pytest.raises(UserError, match=rf"can't listen at 127.0.0.1:{port}: Address already in use"):
            check_free("127.0.0.1", port)
    check_free("127.0.0.1", port)
    with pytest.raises(UserError, match=r"can't listen at no\.such\.host\.invalid:80"):
        check_free("no.such.host.invalid", 80)


def test_a_gateway_that_serve_refuses_is_told_in_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = 'Prefix / is being used by application "b-gateway". Failed to deploy application "a-gateway".'

    def refuse(*given: Any, **options: Any) -> None:
        raise RayServeException(f"ray::deploy() (pid=1)\n  File ...\nray.serve.exceptions.RayServeException: {told}")

    bound = SimpleNamespace(bind=lambda setup: None)
    monkeypatch.setattr(gateway, "serve", SimpleNamespace(deployment=lambda *_, **__: bound, run=refuse))
    refused = gateway.HttpGateway(ServiceSection(name="a"), tmp_path, tmp_path)
    monkeypatch.setattr(refused._application, "hold", lambda *_, **__: False)
    with pytest.raises(UserError) as caught:
        refused.start("actor", "namespace", {})
    assert str(caught.value) == f"service.name: Serve refuses the gateway: {told}"
