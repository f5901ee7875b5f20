"""Checks where tokens come from, and what is refused without ever showing one."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from ray_gym.config.sections import TokensSection
from ray_gym.deployments.gateway.guards.tokens import SECRET, make_secret, read_secret, read_tokens
from ray_gym.errors import UserError

LONG = "0123456789abcdef"


def written(folder: Path, text: str, mode: int = 0o600) -> TokensSection:
    path = folder / "tokens"
    path.write_text(text)
    path.chmod(mode)
    return TokensSection(file="tokens")


def error_of(folder: Path, section: TokensSection) -> str:
    with pytest.raises(UserError) as caught:
        read_tokens(section, folder)
    return str(caught.value)


def test_a_file_and_a_variable_are_read_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    section = written(tmp_path, f"# who may call\n\nalice {LONG}\n  #bob x\n").model_copy(update={"env": "CALLERS"})
    monkeypatch.setenv("CALLERS", f"carol=c{LONG} dave=d{LONG}=\n")
    assert read_tokens(section, tmp_path) == {"alice": LONG, "carol": f"c{LONG}", "dave": f"d{LONG}="}


def test_a_file_that_the_config_s_folder_lacks_is_looked_up_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "configs"
    section = written(tmp_path, f"alice {LONG}\n")
    monkeypatch.chdir(tmp_path)
    assert read_tokens(section, elsewhere) == {"alice": LONG}
    elsewhere.mkdir()
    written(elsewhere, f"bob {LONG}\n")
    assert read_tokens(section, elsewhere) == {"bob": LONG}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o620])
def test_a_file_that_others_can_open_is_refused(tmp_path: Path, mode: int) -> None:
    section = written(tmp_path, f"alice {LONG}\n", mode)
    told = error_of(tmp_path, section)
    assert f"(mode {mode:o})" in told and f"chmod 600 {tmp_path}/tokens" in told and LONG not in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("alice short", "tokens:1: the token of alice is shorter than 16 characters"),
        (f"# x\nalice {LONG} more", "tokens:2: expected NAME TOKEN, found 3 words"),
        (f"{LONG}", "tokens:1: expected NAME TOKEN, found 1 words"),
        (f"al/ice {LONG}", "tokens:1: a name is"),
        (f"alice {LONG}é", "tokens:1: the token of alice is not printable ASCII"),
        (f"alice {LONG}\nalice {LONG}2", "tokens:2: alice has a token already"),
        (f"alice {LONG}\nbob {LONG}", "tokens:2: the token of bob is another caller's, too"),
        ("# nobody", "service.tokens: there are no tokens in it"),
    ],
)
def test_a_wrong_line_is_told_without_its_token(tmp_path: Path, text: str, told: str) -> None:
    message = error_of(tmp_path, written(tmp_path, text))
    assert told in message and LONG not in message


def test_what_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "set file" in error_of(tmp_path, TokensSection())
    places = f"there is no file {tmp_path}/none nor {Path.cwd()}/none"
    assert places in error_of(tmp_path, TokensSection(file="none"))
    monkeypatch.delenv("CALLERS", raising=False)
    assert "the environment variable CALLERS is not set" in error_of(tmp_path, TokensSection(env="CALLERS"))
    monkeypatch.setenv("CALLERS", LONG)
    message = error_of(tmp_path, TokensSection(env="CALLERS"))
    assert "CALLERS, pair 1: expected NAME=TOKEN" in message and LONG not in message


def test_the_secret_is_made_once_and_is_its_owner_s_alone(tmp_path: Path) -> None:
    directory = tmp_path / "runs" / "service"
    made = make_secret(directory)
    assert made == make_secret(directory) == read_secret(directory) and len(made) == 32
    assert stat.S_IMODE((directory / SECRET).stat().st_mode) == 0o600
    assert [path.name for path in directory.iterdir()] == [SECRET]
    assert make_secret(tmp_path / "other") != made


def test_a_secret_that_others_can_read_or_that_is_cut_is_refused(tmp_path: Path) -> None:
    make_secret(tmp_path)
    (tmp_path / SECRET).chmod(0o644)
    with pytest.raises(UserError, match="others than its owner can read"):
        read_secret(tmp_path)
    (tmp_path / SECRET).chmod(0o600)
    (tmp_path / SECRET).write_bytes(b"")
    with pytest.raises(UserError, match="has to be 32 bytes"):
        make_secret(tmp_path)
