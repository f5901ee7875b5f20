"""Checks that a ${...} that can't be filled in is told by its place, its cause and what to write instead."""

from __future__ import annotations

import pytest

from ray_gym.config.file import merge_overrides
from ray_gym.errors import UserError

VARIABLE = "an environment variable is ${oc.env:NAME}; for a text with a literal ${, write \\${"


def told(text: str, *overrides: str) -> str:
    with pytest.raises(UserError) as caught:
        merge_overrides(text, "c.yaml", overrides)
    return str(caught.value)


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("${oc.env:NOPE}", "the environment variable NOPE is not set; with a default: ${oc.env:NOPE,VALUE}"),
        ("a/${oc.env:NOPE}", "the environment variable NOPE is not set; with a default: ${oc.env:NOPE,VALUE}"),
        ("${oc.env:NOPE:-x}", "the default of an environment variable stands behind a comma: ${oc.env:NOPE,x}"),
        ("${NOPE:-x}", "there is no ${NOPE:...}; did you mean ${oc.env:NOPE,x}?"),
        ("${env:HOME}", "there is no ${env:...}; did you mean ${oc.env:HOME}?"),
        ("${oc.envv:HOME}", "there is no ${oc.envv:...}; did you mean ${oc.env:HOME}?"),
        ("${oc.env.HOME}", "there is no key oc.env.HOME in the config; did you mean ${oc.env:HOME}?"),
        ("${HOME}/runs", "there is no key HOME in the config; did you mean ${oc.env:HOME}?"),
        ("${tasks.limits}", "there is no key tasks.limits in the config; did you mean ${tasks.limit}?"),
        ("${foo}", f"there is no key foo in the config; {VARIABLE}"),
        ("${now:%Y}", f"there is no ${{now:...}}; {VARIABLE}"),
        ("${output.dir}", "its ${...} leads back to itself"),
    ],
)
def test_a_place_a_cause_and_a_remedy_are_told(written: str, why: str) -> None:
    text = "tasks: {limit: 3}\noutput: {dir: '%s'}\n"
    assert told(text % written) == f"c.yaml: output.dir: {why}"
    assert told(text % "runs", f"output.dir={written}") == f"'output.dir={written}': output.dir: {why}"
