"""Checks with Ray that two processes which start Serve at the same moment share one, on a cluster of their own."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
from conftest import REPOSITORY, free_port, standing_cluster

pytestmark = [pytest.mark.ray, pytest.mark.services]
SCRIPT = Path(__file__).with_name("start_serve_at_once.py")


def test_two_processes_that_start_serve_at_once_share_it() -> None:
    port = free_port()
    with standing_cluster() as environment, ExitStack() as open_:
        command = [sys.executable, str(SCRIPT), str(port)]
        both = [
            open_.enter_context(
                subprocess.Popen(
                    command,
                    env={**environment, "PYTHONPATH": str(REPOSITORY)},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for _ in range(2)
        ]
        for one in both:
            open_.callback(one.kill)
        assert [line_of(one) for one in both] == ["about to", "about to"]
        for one in both:
            assert one.stdin is not None
            one.stdin.write("\n")
            one.stdin.flush()
        address = f"http://127.0.0.1:{port}"
        assert sorted(line_of(one) for one in both) == [f"{address} False", f"{address} True"]
        httpx.get(address, timeout=10)  # its proxy answers
        for one in both:
            one.communicate(timeout=30)
            assert one.returncode == 0


def line_of(one: subprocess.Popen[str]) -> str:
    assert one.stdout is not None
    return one.stdout.readline().strip()
