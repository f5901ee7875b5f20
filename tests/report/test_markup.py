"""A report takes all that comes from data as text, and refuses to make what could be more."""

from __future__ import annotations

import base64
import hashlib
import html
import re

import pytest
from browsed_runs import PAYLOADS

from ray_gym.printable import printable
from ray_gym.report.bounds import LONGEST_TEXT, Allowance
from ray_gym.report.markup import element, text_of
from ray_gym.report.page import document, policy
from ray_gym.report.texts import laid_out, text_block


@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_payload_is_text_and_an_attribute_of_its_own(payload: str) -> None:
    made = element("p", payload, title=payload).html
    found = re.fullmatch(r'<p title="([^"<>]*)">([^<>]*)</p>', made)
    assert found is not None
    assert html.unescape(found[1]) == html.unescape(found[2]) == printable(payload)


def test_lone_surrogates_and_marks_of_direction_are_written_as_escapes() -> None:
    made = text_of(["\ud800", "\u202eevil\u202c", "\x1b[31m"])
    assert made == "\\ud800\\u202eevil\\u202c\\x1b[31m" and made.encode()


@pytest.mark.parametrize(
    ("tag", "attributes"),
    [
        ("script", {}),
        ("iframe", {}),
        ("p onclick", {}),
        ("p", {"style": "color: red"}),
        ("p", {"onclick": "go()"}),
        ("img", {"src": "x"}),
        ("a", {"href": "javascript:go()"}),
        ("a", {"href": "https://example.com"}),
    ],
)
def test_what_could_run_or_fetch_is_refused(tag: str, attributes: dict[str, str]) -> None:
    with pytest.raises(ValueError):
        element(tag, **attributes)


def test_attributes_that_are_none_or_false_are_left_out() -> None:
    assert element("details", open=True, class_=None, hidden=False).html == "<details open></details>"
    assert element("meta", http_equiv="x").html == '<meta http-equiv="x">'


def test_the_policy_lets_the_style_in_and_nothing_else() -> None:
    page = "".join(document("<title>", [("one", "One", iter(["a", element("p")]))], None))
    [style] = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy().startswith(f"default-src 'none'; style-src 'sha256-{digest}';")
    assert "<title>&lt;title&gt;</title>" in page and "url(" not in style and "@import" not in style


def test_a_long_text_is_cut_with_a_word_about_the_rest_and_takes_the_allowance() -> None:
    allowance = Allowance(10_000, 0)
    assert "9,996,000 more characters are left out" in text_block("x" * 10_000_000, allowance).html
    assert 10_000 - LONGEST_TEXT - 100 < allowance.text <= 10_000 - LONGEST_TEXT
    spent = Allowance(0, 0)
    assert "4 more characters" in text_block("tail", spent).html and "tail" not in text_block("tail", spent).html


def test_json_is_laid_out_and_anything_else_stays() -> None:
    assert laid_out('{"a":1}') == '{"a": 1}'
    assert laid_out('{"order": "' + "x" * 90 + '"}').startswith('{\n  "order"')
    assert laid_out('{"order": ') == '{"order": ' and laid_out("[" * 10_000) == "[" * 10_000
