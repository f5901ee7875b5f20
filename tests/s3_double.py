"""Runs moto's server as a stand-in for S3, in a process of its own on this machine. No test here speaks to Amazon."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from conftest import end_group, eventually, free_port
from pyarrow.fs import S3FileSystem

BUCKET = "runs-of-tests"
KEYS = {"AWS_ACCESS_KEY_ID": "an-id", "AWS_SECRET_ACCESS_KEY": "a-key"}


@contextmanager
def serving(log: Path) -> Iterator[str]:
    """Yields the address of a server with an empty bucket. Errors: AssertionError if moto isn't there, TimeoutError."""
    assert importlib.util.find_spec("moto"), "these tests need moto's S3 server: make setup (extra: dev)"
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with log.open("wb") as output:
        server = subprocess.Popen(
            command, stdout=output, stderr=output, env={**os.environ, **KEYS}, start_new_session=True
        )
        try:
            eventually(lambda: server.poll() is not None or _answers(f"http://127.0.0.1:{port}"), 60)
            assert server.poll() is None, log.read_text()
            _filesystem(f"127.0.0.1:{port}").create_dir(BUCKET)
            yield f"127.0.0.1:{port}"
        finally:
            end_group(server)


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def _filesystem(address: str) -> S3FileSystem:
    return S3FileSystem(
        region="us-east-1",
        endpoint_override=address,
        scheme="http",
        access_key=KEYS["AWS_ACCESS_KEY_ID"],
        secret_key=KEYS["AWS_SECRET_ACCESS_KEY"],
        allow_bucket_creation=True,
    )
