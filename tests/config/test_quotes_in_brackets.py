"""Checks what is told about a ${...} in brackets of YAML without quotes."""

from __future__ import annotations

import pytest

from ray_gym.config.file import merge_overrides
from ray_gym.errors import UserError


@pytest.mark.parametrize(
    ("text", "line", "written"),
    [
        ("participants: {policy: {model: ${oc.env:M}}}", 1, "${oc.env:M}"),
        ("a: 1\nb: [x, ${oc.env:M}]\n", 2, "${oc.env:M}"),
        ("a: {\n  b: 1,\n  c: x-${a.b}/y}\n", 3, "${a.b}"),
        ("a: {${run.seed}: 1}", 1, "${run.seed}"),
        ("a: {b: ${oc.env:M,5}}", 1, "${oc.env:M,5}"),
    ],
)
def test_an_interpolation_in_brackets_has_to_be_in_quotes(text: str, line: int, written: str) -> None:
    with pytest.raises(UserError) as caught:
        merge_overrides(text, "x", [])
    told = f'x:{line}: not valid YAML: ${{...}} within {{...}} or [...] has to be in quotes: "{written}"'
    assert str(caught.value) == told


@pytest.mark.parametrize("text", ["a: {b: ${oc.env:'M'}}", "a: {b: ${oc.env:${M}}}", "a: [${"])
def test_one_that_can_not_be_shown_has_no_example(text: str) -> None:
    with pytest.raises(UserError, match=r"^x:1: not valid YAML: .* has to be in quotes$"):
        merge_overrides(text, "x", [])


def test_overrides_tell_it_too() -> None:
    with pytest.raises(UserError, match=r'has to be in quotes: "\$\{oc.env:M\}"'):
        merge_overrides("{}", "x", ["participants={policy: {model: ${oc.env:M}}}"])


def test_in_quotes_it_is_filled_in() -> None:
    assert merge_overrides('a: {b: "${c}"}\nc: 5', "x", [])["a"] == {"b": 5}
