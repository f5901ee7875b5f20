"""Reads the callers' tokens. They stay in the process that reads them: gateways get keyed digests."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import re
import secrets
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from ray_gym.config.sections import TokensSection
from ray_gym.errors import UserError
from ray_gym.paths import home_expanded

SHORTEST = 16
"""Smallest number of characters of a token."""
SECRET = "secret"
"""Name of the file with the service's secret, in the service's directory. Digests and session keys are keyed with it,
so they are the same in all gateways, and after a restart.
"""
SECRET_BYTES = 32
"""Length of the secret."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_TOKEN = re.compile(r"[\x21-\x7e]+")


def read_tokens(section: TokensSection, folder: Path) -> dict[str, str]:
    """Returns the callers' tokens, by the caller's name, from a file, an environment variable, or both. `folder`:
    folder of the config. A relative path starts there or, if the file isn't there, in the working directory.

    Errors: UserError if neither is set, one can't be read, or a name or token is malformed or given twice. It never
    shows a token.
    """
    if section.file is None and section.env is None:
        raise UserError("service.tokens: set file (lines of NAME TOKEN), env (an environment variable), or both")
    pairs: list[tuple[str, str, str]] = []
    if section.file is not None:
        pairs += _read_file(_locate(section.file, folder.absolute()))
    if section.env is not None:
        pairs += _read_environment(section.env)
    return _check_tokens(pairs)


def digest(secret: bytes, token: str) -> bytes:
    """Returns the keyed digest of a token (HMAC-SHA256, 32 bytes)."""
    return hmac.digest(secret, b"token\0" + token.encode(), hashlib.sha256)


def digests(secret: bytes, tokens: Mapping[str, str]) -> dict[str, bytes]:
    """Returns the keyed digests of tokens, by the caller's name."""
    return {name: digest(secret, token) for name, token in tokens.items()}


def make_secret(directory: Path) -> bytes:
    """Returns the service's secret, which is created at the service's first start. Errors: UserError if the file can't
    be written or read, is incomplete, or is open to others than its owner.
    """
    path = directory / SECRET
    if not path.exists():
        draft = directory / f".{SECRET}-{secrets.token_hex(8)}"
        try:
            directory.mkdir(parents=True, exist_ok=True)
            draft.touch(mode=0o600, exist_ok=False)
            draft.write_bytes(secrets.token_bytes(SECRET_BYTES))
            with contextlib.suppress(FileExistsError):  # another process has created it at the same time
                os.link(draft, path)
        except OSError as error:
            raise UserError(f"output.dir: can't write {path}: {error.strerror or error}") from None
        finally:
            draft.unlink(missing_ok=True)
    return read_secret(directory)


def read_secret(directory: Path) -> bytes:
    """Returns the service's secret (32 bytes). Errors: UserError if the file is missing or incomplete, or if others
    than its owner have any access to it.
    """
    path = directory / SECRET
    found = _read_private(path, "the service's secret")
    if len(found) != SECRET_BYTES:
        raise UserError(f"{path}: the service's secret has to be {SECRET_BYTES} bytes; remove it for a new one")
    return found


def _locate(file: str, folder: Path) -> Path:
    """Returns the path of the token file: in the config's folder, or else in the working directory. Errors: UserError
    if neither has it.
    """
    places = dict.fromkeys(start / home_expanded(file, "service.tokens.file") for start in (folder, Path.cwd()))
    for place in places:
        if place.exists():
            return place
    raise UserError(f"service.tokens.file: there is no file {' nor '.join(map(str, places))}")


def _read_file(path: Path) -> Iterable[tuple[str, str, str]]:
    """Yields (place for errors, name, token) for each line of a token file that is neither empty nor a comment. Errors:
    UserError if the file can't be read, is not UTF-8 or is open to others, or if a line is not NAME TOKEN.
    """
    try:
        text = _read_private(path, "service.tokens.file").decode()
    except UnicodeDecodeError:
        raise UserError(f"service.tokens.file: {path} is not UTF-8") from None
    for number, line in enumerate(text.splitlines(), 1):
        where = f"service.tokens.file: {path}:{number}"
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 2:
            raise UserError(f"{where}: expected NAME TOKEN, found {len(words)} words")
        yield where, words[0], words[1]


def _read_environment(variable: str) -> Iterable[tuple[str, str, str]]:
    """Yields (place for errors, name, token) for each NAME=TOKEN in an environment variable. Errors: UserError if it is
    not set, or if a word in it has no `=`.
    """
    text = os.environ.get(variable)
    if text is None:
        raise UserError(f"service.tokens.env: the environment variable {variable} is not set")
    for number, pair in enumerate(text.split(), 1):
        where = f"service.tokens.env: {variable}, pair {number}"
        name, equals, token = pair.partition("=")
        if not equals:
            raise UserError(f"{where}: expected NAME=TOKEN")
        yield where, name, token


def _check_tokens(pairs: Iterable[tuple[str, str, str]]) -> dict[str, str]:
    """Returns the tokens by the caller's name. Errors: UserError if there are none, if a name or token is malformed, or
    if one is given twice.
    """
    tokens: dict[str, str] = {}
    for where, name, token in pairs:
        if not _NAME.fullmatch(name):
            raise UserError(f"{where}: a name is 1 to 64 letters, digits, dots, dashes, @ or underscores")
        if len(token) < SHORTEST:
            raise UserError(
                f"{where}: the token of {name} is shorter than {SHORTEST} characters; try `openssl rand -hex 32`"
            )
        if not _TOKEN.fullmatch(token):
            raise UserError(f"{where}: the token of {name} is not printable ASCII")
        if name in tokens:
            raise UserError(f"{where}: {name} has a token already")
        if token in tokens.values():
            raise UserError(f"{where}: the token of {name} is another caller's, too")
        tokens[name] = token
    if not tokens:
        raise UserError("service.tokens: there are no tokens in it")
    return tokens


def _read_private(path: Path, what: str) -> bytes:
    """Returns the content of a file. `what`: name of the file for errors. Errors: UserError if it can't be read, or if
    others than its owner have any access to it.
    """
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode & 0o077:
                raise UserError(f"{what}: others than its owner can read {path} (mode {mode:o}); chmod 600 {path}")
            return file.read()
    except OSError as error:
        raise UserError(f"{what}: can't read {path}: {error.strerror or error}") from None
