"""Defines `ray-gym configs`, `config` and `dashboards`, which list and print files that come with ray_gym, and check
configs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ray_gym.cli.output import say, write
from ray_gym.installed.configs import find_config, ready_configs
from ray_gym.installed.place import PACKAGE

Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[KEY=VALUE]...", help="Overrides by dotted key, e.g. `tasks.limit=8 run.seed=1`.", show_default=False
    ),
]


def configs() -> None:
    """List the configs that come with ray_gym, with a sentence about each. Commands that take a config file also take
    such a name.

    Examples:

        ray-gym rollout tic_tac_toe_scripted

        ray-gym config tic_tac_toe > mine.yaml
    """
    ready = ready_configs()
    width = max(len(each.name) for each in ready)
    say("\n".join(f"{each.name:<{width}}  {each.summary}" for each in ready))


def config(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="A run config (YAML), or the name of one.", show_default=False)
    ],
    overrides: Overrides = None,
) -> None:
    """Check a config and print it with all defaults filled in. A name without overrides prints the file of that config,
    as a start for your own.

    Examples:

        ray-gym config mine.yaml tasks.limit=8

        ray-gym config tic_tac_toe > mine.yaml
    """
    from ray_gym.config.file import as_yaml, read_config
    from ray_gym.hosting.import_paths import import_from
    from ray_gym.run.plan import make_plan

    path = find_config(config)
    if path != config and not overrides:
        write(next(each for each in ready_configs() if each.path == path).copy())
        return
    read = read_config(path, overrides or [])
    import_from(path.parent)
    plan = make_plan(read, path)
    options = plan.environment.options.model_dump(mode="json")
    write(as_yaml(read.as_written(environment={"id": read.environment.id, **options})))
    say(f"# {len(plan.specs)} episodes")


def dashboards() -> None:
    """Print the paths of the Grafana dashboards that come with ray_gym, one a line; see `docs/metrics.md`.

    Example:

        cp $(ray-gym dashboards) /tmp/ray/session_latest/metrics/grafana/dashboards/
    """
    say("\n".join(map(str, sorted((PACKAGE / "grafana").glob("*.json")))))
