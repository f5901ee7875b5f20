"""Computes a fingerprint of a run's environment and tasks. It is kept beside the run's config, so that a resume notices
other tasks under the same name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import xxhash

from ray_gym.episode.spec import EpisodeSpec
from ray_gym.errors import UserError
from ray_gym.paths import absolute_path

if TYPE_CHECKING:
    from ray_gym.run.plan import Plan


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Identifies the environment and the planned episodes of a run."""

    environment: str
    """Class of the environment, as module:qualname."""
    episodes: int
    """Number of planned episodes."""
    digest: str
    """xxh3 hash (128 bits, hexadecimal) of the ids and tasks of all planned episodes."""
    folder: str = ""
    """Folder of the config's file, from which a resume imports modules; empty if it is not known. It is not compared."""
    scored_from: str = ""
    """Location of the run whose episodes were scored again (`ray-gym score`); empty for a run that was played. It is not
    compared."""

    @classmethod
    def of(cls, plan: Plan, folder: Path | None = None) -> Fingerprint:
        """Computes the fingerprint of a plan from the class of its environment, and the ids and tasks of its episodes.
        `folder`: that of the config's file.
        """
        environment, place = type(plan.environment), str(absolute_path(folder)) if folder is not None else ""
        name = f"{environment.__module__}:{environment.__qualname__}"
        return cls(name, len(plan.specs), digest(plan.specs), place)

    def as_json(self) -> str:
        """Returns the fingerprint as the JSON text of plan.json."""
        kept = {key: value for key, value in asdict(self).items() if key != "scored_from" or value}
        return json.dumps(kept, indent=2) + "\n"

    def check(self, now: Fingerprint, run: str, source: str) -> None:
        """Checks that a resumed run has the environment and the episodes that it began with. `self` is the fingerprint
        that the run has kept.

        now: fingerprint of the plan that would be played. run: location of the run, for messages. source: origin of the
        tasks, for messages.

        Errors: UserError if the class of the environment, the number of episodes, or their ids or tasks differ. A kept
        class name may lack the prefix `ray_gym.`, since it had none before version 0.2.
        """
        if now.environment not in (self.environment, f"ray_gym.{self.environment}"):  # as it was called before 0.2
            raise UserError(
                f"--resume: {run} was played in {self.environment}, and environment.id is {now.environment} now; "
                "start a new run for another environment"
            )
        if (now.episodes, now.digest) != (self.episodes, self.digest):
            counts = f" ({self.episodes} episodes then, {now.episodes} now)" if now.episodes != self.episodes else ""
            raise UserError(
                f"--resume: {run} began with other tasks than {source} gives now{counts}; "
                "put the old ones back, or start a new run for the new ones"
            )


def digest(specs: Iterable[EpisodeSpec]) -> str:
    """Returns the xxh3 hash (128 bits, as 32 hexadecimal digits) of the ids and tasks of episodes. Their order
    counts.
    """
    hashed = xxhash.xxh3_128()
    for spec in specs:
        hashed.update(json.dumps([spec.episode_id, spec.task]).encode() + b"\n")
    return hashed.hexdigest()
