"""Checks what is said of a wrong address, at once, before Ray joins it, and that no other cluster is joined."""

from __future__ import annotations

import contextlib
import os
import socket
import socketserver
import ssl
import tempfile
import threading
import time
from argparse import Namespace
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from certificates import Certificates, make_certificates
from conftest import free_port, ray_gym

from ray_gym.errors import RunFailed, UserError
from ray_gym.run.cluster import address, cluster
from ray_gym.run.cluster.address import NoCluster, NoHead, address_here, check_address

CONFIG = "configs/tic_tac_toe_scripted.yaml"


@pytest.fixture
def dashboard() -> Iterator[str]:
    """Serves HTTP, as Ray's dashboard does, and yields the address."""
    server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_nothing_is_said_of_addresses_that_name_none() -> None:
    for given in ("", "auto", "local"):
        check_address(given)


@pytest.mark.parametrize(
    "given", ["nowhere", "nowhere:", "a:b", "127.0.0.1:\u00b2", "http://127.0.0.1:8265", "ray://127.0.0.1:10001"]
)
def test_what_is_no_address(given: str) -> None:
    with pytest.raises(UserError, match="RAY_ADDRESS"):
        check_address(given)


def test_where_nothing_listens() -> None:
    with pytest.raises(NoCluster, match="nothing answers"):
        check_address(f"127.0.0.1:{free_port()}")
    for name in ("..", "a" * 64):
        with pytest.raises(NoCluster, match="nothing answers"):
            check_address(f"{name}:6379")


def test_what_listens_there_is_no_head(dashboard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with pytest.raises(NoCluster, match="no head of a Ray cluster"):
        check_address(dashboard)


def test_what_listens_there_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address, "TIMEOUT_S", 0.5)
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    began = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(NoCluster, match="deadline"):
        check_address(f"127.0.0.1:{silent.getsockname()[1]}")
    assert time.monotonic() - began < 5


def test_one_that_ray_start_told_of_and_that_is_gone_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    assert address_here() is None
    (tmp_path / "ray").mkdir()
    for told in (f"127.0.0.1:{free_port()}", ""):
        (tmp_path / "ray" / "ray_current_cluster").write_text(told)
        assert address_here() is None


def test_something_else_where_ray_start_told_of_a_cluster_is_said(
    dashboard: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(address, "canonicalize_bootstrap_address", lambda _: dashboard)
    with pytest.raises(NoHead, match=r"no head of a Ray cluster.*RAY_ADDRESS=local"):
        address_here()


def test_a_cluster_of_its_own_is_started_where_that_of_ray_start_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text(f"127.0.0.1:{free_port()}")
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    asked = list[str]()
    monkeypatch.setattr("ray.init", lambda address, **_: asked.append(address))
    for given in ("", "local"):
        monkeypatch.setenv("RAY_ADDRESS", given)
        with cluster.connect():
            assert asked.pop() == "local"


@pytest.mark.runs
def test_a_run_plays_where_the_cluster_of_ray_start_was_killed(tmp_path: Path) -> None:
    """Ray itself would wait for it, in silence, for minutes."""
    with tempfile.TemporaryDirectory(prefix="ray_gym_test_") as folder:  # short: Ray puts sockets below it
        (Path(folder) / "ray").mkdir()
        (Path(folder) / "ray" / "ray_current_cluster").write_text(f"127.0.0.1:{free_port()}")
        here = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
        words = ["rollout", CONFIG, "tasks.limit=2", f"output.dir={tmp_path}"]
        done = ray_gym(*words, environment={**here, "RAY_TMPDIR": folder}, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr


def test_auto_asks_for_a_cluster_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "address_here", lambda: None)
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    with pytest.raises(RunFailed, match=r"^RAY_ADDRESS is auto, but no cluster"), cluster.connect():
        pass


@pytest.mark.ray
@pytest.mark.parametrize("told_by", ["RAY_ADDRESS", "ray start"])
@pytest.mark.parametrize("token", ["another-token-of-the-tests-0123456789", None], ids=["another token", "no token"])
def test_a_token_that_the_cluster_does_not_take_is_said_and_nothing_is_played_elsewhere(
    cluster: dict[str, str], tmp_path: Path, told_by: str, token: str | None
) -> None:
    """A cluster of its own instead would play the run where nobody looks for it."""
    environment = {name: value for name, value in cluster.items() if not name.startswith("RAY_A")}
    mine = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token} if token else {"RAY_AUTH_MODE": "disabled"}
    if told_by == "RAY_ADDRESS":
        mine["RAY_ADDRESS"] = cluster["RAY_ADDRESS"]
    else:
        mine["RAY_TMPDIR"] = str(tmp_path)
        (tmp_path / "ray").mkdir()
        (tmp_path / "ray" / "ray_current_cluster").write_text(cluster["RAY_ADDRESS"])
    began = time.monotonic()
    done = ray_gym("rollout", CONFIG, f"output.dir={tmp_path}/runs", environment={**environment, **mine})
    assert done.returncode == 2, done.stdout + done.stderr
    port = cluster["RAY_ADDRESS"].partition(":")[2]
    assert f":{port} refuses this process's token" in done.stderr and "Traceback" not in done.stderr
    assert time.monotonic() - began < 45
    assert not (tmp_path / "runs").exists()


def test_a_full_disk_is_told_before_ray_starts_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.setattr(cluster, "address_here", lambda: None)
    monkeypatch.setattr("shutil.disk_usage", lambda folder: Namespace(free=2**20))
    with pytest.raises(RunFailed, match=rf"^{tmp_path}, where Ray keeps its files, is full: "), cluster.connect():
        pass


def test_processes_of_ray_that_do_not_come_up_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**options: object) -> None:
        raise RuntimeError("Timed out waiting for gcs_server_port")

    monkeypatch.setattr(cluster, "address_here", lambda: None)
    monkeypatch.setattr("ray.init", init)
    with pytest.raises(RunFailed, match=r"^Ray did not come up on this machine.*gcs_server_port"), cluster.connect():
        pass


PREFACE_SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""Frame of HTTP/2 by which a server begins: settings, none of which is another than usual (RFC 9113, 6.5)."""
GOAWAY = bytes([0, 0, 8, 7, 0, 0, 0, 0, 0, *[0] * 7, 2])
"""Frame of HTTP/2 by which a server ends with an internal error, having answered nothing (RFC 9113, 6.8)."""


class Ending(socketserver.BaseRequestHandler):
    """Ends each connection as the head of a cluster does which a signal ends while it is asked."""

    def handle(self) -> None:
        with contextlib.suppress(ConnectionError):
            self.request.sendall(PREFACE_SETTINGS)
            if self.request.recv(1):
                self.request.sendall(GOAWAY)
                while self.request.recv(4096):
                    pass


class EndingUnderTLS(Ending):
    """Ends connections under TLS, of those that take its certificate."""

    certificates: Certificates

    def handle(self) -> None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(self.certificates.certificate, self.certificates.key)
        context.set_alpn_protocols(["h2"])
        with contextlib.suppress(ssl.SSLError), context.wrap_socket(self.request, server_side=True) as self.request:
            super().handle()


@contextlib.contextmanager
def ending(handler: type[Ending] = Ending) -> Iterator[str]:
    """Serves such a head, and yields its address."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def said_of(words: list[str], head: str, **variables: str) -> str:
    """Runs a command that joins the head's cluster in vain, and returns what it says."""
    here = {name: value for name, value in os.environ.items() if not name.startswith("GRPC_")}
    ended = ray_gym(*words, environment={**here, "RAY_ADDRESS": head, "RAY_AUTH_MODE": "disabled", **variables})
    assert ended.returncode == 2 and "no head of a Ray cluster" in ended.stderr
    return ended.stderr.lower()


def test_a_head_that_ends_while_it_is_asked_is_told_in_our_words_alone() -> None:
    with ending() as head:
        assert "chttp2" not in said_of(["serve", "configs/service_scripted.yaml"], head)


def test_what_the_user_asks_grpc_for_is_said() -> None:
    with ending() as head:
        assert "chttp2" in said_of(["rollout", CONFIG], head, GRPC_TRACE="http")


@pytest.fixture
def under_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Certificates:
    """Sets what Ray reads, and returns it."""
    (tmp_path / "ours").mkdir()
    ours = make_certificates(tmp_path / "ours")
    for name, value in {**ours.environment(), "RAY_AUTH_MODE": "disabled"}.items():
        monkeypatch.setenv(name, value)
    return ours


def test_a_certificate_of_another_authority_is_told(under_tls: Certificates, tmp_path: Path) -> None:
    EndingUnderTLS.certificates = make_certificates(tmp_path)
    with ending(EndingUnderTLS) as head, pytest.raises(NoCluster, match=r"Tls handshake failed.*certificate"):
        check_address(head)


def test_a_certificate_of_the_same_authority_is_not_blamed(
    under_tls: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(address, "TIMEOUT_S", 1)  # gRPC asks such a head again until then
    EndingUnderTLS.certificates = under_tls
    with ending(EndingUnderTLS) as head, pytest.raises(NoCluster, match=r"is no head of a Ray cluster") as told:
        check_address(head)
    assert "handshake" not in str(told.value)


def test_a_head_in_plain_text_is_told_under_tls(under_tls: Certificates) -> None:
    with ending() as head, pytest.raises(NoCluster, match=r"Tls handshake failed.*RAY_USE_TLS is set"):
        check_address(head)


def test_a_head_under_tls_is_told_in_plain_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_USE_TLS", raising=False)
    EndingUnderTLS.certificates = make_certificates(tmp_path)
    with ending(EndingUnderTLS) as head, pytest.raises(NoCluster, match=r"asks for RAY_USE_TLS=1 here, too"):
        check_address(head)


def test_a_missing_file_of_tls_is_told_whatever_cluster_is_named(
    under_tls: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    under_tls.key.unlink()
    for given in ("", "local", "127.0.0.1:1"):
        monkeypatch.setenv("RAY_ADDRESS", given)
        with pytest.raises(UserError, match=r"RAY_TLS_SERVER_KEY: .*No such file"):
            address_here()
