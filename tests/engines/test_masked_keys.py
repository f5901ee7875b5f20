"""Checks that no part of an API key is shown, wherever an answer has it and however long the answer is."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest
from pydantic import ValidationError

from ray_gym.engines.endpoint import LONGEST_ERROR, Endpoint, EndpointOptions, error_text, no_json, shown_error
from ray_gym.engines.http1.connection import HttpResponse
from ray_gym.printable import masked

KEY = "sk-0123456789abcdefghijk"
OPTIONS = EndpointOptions(base_url="http://127.0.0.1:9/v1", model="small")


def parts_of(key: str) -> list[str]:
    """Returns all parts of a key that are long enough to be told from other text."""
    return [key[start : start + 6] for start in range(len(key) - 5)]


@pytest.mark.parametrize("before", [0, LONGEST_ERROR - 30, LONGEST_ERROR - 12, LONGEST_ERROR - 1, 299, 290, 5000])
@pytest.mark.parametrize("form", ['{"error": {"message": "%s"}}', '{"detail": "%s"}', "%s", '{"error": "%s"}'])
def test_a_key_is_masked_before_the_text_is_cut(before: int, form: str) -> None:
    body = form % f"{'x' * before} {KEY} is not known, {KEY}"
    shown = shown_error(error_text(body), KEY)
    assert not any(part in shown for part in parts_of(KEY)) and len(shown) <= LONGEST_ERROR
    failure = Endpoint(OPTIONS, KEY).failure(error_text(body)).failure
    assert not any(part in failure.message for part in parts_of(KEY))


@pytest.mark.parametrize("before", [0, 70, 85, 99, 395])
def test_a_key_is_masked_in_the_first_words_of_a_body_that_is_no_json(before: int) -> None:
    told = no_json(HttpResponse(200, {}, f"<p>{'x' * before} {KEY} is not known".encode()), KEY)
    assert told and not any(part in told for part in parts_of(KEY))


@pytest.mark.parametrize("key", [KEY, 'p&"ss/w<rd+\\key=', "p'ss/w'rd+++", "ключ-0123 456/789", "a b c d e f"])
@pytest.mark.parametrize(
    "spell",
    [
        str,
        lambda key: quote(key, safe=""),
        lambda key: quote(key),
        lambda key: quote(key, safe="").replace("%2F", "%2f"),
        quote_plus,
        json.dumps,
        lambda key: json.dumps(key, ensure_ascii=False),
        html.escape,
        lambda key: html.escape(key).replace("&#x27;", "&#39;").replace("&quot;", "&#034;"),
        lambda key: html.escape(key).replace("&#x27;", "&apos;"),
        lambda key: json.dumps(key).replace("/", "\\/"),
        lambda key: json.dumps(key).replace("+", "\\u002b"),
        lambda key: json.dumps(key).replace("+", "\\u002B").replace("'", "\\u0027"),
        lambda key: "".join(f"%{byte:02X}" for byte in key.encode()),
    ],
)
def test_a_key_is_masked_however_it_is_spelled(key: str, spell: Callable[[str], str]) -> None:
    assert shown_error(f"unknown: ({spell(key)}).", key).strip('"') in ("unknown: (***).", 'unknown: ("***").')


def test_without_a_key_nothing_is_masked() -> None:
    assert shown_error("no *** here", None) == "no *** here"


def test_a_key_is_masked_in_json_within_json() -> None:
    key = 'sk-"\\/\u00e9-1234567890'
    for asciis in (True, False):
        told = key
        for _ in range(4):
            told = json.dumps({"error": told}, ensure_ascii=asciis)
            assert "1234567890" not in masked(told, key) and "***" in masked(told, key)


@pytest.mark.parametrize(
    "url", ["http://user:sk-abc/DEF456@host/v1", "http://host:sk-abc#DEF456/v1", "http://[sk-abc/DEF456"]
)
def test_no_part_of_a_key_is_shown_of_an_address_that_has_it_whole(url: str) -> None:
    with pytest.raises(ValidationError, match="is not an address like") as raised:
        EndpointOptions(base_url=url, model="small")
    assert "sk-abc" not in str(raised.value.errors()[0]["msg"]).replace(url, "")


LONG = "sk-Abcd-efgh1234_567jkl/mnop"


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("key sk-Abcd-efgh1234_567 (truncated)", "key *** (truncated)"),
        ("bad key sk-Abcd-efgh...jkl/mnop", "bad key ***...***"),
        ("bad key sk-A...mnop", "bad key ***...***"),
        ("Incorrect key: sk-Abc****************mnop.", f"Incorrect key: {'*' * 22}."),
        ("key 'sk-Abcd-ef' in key=sk-Abcd-efgh12", "key '***' in key=***"),
        ("ends in 567jkl/mnop, 567jkl%2Fmnop", "ends in ***, ***"),
        ("key sk-Abcd-ef gh1234_567jkl/mnop", "key *** ***"),
        ("Bearer sk-Abcd-efXXXXXXXX", "Bearer ***XXXXXXXX"),
    ],
)
def test_parts_of_a_key_that_the_endpoint_has_shortened_are_masked(told: str, shown: str) -> None:
    assert shown_error(told, LONG) == shown


@pytest.mark.parametrize(
    ("key", "told"),
    [
        (LONG, "sk-A is no model, mnop; task-Abcd-efgh1234 and risk-Abcd-efgh, ojkl/mnopq"),
        ("password-of-mine", "the password is wrong; a passwordless host, passes... of course"),
        ("test-key-0123", "testing the test: tests... of 0123 keys, key-0"),
        ("Hello", "Hello... Hell..."),
        ("abcd-efgh-word", "a loud ...word of swords, words..."),
        ("testing-international", "international testing is internationally testing"),
    ],
)
def test_ordinary_words_that_begin_as_a_key_does_stay(key: str, told: str) -> None:
    assert shown_error(told, key).replace("***", key) == told


def test_a_long_key_and_a_long_text_are_masked_soon() -> None:
    key = "eyJhbGciOi" + "aB3_" * 500
    told = shown_error("eyJhbGciOiaB3 " * 2000 + key[:1500], key)
    assert "eyJh" not in told
