"""Checks which connections a pool has, and which one a call takes."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ray_gym.engines.http1.pool import Pool, _host
from tests.engines.http1.raw_server import LOOPS, OK, RawServer, answered, ask, played

each_loop = pytest.mark.parametrize("make_loop", LOOPS)
MakeLoop = Callable[[], asyncio.AbstractEventLoop]


@each_loop
def test_what_was_used_last_is_used_again(make_loop: MakeLoop) -> None:
    async def play(double: RawServer, pool: Pool) -> None:
        calls = [ask(pool) for _ in range(3)]
        opened = {asked.connection: asked for asked in [await double.asked.get() for _ in calls]}
        assert set(opened) == {0, 1, 2}
        for number in (2, 0, 1):
            opened[number].say(OK)
            await asyncio.wait(calls, return_when=asyncio.FIRST_COMPLETED)
            calls = [call for call in calls if not call.done()]
        for _ in range(3):
            assert (await answered(double, pool, OK))[0] == 1

    played(play, make_loop)


@each_loop
def test_no_more_are_under_way_than_are_allowed(make_loop: MakeLoop) -> None:
    async def play(double: RawServer, pool: Pool) -> None:
        calls = [ask(pool) for _ in range(5)]
        for _ in calls:
            asked = await double.asked.get()
            assert asked.connection < 2 and double.asked.qsize() < 2
            asked.say(OK)
        await asyncio.gather(*calls)
        assert len(double.writers) == 2

    played(play, make_loop, limit=2)


@pytest.mark.clock
@each_loop
def test_a_thousand_at_once(make_loop: MakeLoop) -> None:
    async def play(double: RawServer, pool: Pool) -> None:
        calls = [ask(pool, b"%d" % number) for number in range(1000)]
        for _ in calls:
            asked = await double.asked.get()
            asked.say(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(asked.body), asked.body))
        assert [int(answer.body) for answer in await asyncio.gather(*calls)] == list(range(1000))

    played(play, make_loop, limit=300)


@each_loop
def test_what_the_server_has_closed_is_not_used(make_loop: MakeLoop) -> None:
    async def play(double: RawServer, pool: Pool) -> None:
        await answered(double, pool, OK)
        double.writers[0].close()
        await double.left.get()
        assert (await answered(double, pool, OK))[0] == 1

    played(play, make_loop)


@each_loop
def test_a_closed_pool_keeps_nothing(make_loop: MakeLoop) -> None:
    async def play(double: RawServer, pool: Pool) -> None:
        await answered(double, pool, OK)
        late = ask(pool)
        asked = await double.asked.get()
        await pool.close()
        asked.say(OK)
        assert (await late).body == b"{}"
        assert await double.left.get() == 0

    played(play, make_loop)


@each_loop
def test_a_name_with_an_address_that_nobody_answers_at(make_loop: MakeLoop) -> None:
    """`localhost` also is ::1, where this server does not listen."""

    async def play(double: RawServer, pool: Pool) -> None:
        assert (await answered(double, pool, OK))[1].body == b"{}"

    played(play, make_loop, host="localhost")


@each_loop
@pytest.mark.parametrize(
    ("host", "problem"), [("127.0.0.1", "ConnectionRefused|Connect"), ("no-such-host.invalid", "gaierror")]
)
def test_nobody_there(make_loop: MakeLoop, host: str, problem: str) -> None:
    async def play() -> None:
        pool = Pool(f"http://{host}:1/v1", {}, limit=1, connect_s=5, silence_s=60)
        for _ in range(2):  # the slot of the first is free again
            with pytest.raises(ConnectionError, match=rf"can't connect to {host}:1: .*({problem})"):
                await pool.post("/ask", {}, b"{}")

    with asyncio.Runner(loop_factory=make_loop) as runner:
        runner.run(play())


@each_loop
def test_over_tls(make_loop: MakeLoop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = _certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    async def play(double: RawServer, pool: Pool) -> None:
        for _ in range(2):
            number, answer = await answered(double, pool, OK)
            assert (number, answer.body) == (0, b"{}")

    async def refuse(double: RawServer, pool: Pool) -> None:
        with pytest.raises(ConnectionError, match="CERTIFICATE_VERIFY_FAILED"):
            await ask(pool)

    played(refuse, make_loop, server_tls=context)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    played(play, make_loop, server_tls=context)


@each_loop
def test_a_name_is_looked_up_once_however_many_wait_and_leave(make_loop: MakeLoop) -> None:
    async def play(double: RawServer, pool: Pool) -> None:
        loop, asked, known = asyncio.get_running_loop(), 0, asyncio.Event()
        look_up = socket.getaddrinfo

        async def slow(host: str, port: int, **options: Any) -> Any:
            nonlocal asked
            if host == "localhost":  # uvloop also asks for addresses that are none
                asked += 1
                await known.wait()
            return look_up(host, port, **options)

        with patch.object(type(loop), "getaddrinfo", lambda self, *given, **options: slow(*given, **options)):
            impatient = ask(pool)
            await asyncio.sleep(0)
            calls = [ask(pool) for _ in range(10)]
            await asyncio.sleep(0)
            impatient.cancel()
            await asyncio.wait([impatient])
            known.set()
            for _ in calls:
                (await double.asked.get()).say(OK)
            await asyncio.gather(*calls)
        assert asked == 1

    played(play, make_loop, host="localhost")


@pytest.mark.parametrize(
    ("base_url", "host"),
    [
        ("http://Host.example/v1", "host.example"),
        ("http://host.example:8000/v1", "host.example:8000"),
        ("http://[::1]:8000/v1", "[::1]:8000"),
        ("http://пример.рф:8000/v1", "xn--e1afmkfd.xn--p1ai:8000"),
    ],
)
def test_how_a_host_is_named(base_url: str, host: str) -> None:
    assert _host(urlsplit(base_url)) == host


def test_headers_can_t_be_broken_out_of() -> None:
    async def play(double: RawServer, pool: Pool) -> None:
        for value in ("s\r\nX-Other: 1", "s\n", "s\r"):
            with pytest.raises(ValueError, match="line break"):
                await pool.post("/ask", {"X-Session-Id": value}, b"{}")
        assert not double.writers

    played(play)


def _certificate(folder: Path) -> Path:
    """Writes a self-signed certificate for 127.0.0.1 with its key into one file, and returns the file's path."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a server of the tests")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    secret = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path = folder / "certificate.pem"
    path.write_bytes(made.public_bytes(encoding) + secret)
    return path
