"""Under `RAY_USE_TLS` nobody listens for lanes, and nobody opens one."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import psutil
import pytest
from certificates import Certificates, make_certificates
from cryptography.hazmat.primitives import serialization
from plain_text import Look

from ray_gym.engines.openai import OpenAIEngine, OpenAIOptions
from ray_gym.errors import UserError
from ray_gym.hosting import application, tls
from ray_gym.hosting.application import Application, DeploymentSpec
from ray_gym.hosting.lanes.replica import BatchedReplica, LaneServer
from ray_gym.hosting.transport import ServeModel
from ray_gym.models.base import Completion, CompletionRequest


@pytest.mark.parametrize("said", ["1", "true", "True", "TRUE"])
def test_is_on_where_ray_would_say_so(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    monkeypatch.setenv("RAY_USE_TLS", said)
    assert tls.is_on() and tls.choose_transport("batched") == "handle" == tls.choose_transport("handle")


@pytest.mark.parametrize("said", [None, "", "0", "false", "yes"])
def test_is_off_where_ray_would_say_so(monkeypatch: pytest.MonkeyPatch, said: str | None) -> None:
    monkeypatch.delenv("RAY_USE_TLS", raising=False)
    if said is not None:
        monkeypatch.setenv("RAY_USE_TLS", said)
    assert (
        not tls.is_on() and tls.choose_transport("batched") == "batched" and tls.choose_transport("handle") == "handle"
    )


NO_CERTIFICATE = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Certificates:
    made = make_certificates(tmp_path)
    for name, value in made.environment().items():
        monkeypatch.setenv(name, value)
    return made


def test_files_that_ray_can_read_are_taken(given: Certificates, monkeypatch: pytest.MonkeyPatch) -> None:
    tls.check_files()
    with given.authority.open("a") as more:
        more.write(NO_CERTIFICATE)
    tls.check_files()
    monkeypatch.setenv("RAY_USE_TLS", "0")
    given.key.unlink()
    tls.check_files()


@pytest.mark.parametrize("name", ["RAY_TLS_CA_CERT", "RAY_TLS_SERVER_CERT", "RAY_TLS_SERVER_KEY"])
def test_a_file_that_is_missing_or_is_none_in_pem_is_told(
    given: Certificates, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    monkeypatch.delenv(name)
    with pytest.raises(UserError, match=f"^{name} is unset"):
        tls.check_files()
    monkeypatch.setenv(name, str(tmp_path))
    with pytest.raises(UserError, match=rf"^{name}: {tmp_path}: Is a directory"):
        tls.check_files()
    for text in ("", "garbage", *([] if name == "RAY_TLS_CA_CERT" else [NO_CERTIFICATE])):
        (tmp_path / "other.pem").write_text(text)
        monkeypatch.setenv(name, str(tmp_path / "other.pem"))
        with pytest.raises(UserError, match=rf"{name}.*{tmp_path}/other.pem.*PEM"):
            tls.check_files()


def test_a_key_of_another_certificate_or_under_a_password_is_told(
    given: Certificates, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    monkeypatch.setenv("RAY_TLS_SERVER_KEY", str(make_certificates(tmp_path / "other").key))
    with pytest.raises(UserError, match=r"are no certificate in PEM and its key.*mismatch"):
        tls.check_files()
    monkeypatch.setenv("RAY_TLS_SERVER_KEY", str(given.key))
    key = serialization.load_pem_private_key(given.key.read_bytes(), None)
    locked = serialization.BestAvailableEncryption(b"of the tests")
    form = serialization.PrivateFormat.PKCS8
    given.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, locked))
    with pytest.raises(UserError, match="without a password"):
        tls.check_files()


async def test_a_replica_that_was_deployed_for_lanes_does_not_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_USE_TLS", "1")
    replica = BatchedReplica()
    await replica.reconfigure({"slots": 5})
    assert replica.transport == "handle"
    with pytest.raises(RuntimeError, match="does not listen"):
        await replica.whereabouts()


async def test_a_caller_opens_no_lane_whatever_its_application_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_USE_TLS", "true")
    monkeypatch.setattr("ray.serve.get_app_handle", lambda app: Handle())
    model = ServeModel("app", transport="batched")
    request = CompletionRequest([], None, "episode", 1)  # type: ignore[arg-type]
    assert await model.complete(request) == "by the handle"
    await model.close()


class Handle:
    """Stands for Serve's, and answers a call by itself."""

    @property
    def complete(self) -> Handle:
        return self

    def options(self, **_: Any) -> Handle:
        return self

    def remote(self, _: CompletionRequest) -> asyncio.Future[str]:
        answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        answer.set_result("by the handle")
        return answer


@pytest.mark.parametrize(("under_tls", "lines"), [("1", 1), ("0", 0)])
def test_the_driver_says_once_that_handles_are_used(
    monkeypatch: pytest.MonkeyPatch, under_tls: str, lines: int
) -> None:
    monkeypatch.setenv("RAY_USE_TLS", under_tls)
    monkeypatch.setattr(application, "start_serve", lambda: None)
    taken_over, said = Application(), list[str]()
    monkeypatch.setattr(taken_over, "hold", lambda *_: True)
    replicas = DeploymentSpec(object, (), 1, 1, {}, 1, "", "", "digest", batched=True)
    taken_over.start("run", "policy", replicas, said.append)
    told = [line for line in said if "RAY_USE_TLS" in line]
    assert len(told) == lines and all("model policy: calls go by Serve's handles" in line for line in told)


@pytest.mark.parametrize(
    ("under_tls", "url", "lines"),
    [
        ("1", "http://10.0.0.7:8000/v1", 1),
        ("1", "http://judge.example/v1", 1),
        ("1", "https://judge.example/v1", 0),
        ("1", "http://127.0.0.1:8000/v1", 0),
        ("1", "http://[::1]:8000/v1", 0),
        ("1", "http://localhost:8000/v1", 0),
        ("0", "http://10.0.0.7:8000/v1", 0),
    ],
)
def test_the_driver_says_that_an_endpoint_is_reached_in_plain_text(
    monkeypatch: pytest.MonkeyPatch, under_tls: str, url: str, lines: int
) -> None:
    monkeypatch.setenv("RAY_USE_TLS", under_tls)
    engine, said = OpenAIEngine(OpenAIOptions(base_url=url, model="judge", probe=False, token_ids=False)), list[str]()
    engine.start("run", "judge", said.append)
    assert len(said) == lines and all(line.startswith(f"note: models.judge.base_url: {url}") for line in said)


async def test_a_lane_is_seen_from_outside(tmp_path: Path) -> None:
    """Shows that the test of a cluster under TLS would see one."""

    async def complete(request: CompletionRequest) -> Completion:
        raise NotImplementedError

    end = LaneServer("r", complete, 1)
    whereabouts = await end.open("127.0.0.1")
    look = Look(make_certificates(tmp_path))
    await asyncio.to_thread(look.at, [psutil.Process(os.getpid())])
    await end.close()
    assert whereabouts.address in look.in_plain_text
