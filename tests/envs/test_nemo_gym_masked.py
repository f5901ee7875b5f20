"""Checks that values of environment variables that a server repeats are masked, also where a text is cut."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from aiohttp import web
from nemo_playing import add, counter_row, playing
from playing_tasks import says, stage_of

from ray_gym.config.file import read_config_text
from ray_gym.config.interpolations import failure_unfilled, unfilled
from ray_gym.config.sections import LimitsSection
from ray_gym.envs.nemo_gym.headers import Headers
from ray_gym.envs.nemo_gym.row import NemoRow
from ray_gym.envs.nemo_gym.server import ResourcesServer, ServerAnswer
from ray_gym.envs.nemo_gym.verdict import why
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.errors import Failure
from ray_gym.play.play import play
from ray_gym.record.rows import row_of

SECRET = "sekret-token-123456"
CONFIG = """
environment: {{id: nemo_gym, base_url: "http://h", headers: {{A: "{}"}}}}
tasks: {{path: rows.jsonl}}
models: {{small: {{engine: scripted, player: "m:p"}}}}
participants: {{policy: {{model: small}}}}
"""


@asynccontextmanager
async def answering(answer: Callable[[web.Request], web.Response]) -> AsyncIterator[str]:
    """Yields the address of a server that answers all calls by a function."""

    async def handle(request: web.Request) -> web.Response:
        await request.read()
        return answer(request)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handle)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def test_what_is_cut_holds_no_part_of_a_secret_that_is_masked_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEMO_TOKEN", SECRET)
    config = read_config_text(CONFIG.format("Bearer ${oc.env:NEMO_TOKEN}"), "mine.yaml")
    for length in range(250, 310):
        error = RuntimeError("failed")
        error.add_note(f"{'y' * length} {SECRET}")
        told = failure_unfilled(Failure.of(error, "tool go"), config.filled_in).message
        assert "seki" not in told and "sekret" not in told
    server = ResourcesServer("http://h", Headers({}), 5, 0)
    for length in range(450, 510):
        answer = ServerAnswer(401, json.dumps({"detail": f"{'x' * length} {SECRET} is bad"}))
        assert "sek" not in unfilled(server.explain(answer), config.filled_in)
    for length in range(940, 1010):
        assert "sek" not in unfilled(why({"note": f"{'y' * length} {SECRET}"}, {}, str), config.filled_in)


def test_a_secret_is_masked_without_its_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEMO_TOKEN", f"Bearer {SECRET}")
    config = read_config_text(CONFIG.format("${oc.env:NEMO_TOKEN}"), "mine.yaml")
    assert unfilled(f"Bearer {SECRET} / {SECRET}", config.filled_in) == "${oc.env:NEMO_TOKEN} / ${oc.env:NEMO_TOKEN}"


async def test_a_value_of_the_config_that_a_server_repeats_in_errors_and_findings_is_masked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NEMO_TOKEN", SECRET)
    config = read_config_text(CONFIG.format("Bearer ${oc.env:NEMO_TOKEN}"), "mine.yaml")

    def repeat(request: web.Request) -> web.Response:
        told = {"detail": f"used {request.headers['A']}", "reward": 1.0}
        return web.json_response(told, status=401 if request.path == "/increment_counter" else 200)

    async with answering(repeat) as url, playing(url, headers={"A": f"Bearer {SECRET}"}) as environment:
        stage = stage_of(environment, {"policy": says(add(1), "Done.")}, LimitsSection(), None, {})
        spec = EpisodeSpec("e", "g", "t", 0, 0, NemoRow.model_validate(counter_row()).model_dump_json())
        played = await play(spec, replace(stage, filled_in=config.filled_in))
    played.episode.note(f"not closed: {SECRET}")
    told = {event.kind: event.content for event in played.episode.events}
    shown = "Bearer ${oc.env:NEMO_TOKEN}"
    assert told["tool_result"] == f'{{"detail": "used {shown}", "reward": 1.0}}'
    assert told["verdict"] == f'nemo_gym: {{"detail": "used {shown}"}}'
    assert told["note"] == "not closed: ${oc.env:NEMO_TOKEN}"
    assert SECRET not in str(row_of(played, "run", "nemo_gym"))
