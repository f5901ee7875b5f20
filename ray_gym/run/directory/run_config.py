"""Reads the config that a run has kept of itself, and tells damage from mistakes."""

from __future__ import annotations

from ray_gym.config.file import read_config_text
from ray_gym.config.sections import RunConfig
from ray_gym.errors import UserError

MEND = "put a copy of it in its place"


def read_run_config(data: bytes, file: str) -> RunConfig:
    """Reads a run's config from the content of its run.yaml. `file` names it in messages. Errors: UserError if it is
    empty, as after a machine has lost power, or can't be read, or has wrong values.
    """
    if not data.strip(b"\0 \t\r\n"):
        raise UserError(f"{file}: this file is damaged (it is empty); {MEND}")
    try:
        return read_config_text(data.decode(), file)
    except UnicodeDecodeError as error:
        raise UserError(f"{file}: this is no text in UTF-8: {error}") from None
    except UserError as error:
        if ": not valid YAML: " not in str(error):
            raise
        raise UserError(f"{error}; if nobody has edited it, it is damaged: {MEND}") from None
