"""Says which parts of a config may change when its run is scored again: how episodes are scored, not what was played."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ray_gym.config.file import read_config_text
from ray_gym.config.sections import RunConfig
from ray_gym.environment import Environment
from ray_gym.episode.participant import Participant
from ray_gym.errors import UserError
from ray_gym.run.plan import make_environment, participants_of
from ray_gym.run.resume import meaning_diff

MAY_CHANGE = (
    "environment.*",
    "limits.score_deadline_s",
    "limits.call_deadline_s",
    "limits.retries.*",
    "groups.incomplete",
    "groups.minimum",
    "fanout.*",
    "log.*",
    "output.*",
)
"""Patterns (of `fnmatch`) of the dotted keys that may change, beside those of participants and models that only score."""


@dataclass(frozen=True, slots=True)
class Change:
    """Holds the config with which a run is scored again, and the parts that are made from it."""

    config: RunConfig
    environment: Environment[Any, Any]
    participants: Mapping[str, Participant]
    """Participants by name."""
    asked_anew: frozenset[str]
    """Auxiliary participants that are others than in the recorded run, so that they are asked again."""

    @property
    def judges(self) -> dict[str, Participant]:
        """Returns the auxiliary participants by name."""
        return {name: one for name, one in self.participants.items() if name in self.environment.auxiliary}


def change_of(text: str, file: str, overrides: Sequence[str]) -> Change:
    """Returns the config of a run with overrides (key=value), and its parts. text: the run's config, as YAML. file: its
    name in messages.

    Errors: UserError for a wrong config or override, for an environment that can't be made, and for a key that must not
    change.
    """
    before, after = read_config_text(text, file), read_config_text(text, file, overrides)
    environment, participants, after = _cast(before, after, file)
    judges = [name for name in after.participants if name in environment.auxiliary]
    allowed = (*MAY_CHANGE, *_keys_of_judges(before, after, judges))
    if refused := meaning_diff(_comparable(before, after), after, allowed):
        raise UserError(
            f"{'; '.join(refused)}: this changes what was played; a run is scored again with other options of the "
            "environment, and other judges, alone"
        )
    return Change(
        after, environment, participants, frozenset(each for each in judges if _is_another(each, before, after))
    )


def _cast(
    before: RunConfig, after: RunConfig, file: str
) -> tuple[Environment[Any, Any], Mapping[str, Participant], RunConfig]:
    """Makes the environment and the participants. Judges that the environment had before, and does not ask any more, are
    left out of the config. Errors: UserError.
    """
    environment = make_environment(after, file)
    wanted = (*environment.participants, *environment.auxiliary)
    surplus = [name for name in after.participants if name not in wanted]
    if surplus and (former := _former_judges(before, file)):
        kept = {name: each for name, each in after.participants.items() if name in wanted or name not in former}
        after = after.with_sections({}, participants=kept)
    return environment, participants_of(after, environment, file), after


def _former_judges(before: RunConfig, file: str) -> tuple[str, ...]:
    """Returns the names of the judges that the recorded config had; none if its options are not valid any more."""
    try:
        return make_environment(before, file).auxiliary
    except UserError:
        return ()


def _comparable(before: RunConfig, after: RunConfig) -> RunConfig:
    """Returns the recorded config without the judges that the new one has left out."""
    kept = {name: each for name, each in before.participants.items() if name in after.participants}
    return before.with_sections({}, participants=kept)


def _keys_of_judges(before: RunConfig, after: RunConfig, judges: Sequence[str]) -> list[str]:
    """Returns patterns for the keys of participants that only score, and of models that nobody else uses."""
    used = {
        section.model
        for config in (before, after)
        for name, section in config.participants.items()
        if name not in judges
    }
    free = [name for name in {**before.models, **after.models} if name not in used]
    return [f"participants.{name}.*" for name in judges] + [
        pattern for name in free for pattern in (f"models.{name}", f"models.{name}.*")
    ]


def _is_another(judge: str, before: RunConfig, after: RunConfig) -> bool:
    """Says whether a judge is another participant than in the recorded run, or has another model."""
    was, now = before.participants.get(judge), after.participants[judge]
    return was != now or before.models.get(now.model) != after.models[now.model]
