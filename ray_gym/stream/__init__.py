"""Delivers finished groups to a trainer in the trainer's own process.

The groups that are played ahead of the trainer are bounded in number. An acknowledged group never comes again.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ray_gym.stream.group import Group

if TYPE_CHECKING:
    from ray_gym.stream.blocking import BlockingMixture, BlockingStream
    from ray_gym.stream.kept_models import OpenModels, open_models, play_tasks
    from ray_gym.stream.mixture import Mixture
    from ray_gym.stream.opening import open_mixture, open_stream
    from ray_gym.stream.sampler import TaskRate
    from ray_gym.stream.stream import Stream

__all__ = [
    "BlockingMixture",
    "BlockingStream",
    "Group",
    "Mixture",
    "OpenModels",
    "Stream",
    "TaskRate",
    "open_mixture",
    "open_models",
    "open_stream",
    "play_tasks",
]

_LATER = {
    "BlockingMixture": "blocking",
    "BlockingStream": "blocking",
    "Mixture": "mixture",
    "OpenModels": "kept_models",
    "Stream": "stream",
    "TaskRate": "sampler",
    "open_mixture": "opening",
    "open_models": "kept_models",
    "open_stream": "opening",
    "play_tasks": "kept_models",
}
"""Modules of names that are imported only when used: they bring Ray along, of which a trainer that gets its groups by
`ray_gym.Client` may have another version, or none."""


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f"ray_gym.stream.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
