"""Defines `ray-gym model`, which fetches the small model that the configs name."""

from __future__ import annotations

from ray_gym.cli.output import say

FETCH = "ray_gym.deployments.small_model:fetch"


def model() -> None:
    """Fetch the small model that most configs play (SmolLM2-135M-Instruct) into the cache folder, if it is not there,
    and print its path.

    The folder is `RAY_GYM_CACHE`, else `~/.cache/ray_gym`. The packages that unpack it come with `pip install
    'ray-gym[cpu]'`.
    """
    from ray_gym.load_object import load_object

    say(str(load_object(FETCH, "ray-gym model")()))
