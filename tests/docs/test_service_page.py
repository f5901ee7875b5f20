"""docs/service.md, cut out of the page: its curl commands and its Python, in their order, at a running service of scripted models.

The Python of docs/messages.md follows.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY, free_port
from serving import ALONE, end, serving

PAGE = (REPOSITORY / "docs" / "service.md").read_text()
MESSAGES = (REPOSITORY / "docs" / "messages.md").read_text()
PYTHON = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
CURL = [block for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE) if "curl" in block]
ADDRESS = "http://127.0.0.1:8000"

pytestmark = [pytest.mark.ray, pytest.mark.docs]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    port, output = free_port(), tmp_path_factory.mktemp("service")
    config, log = REPOSITORY / "configs" / "service_scripted.yaml", output / "service.log"
    with serving(config, ALONE, log, f"service.port={port}", f"output.dir={output}") as service:
        assert log.read_text() == f"ready: http://127.0.0.1:{port}\n"
        yield f"http://127.0.0.1:{port}"
        end(service, log, signal.SIGTERM)


def test_curl(address: str, tmp_path: Path) -> None:
    (tmp_path / ".curlrc").write_text("silent\nshow-error\nfail-with-body\nmax-time = 120\n")
    script = "set -euo pipefail\n" + "\necho\n".join("".join(CURL).replace(ADDRESS, address).splitlines())
    done = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "CURL_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert re.findall(r"^event: (\w+)", done.stdout, re.MULTILINE) == ["group"] * 4 + ["end"]
    assert re.findall(r'"next":"([^"]*)"', done.stdout) == ["1.3", "1.6"]
    assert '"state":"cancelled"' in done.stdout and '{"status":"ok"}' in done.stdout
    assert '"status":"ready"' in done.stdout and "ray_gym_http_requests_total{" in done.stdout
    submitted = set(re.findall(r'^\{"id":"(\w+)"', done.stdout, re.MULTILINE))
    assert len(submitted) == 2, "the same idempotency key is the same rollout"


def test_python(address: str) -> None:
    names: dict[str, Any] = {"__name__": "docs_service"}
    for block in PYTHON:
        exec(block.replace(ADDRESS, address), names)
    for block in re.findall(r"^```python\n(.*?)^```", MESSAGES, re.DOTALL | re.MULTILINE):
        exec(block.replace(ADDRESS, address), names)
    assert names["said"].type == "message"
    assert names["ended"].state == "done" and len(names["rows"]) == 8 and len(names["later"]) == 2
    assert names["wrong"].error and names["heard"].messages == [] and names["scored"].stop.text == "O wins"
    assert '"success":true' in names["result"].content
    assert [model.id for model in names["models"].models.list()] == ["basic", "minimax", "random"]
    assert names["told"].choices[0].message.content == "I am waiting for my turn."
