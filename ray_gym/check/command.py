"""Turns the words of the command line into a subject."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ray_gym.check.subject import Subject, subject_of
from ray_gym.config.file import interpolations_in
from ray_gym.config.interpolations import errors_unfilled
from ray_gym.config.options import WORD, read_options
from ray_gym.data.file_kind import no_file
from ray_gym.errors import UserError
from ray_gym.plugins import find_environment
from ray_gym.wrong_hooks import require_hooks


def read_subject(name: str, options: Sequence[str], count: int, seed: int, tasks_file: Path | None) -> Subject:
    """Finds the environment, reads its options, and takes `count` tasks from a file or its generator.

    `options`: words of the form KEY=VALUE. `tasks_file`: file of tasks; None: the tasks are generated. Errors:
    UserError for an unknown environment, bad options or bad rows, or if there are no tasks.
    """
    environment_class = find_environment(name, "ID")
    require_hooks(environment_class, "ID")
    given = read_options(environment_class.Options, options, name)
    if tasks_file is not None and not tasks_file.is_file():
        raise UserError(f"--tasks-file: {no_file(tasks_file)}")
    filled_in = interpolations_in(options, WORD)
    with errors_unfilled(filled_in):
        subject = subject_of(name, environment_class, given, count, seed, tasks_file)
    return replace(subject, filled_in=filled_in)
