"""Checks that an override that does not fit is told with the one that does."""

from __future__ import annotations

from pathlib import Path

import pytest

from ray_gym.config.file import read_config
from ray_gym.config.sections import RunConfig
from ray_gym.errors import UserError

CONFIG = """
environment: {id: tic_tac_toe}
tasks: {generate: 1}
models: {qwen2.5: {engine: scripted, player: "a:b"}}
participants: {policy: {model: qwen2.5}}
"""
SAMPLING = "participants.policy.sampling"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "dots.yaml"
    path.write_text(CONFIG)
    return path


def read(config: Path, override: str) -> RunConfig:
    return read_config(config, [override])


@pytest.mark.parametrize(
    ("override", "right"),
    [
        (f"{SAMPLING}.stop=[1, 2]", f"{SAMPLING}.stop=['1', '2']"),
        (f"{SAMPLING}={{top_k: 3, stop: [1, ab]}}", f"{SAMPLING}={{'top_k': 3, 'stop': ['1', 'ab']}}"),
        (f"{SAMPLING}.stop=[{{done}}, 'a: b']", f"{SAMPLING}.stop=['{{done}}', 'a: b']"),
        (f"{SAMPLING}={{stop: [1], seed: null}}", f"{SAMPLING}={{'stop': ['1'], 'seed': null}}"),
        (f"{SAMPLING}.stop=</s>", f"{SAMPLING}.stop=['</s>']"),
        (f"{SAMPLING}.stop=it's", f"{SAMPLING}.stop=['it''s']"),
        (f"{SAMPLING}.stop=a #b", f"{SAMPLING}.stop=['a #b']"),
        (f"{SAMPLING}.stop=null", f"{SAMPLING}.stop=[]"),
        ("run.name=12e34567", "run.name='12e34567'"),
        ("participants.policy.stop_text=[it's]", "participants.policy.stop_text='[it''s]'"),
    ],
)
def test_the_form_that_fits_is_told_and_read(config: Path, override: str, right: str) -> None:
    with pytest.raises(UserError) as refused:
        read(config, override)
    assert f': "{right}"' in str(refused.value) and "tuple" not in str(refused.value)
    assert read(config, right)


def test_a_key_with_a_dot_is_told_with_its_brackets(config: Path) -> None:
    with pytest.raises(UserError) as refused:
        read(config, "models.qwen2.5.player=c:d")
    assert str(refused.value).startswith("'models.qwen2.5.player=c:d': a dot parts keys")
    assert "write models[qwen2.5].player=..." in str(refused.value)
    assert read(config, "models[qwen2.5].player=c:d").models["qwen2.5"].options == {"player": "c:d"}
    assert read(config, "models.qwen2.engine=scripted").models["qwen2"].engine == "scripted"


def test_an_infinite_number_is_told_no_quotes(config: Path) -> None:
    with pytest.raises(UserError) as refused:
        read(config, "models[qwen2.5].t=.inf")
    assert "quotes" not in str(refused.value)


def test_an_argument_is_utf_8_whatever_the_locale(config: Path) -> None:
    """Python decodes bytes of an argument that the locale has no characters for as lone surrogates."""
    as_ascii = "participants.policy.stop_text=\xfcber".encode().decode("ascii", "surrogateescape")
    assert read(config, as_ascii).participants["policy"].stop_text == "\xfcber"
    for text in ("\udce9x", "\ud800"):
        with pytest.raises(UserError, match="it is not UTF-8"):
            read(config, f"participants.policy.stop_text={text}")
