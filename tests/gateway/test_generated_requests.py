"""Requests that schemathesis makes from the service's own description, against the service as it runs.

A few hundred here; with RAY_GYM_TEST_EXAMPLES=25 RAY_GYM_TEST_REQUESTS=2000 they are, and have to be, more than 2,000.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import REPOSITORY, eventually
from guarded_service import TOKENS, GuardedService

pytestmark = [pytest.mark.ray, pytest.mark.services, pytest.mark.timeout(900)]

EXAMPLES = int(os.environ.get("RAY_GYM_TEST_EXAMPLES", "2"))
MOST_ROUNDS = 4
LEAST = int(os.environ.get("RAY_GYM_TEST_REQUESTS", "300"))
BY_NAME = '["2xx", "3xx", "400", "401", "403", "404", "409", "422", "429"]'
"""A body that fits the description may still name what isn't there, or a task that is none of the environment's."""
EXCEPT = ("--exclude-checks", "use_after_free")
"""DELETE ends what is played or open; how it went can be asked ever after."""
CONFIG = f"""
seed = %(seed)s
workers = 1
continue-on-failure = true
request-timeout = 120
max-stream-events = 5
headers = {{ Authorization = "Bearer {TOKENS["alice"]}" }}

[generation]
max-examples = {EXAMPLES}
no-shrink = true
database = "none"

[checks.negative_data_rejection]
expected-statuses = ["400", "401", "403", "404", "405", "409", "413", "414", "415", "422", "429", "431"]

[dictionaries.sessions]
values = %(sessions)s

[dictionaries.rollouts]
values = %(rollouts)s

[dictionaries.models]
values = %(models)s

[parameters]
"path.name" = {{ dictionary = "models", probability = 0.8 }}
"path.session_id" = {{ dictionary = "sessions", probability = 0.8 }}
"path.run_id" = {{ dictionary = "rollouts", probability = 0.8 }}

[[operations]]
include-path-regex = "^/v1/(rollouts|sessions)"
checks.positive_data_acceptance.expected-statuses = {BY_NAME}

[[operations]]
include-path = ["/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/v1/messages/count_tokens"]
checks.positive_data_acceptance.expected-statuses = {BY_NAME}
"""


def test_no_request_breaks_the_service_or_its_word(guarded_service: GuardedService, tmp_path: Path) -> None:
    with guarded_service.client() as http:
        sessions = [http.post("/v1/sessions", json=one).json()["id"] for one in ({}, {"environment": "words"}) * 6]
        rollouts = [http.post("/v1/rollouts", json={"seed": seed}).json()["id"] for seed in range(2)]
        eventually(lambda: all(http.get(f"/v1/rollouts/{one}").json()["ended_at"] for one in rollouts), 60)
        models = [*(model["id"] for model in http.get("/v1/models").json()["data"]), "policy"]
        known = {"sessions": sessions, "rollouts": rollouts, "models": models}
        assert http.post(f"/v1/sessions/{sessions[0]}/score").status_code == 200
        before = answered(http)
        described = {path for path in http.get("/openapi.json").json()["paths"] if path not in UNREACHED}
        counts: dict[tuple[str, str], float] = {}
        for seed in range(1, MOST_ROUNDS + 1):
            schemathesis(guarded_service, tmp_path, {"seed": seed, **known})
            counts = {key: count - before.get(key, 0) for key, count in answered(http).items()}
            if sum(counts.values()) >= LEAST and reached(counts) >= described:
                break
        assert sum(counts.values()) >= LEAST, sum(counts.values())
        print(f"{sum(counts.values()):.0f} requests")
        assert not any(status.startswith("5") for _, status in counts), counts
        assert reached(counts) >= described, counts
        assert http.get("/readyz").json()["status"] == "ready"
        assert "Traceback" not in guarded_service.said.read_text()


COUNTS = "/v1/messages/count_tokens"
UNREACHED = {"/v1/completions", COUNTS, f"/v1/sessions/{{session_id}}/anthropic{COUNTS}"}
"""Scripted models have no text completions, and no template by which a prompt's tokens could be counted."""


def reached(counts: dict[tuple[str, str], float]) -> set[str]:
    """Returns the routes whose requests did something. 409 is for what is there, and over: sessions are also closed."""
    done = ("200", "201", "202", "204", "409")
    return {route for (route, status), count in counts.items() if status in done and count}


def schemathesis(service: GuardedService, folder: Path, changes: dict[str, Any]) -> None:
    """Runs schemathesis on the service. Errors: AssertionError with its output, if it has found something."""
    config = folder / "schemathesis.toml"
    config.write_text(CONFIG % changes)
    command = [str(Path(sys.executable).parent / "schemathesis"), "--config-file", str(config), "--no-color", "run"]
    done = subprocess.run(
        [*command, "--checks", "all", *EXCEPT, "--warnings", "off", f"{service.address}/openapi.json"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=800,
    )
    assert done.returncode == 0 and " passed" in done.stdout, done.stdout + done.stderr


def answered(http: httpx.Client) -> dict[tuple[str, str], float]:
    """Returns how many requests were answered, by route and status."""
    found: dict[tuple[str, str], float] = {}
    for labels, count in re.findall(r"^ray_gym_http_requests_total\{(.*)\} (\S+)$", http.get("/metrics").text, re.M):
        named: dict[str, Any] = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        place = named["route"].replace(":path}", "}"), named["status"]
        found[place] = found.get(place, 0) + float(count)
    return found
