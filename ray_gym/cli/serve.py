"""Implements `ray-gym serve`: it runs the service over HTTP, until it is told to end."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Annotated

import typer

from ray_gym.cli.output import say
from ray_gym.installed.configs import find_config
from ray_gym.logs import is_json

logger = logging.getLogger(__name__)

LEAVE_S = 10
"""Seconds that the process may take to end once it has said that the service is stopped."""

Log = Annotated[
    str | None, typer.Option(metavar="FORMAT", help="How to log: `plain` or `json`, one object a line (`log.format`).")
]


def serve(
    config: Annotated[
        Path,
        typer.Argument(
            metavar="CONFIG", help="A config (YAML), or a name that `ray-gym configs` lists.", show_default=False
        ),
    ],
    overrides: Annotated[
        list[str] | None,
        typer.Argument(metavar="[KEY=VALUE]...", help="Overrides by dotted key, e.g. `service.port=8080`."),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for GPUs that the cluster does not have yet.")] = False,
    log: Log = None,
) -> None:
    """Open the models and environments of a config to callers over HTTP: rollouts, sessions, and OpenAI's API.

    Stays until Ctrl-C or SIGTERM, and then takes down everything that it started. Started again, it resumes the work in
    its directory (`output.dir`/`service.name`). Callers need a token (`service.tokens`), unless only this machine can
    reach the service.

    Examples:

        ray-gym serve service_scripted

        ray-gym serve mine.yaml service.host=0.0.0.0 service.tokens.file=/etc/ray_gym/tokens
    """
    from ray_gym.errors import RunFailed
    from ray_gym.run.signals import leave_within
    from ray_gym.service.serving import serve as carry_out

    try:
        carry_out(find_config(config), [*(overrides or []), *as_override(log)], say=_say, wait=wait)
    except KeyboardInterrupt:  # typer would end without a word
        raise RunFailed("interrupted before the service was up, or while it went down") from None
    leave_within(LEAVE_S)


def _say(text: str) -> None:
    if is_json():
        logger.info(text)
    else:
        say(text)


def as_override(log: str | None) -> list[str]:
    """Returns the override of `log.format` for the value of `--log`, in a list; [] for None."""
    return [] if log is None else [f"log.format={log}"]
