"""Every command in cluster/ and in docs/cluster.md is one that exists, with options that it has; every config that they name loads."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest
import typer
import yaml
from conftest import REPOSITORY
from manifests import CLUSTER, INSTALLED, document, serve_config
from ray.runtime_env import RuntimeEnv
from ray.scripts.scripts import cli as ray_cli
from typer._click.exceptions import UsageError

import ray_gym.deployments.held_service
from ray_gym.cli.app import app
from ray_gym.config.file import read_config
from ray_gym.deployments.held_service import HeldService
from ray_gym.load_object import load_object
from ray_gym.run.plan import make_plan

FILES = [*sorted(path for path in CLUSTER.rglob("*") if path.is_file() and "__pycache__" not in path.parts)]
FILES += [REPOSITORY / "docs" / "cluster.md"]
GYM = typer.main.get_command(app)


def commands(file: Path, program: str) -> list[list[str]]:
    """Returns the arguments of a file's command lines that begin with `program`, continued lines joined: in scripts,
    YAML values, comments and code blocks.
    """
    text = file.read_text().replace("\\\n", " ")
    text = re.sub(r">-\n\s+(.*(?:\n\s{4,}\S.*)*)", lambda found: " ".join(found[1].split()), text)  # folded scalars
    lines = [re.sub(r"^(\s|[-#>$]\s|\w+: )*", "", line) for line in text.splitlines()]
    found = [part.strip() for line in lines for part in re.split(r"&&|\|", line)]
    return [shlex.split(line, comments=True)[1:] for line in found if re.match(rf"{program} [a-z]", line)]


def parse(command: Any, arguments: list[str]) -> None:
    """Parses a command's arguments and its subcommands'. Errors: click's, for an unknown command or option."""
    context = command.make_context(command.name or "", list(arguments))
    while hasattr(command, "resolve_command"):  # typer has a click of its own
        _, inner, rest = command.resolve_command(context, context._protected_args + context.args)
        context = inner.make_context(inner.name or "", rest, parent=context)
        command = inner


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_commands_exist(file: Path) -> None:
    for arguments in commands(file, "ray-gym"):
        parse(GYM, arguments)
    for arguments in commands(file, "ray"):
        if arguments[0] not in ("list", "metrics"):  # of other groups, which Ray adds at run time
            parse(ray_cli, [re.sub(r"\$\{?\w+\}?", "1", argument) for argument in arguments])


def test_the_reader_of_commands_finds_them() -> None:
    found = {name: len(commands(CLUSTER / name, "ray-gym")) for name in ("pools.yaml", "slurm.sh")}
    assert found == {"pools.yaml": 2, "slurm.sh": 1}
    assert len(commands(CLUSTER / "ray_up.yaml", "ray")) >= 7
    with pytest.raises(UsageError):
        parse(GYM, ["rollout", "x.yaml", "--wayt"])
    with pytest.raises(UsageError):
        parse(GYM, ["rolout", "x.yaml"])
    with pytest.raises(click.UsageError):
        parse(ray_cli, ["start", "--hed"])


def named_configs(text: str) -> set[str]:
    return {name for name in re.findall(r"[\w./-]+\.yaml", text) if "pools" in name or "configs/" in name}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_configs_that_are_named_load_and_make_a_plan(file: Path) -> None:
    for name in named_configs(file.read_text()):
        path = REPOSITORY / name.removeprefix(INSTALLED)
        if "/" not in name:  # said in a sentence
            path = CLUSTER / name
        make_plan(read_config(path), path)


def test_what_serve_imports_is_there_and_takes_its_arguments() -> None:
    [application] = serve_config()["applications"]
    build = load_object(application["import_path"], "import_path")
    assert build is ray_gym.deployments.held_service.build
    arguments = HeldService.model_validate(application["args"])
    assert (REPOSITORY / arguments.config.removeprefix(INSTALLED)).is_file()
    parse(GYM, ["serve", arguments.config, *arguments.overrides])


def test_the_job_of_kubernetes_is_a_run_in_an_environment_that_ray_takes() -> None:
    job = document("kuberay/job.yaml")["spec"]
    parse(GYM, shlex.split(job["entrypoint"])[1:])
    assert RuntimeEnv(**yaml.safe_load(job["runtimeEnvYAML"])).env_vars() == {"RAY_JOB_STOP_WAIT_TIME_S": "60"}


def test_scripts_are_read_by_bash() -> None:
    for script in CLUSTER.rglob("*.sh"):
        subprocess.run(["bash", "-n", str(script)], check=True, timeout=10)
        assert script.stat().st_mode & 0o100
        text = script.read_text()
        assert "set -euo pipefail" in text
        plain = re.sub(r"'[^']*'", "", re.sub(r"#.*", "", text))
        unquoted = [
            line
            for line in plain.splitlines()
            if re.search(r'(?<!["\w=:/{])\$\w+(?!["\w])', re.sub(r'"[^"]*"', '""', line))
        ]
        assert [line for line in unquoted if "run=$!" not in line and "[[" not in line] == []
