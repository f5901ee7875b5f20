"""Turns the words of the command line into a subject."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from ray_gym.check.subject import Subject, subject_of
from ray_gym.config.file import validate
from ray_gym.errors import UserError
from ray_gym.plugins import find_environment


def read_subject(name: str, options: Sequence[str], count: int, seed: int, tasks_file: Path | None) -> Subject:
    """Finds the environment, reads its options, and takes `count` tasks from a file or its generator.

    `options`: words of the form KEY=VALUE. `tasks_file`: file of tasks; None: the tasks are generated. Errors:
    UserError for an unknown environment, bad options or bad rows, or if there are no tasks.
    """
    environment_class = find_environment(name)
    given = validate(environment_class.Options, _options(options), "--option")
    return subject_of(name, environment_class, given, count, seed, tasks_file)


def _options(texts: Sequence[str]) -> dict[str, Any]:
    """Reads options of the form KEY=VALUE, in which the value is YAML. Errors: UserError for any other form."""
    found: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise UserError(f"--option {text!r}: write key=value")
        try:
            found[key] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise UserError(f"--option {text!r}: {value!r} is not valid YAML") from None
    return found
