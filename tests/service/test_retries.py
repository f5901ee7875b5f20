"""Checks what is sent again, and when."""

from __future__ import annotations

import time
from email.utils import formatdate

import httpx
import pytest

from ray_gym.client.address import Address
from ray_gym.client.errors import ServiceError
from ray_gym.client.replies import CallOutcome, ServiceReply
from ray_gym.client.retries import Patience, Retries


def retries(patience: Patience | None = None, within_s: float | None = None) -> Retries:
    return Retries("GET http://service/v1/rollouts", patience or Patience(), within_s)


def refusal(status: int, retry_after: str | None = None) -> ServiceReply:
    headers = {} if retry_after is None else {"retry-after": retry_after}
    return ServiceReply(status, b"", httpx.Headers(headers))


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_passing_refusals_are_asked_again(status: int) -> None:
    assert 0.25 <= retries().pause_s(refusal(status)) <= 0.5


def test_what_is_not_there_yet_is_asked_again_when_that_helps() -> None:
    assert 3 < retries().pause_s(refusal(409, "3")) <= 3.5
    with pytest.raises(ServiceError, match="409"):
        retries().pause_s(refusal(409))


@pytest.mark.parametrize("status", [301, 400, 401, 404, 413, 422, 500, 501])
def test_others_are_not(status: int) -> None:
    with pytest.raises(ServiceError) as caught:
        retries().pause_s(refusal(status, "0"))
    assert (caught.value.status, caught.value.code, caught.value.tries) == (status, f"http_{status}", 1)


def test_pauses_double_until_the_tries_are_used_up() -> None:
    once = retries(Patience(tries=4, first_pause_s=1))
    for longest in (1, 2, 4):
        assert longest / 2 <= once.pause_s(httpx.ConnectError("refused")) <= longest
    with pytest.raises(ConnectionError, match=r"GET http://service/v1/rollouts.*refused.*4 tries.*is the service up"):
        once.pause_s(httpx.ConnectError("refused"))


def test_a_proxy_is_named_where_nobody_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://me:secret@p.test:1")
    told = (
        r"\(ConnectError: refused, through the proxy http://p\.test:1 of http_proxy; NO_PROXY=service goes without it\)"
    )
    with pytest.raises(ConnectionError, match=told):
        retries(Patience(tries=1)).pause_s(httpx.ConnectError("refused"))
    monkeypatch.setenv("http_proxy", "socks5://p.test:1")
    with pytest.raises(ValueError, match="calls go through proxies with http:// or https:// only"):
        Address.check_address("http://service", None)


def test_whoever_is_told_when_to_come_back_may_come_often() -> None:
    patient = retries(Patience(tries=2))
    for _ in range(20):
        assert 7 < patient.pause_s(refusal(429, "7")) <= 7.5
    patient.pause_s(httpx.ReadError("broken"))
    with pytest.raises(ConnectionError, match="22 tries"):
        patient.pause_s(httpx.ReadError("broken"))


IN_AN_HOUR = formatdate(time.time() + 3600, usegmt=True)


@pytest.mark.parametrize("said", ["61", "9" * 400, pytest.param(IN_AN_HOUR, id="in an hour")])
def test_what_lies_beyond_the_deadline_is_not_waited_for(said: str) -> None:
    with pytest.raises(ServiceError) as caught:
        retries(within_s=60).pause_s(refusal(503, said))
    assert caught.value.status == 503


def test_a_time_to_come_back_is_seconds_or_a_date() -> None:
    assert refusal(503, "3").retry_after_s == 3
    assert refusal(503, formatdate(0, usegmt=True)).retry_after_s == 0
    in_an_hour = refusal(503, formatdate(time.time() + 3600, usegmt=True)).retry_after_s
    assert in_an_hour is not None and 3500 <= in_an_hour <= 3600


@pytest.mark.parametrize("said", ["", "-1", "soon", "1.5", "\u0663", "Mon, 99 Nov 99999 00:00:00 GMT"])
def test_any_other_is_none(said: str) -> None:
    assert ServiceReply(503, b"", {"Retry-After": said}).retry_after_s is None


@pytest.mark.parametrize(
    ("outcome", "error"),
    [(httpx.ReadTimeout("late"), TimeoutError), (httpx.ReadError("broken"), ConnectionError)],
)
def test_the_deadline_is_that_of_all_tries(outcome: CallOutcome, error: type[Exception]) -> None:
    with pytest.raises(error, match="in 1 tries"):
        retries(within_s=0).pause_s(outcome)
