"""Checks that secrets among the headers, which a server may echo, are neither told nor recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest
from nemo_double import NemoDouble
from nemo_playing import adds, counter_row, failure_of, play_row

from ray_gym.envs.nemo_gym.headers import Headers
from ray_gym.errors import UserError
from ray_gym.play.play import Played

KEY = "sekret-token-123456"
ECHOES = [f"bad token Bearer {KEY}", f"bad token {KEY}", f"{'far ' * 113}{KEY} and more", "sekret-token...", KEY[-9:]]
BY_VARIABLE = {"header_env": {"X-Login": "NEMO_TOKEN"}}
AS_IT_IS = {"headers": {"Authorization": f"Bearer {KEY}"}}


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEMO_TOKEN", f"Bearer {KEY}")


async def refused(double: NemoDouble, path: str, echo: str, status: int, options: dict[str, Any]) -> Played:
    double.told = {"echo": echo}
    double.fail(path, *[status] * 2)
    return await play_row(double, counter_row(), adds(7), retries=1, **options)


def record_of(played: Played) -> str:
    return json.dumps([str(event) for event in played.episode.events])


@pytest.mark.parametrize("echo", ECHOES)
@pytest.mark.parametrize("options", [BY_VARIABLE, AS_IT_IS])
@pytest.mark.parametrize("status", [401, 503])
async def test_failures_have_no_secret_in_them(echo: str, options: dict[str, Any], status: int) -> None:
    async with NemoDouble() as double:
        played = await refused(double, "/seed_session", echo, status, options)
    told = failure_of(played)[1]
    assert f'HTTP {status}: {{"detail": "it said {status}"' in told and "***" in told
    assert "sekre" not in told and "3456" not in told
    assert "sekre" not in record_of(played)


@pytest.mark.parametrize("echo", ECHOES)
async def test_the_policy_is_told_no_secret(echo: str) -> None:
    async with NemoDouble() as double:
        played = await refused(double, "/increment_counter", echo, 401, BY_VARIABLE)
    (result,) = [event for event in played.episode.events if event.kind == "tool_result"]
    assert json.loads(result.content)["detail"] == "it said 401" and "***" in result.content
    assert "sekre" not in record_of(played) and "3456" not in result.content


@pytest.mark.parametrize(
    "verdict",
    [
        [f"not for {KEY}"],
        {"why": f"{'x' * 980} {KEY}"},
        {"mask_sample": True, "failure_reason": f"the judge refused {KEY}"},
        {"mask_sample": True, "judge": KEY},
        {"reward": 1, "judge": f"asked with {KEY}"},
    ],
)
async def test_verdicts_are_told_without_secrets(verdict: Any) -> None:
    async with NemoDouble(answers={"/verify": verdict}) as double:
        played = await play_row(double, counter_row(), adds(7), **BY_VARIABLE)
    told = f"{played.failure} {record_of(played)}"
    assert "sekre" not in told and (played.failure is None) == (isinstance(verdict, dict) and "reward" in verdict)


def test_headers_lose_white_space_at_their_ends_and_others_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEMO_TOKEN", f"Bearer {KEY}\n")
    assert Headers.read({"X-Team": " blue "}, {"X-Login": "NEMO_TOKEN"}).values == {
        "X-Team": "blue",
        "X-Login": f"Bearer {KEY}",
    }
    monkeypatch.setenv("NEMO_TOKEN", f"Bearer\n{KEY}")
    with pytest.raises(UserError, match=r"^environment\.header_env\.X-Login: its value has a character that no header"):
        Headers.read({}, {"X-Login": "NEMO_TOKEN"})
    with pytest.raises(UserError, match=r"^environment\.headers\.X-Team: its value has a character that no header"):
        Headers.read({"X-Team": "blue\0"}, {})


def test_only_secrets_are_hidden() -> None:
    headers = Headers.read({"X-Team": "blueberry", "X-Api-Key": "sk-12345678", "X-Auth": "short"}, {})
    assert headers.hide("blueberry sk-12345678 short") == "blueberry *** short"
