"""Wraps one environment of the library, so that it is played by text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ray_gym.envs.gymnasium import actions, observations
from ray_gym.envs.gymnasium.library import library

Shown = Literal["auto", "space", "ansi"]
"""Ways to show observations. space: as the space gives them; ansi: with a picture; auto: with a picture if there is
one."""


class NotByText(ValueError):
    """Says why an environment of the library can't be played by text."""


@dataclass(slots=True)
class GymnasiumGame:
    """A game is the state of one episode. Its methods may block."""

    environment: Any
    """The library's environment."""
    names: Sequence[str]
    """Names of the actions of a discrete space, or empty."""
    observation: str = ""
    """Last observation as text."""
    reward: float = 0.0
    """Sum of the rewards of the steps so far."""
    steps: int = 0
    """Number of steps so far."""
    mistakes: int = 0
    """Number of answers without an action so far."""
    outcome: str | None = None
    """Reason for the game's end; None while it goes on."""
    was_played: bool = False
    """True if the library ended the game; False while it goes on, or if a limit or mistakes ended it."""

    def reset(self, seed: int, options: dict[str, Any]) -> None:
        """Resets the library's environment, and keeps the first observation."""
        observation, _ = self.environment.reset(seed=seed, options=options or None)
        self._observe(observation)

    def step(self, action: Any) -> None:
        """Takes an action of the space, keeps the observation, adds the reward, and sets `outcome` if the library ended
        the game.
        """
        observation, reward, terminated, truncated, _ = self.environment.step(action)
        self.steps += 1
        self.reward += float(reward)
        self._observe(observation)
        if terminated or truncated:
            self.outcome = "terminated" if terminated else "truncated"
            self.was_played = True

    def close(self) -> None:
        """Closes the library's environment."""
        self.environment.close()

    def _observe(self, observation: Any) -> None:
        self.observation = f"Observation: {observations.as_text(observation)}"
        if self.environment.render_mode == "ansi":
            self.observation = f"{observations.without_escapes(self.environment.render())}\n{self.observation}"


def make(name: str, arguments: dict[str, Any], shown: Shown, action_names: Sequence[str]) -> GymnasiumGame:
    """Makes a game that is not reset yet. `action_names`: of a discrete space, or empty for the library's own names.

    Errors: NotByText if the game can't be played by text, or has not as many actions as names; NotInstalled; exceptions
    of the library for an unknown name or arguments.
    """
    gymnasium = library()
    spec = gymnasium.spec(name)
    if shown != "space" and "render_mode" not in arguments:
        modes = _metadata(gymnasium, spec).get("render_modes", [])
        if "ansi" in modes:
            arguments = {**arguments, "render_mode": "ansi"}
        elif shown == "ansi":
            raise NotByText(f"{name} does not render as ansi, but as {', '.join(modes) or 'nothing'}")
    environment = gymnasium.make(name, disable_env_checker=True, **arguments)
    if not actions.is_writable(environment.action_space):
        raise NotByText(f"{name}: actions of {environment.action_space} can't be written")
    size = _size(gymnasium, environment.observation_space)
    if size > observations.LARGEST and environment.render_mode != "ansi":
        raise NotByText(f"{name}: an observation has {size} numbers, and more than {observations.LARGEST} are no text")
    return GymnasiumGame(environment, _names(environment, action_names))


def _metadata(gymnasium: Any, spec: Any) -> dict[str, Any]:
    entry = spec.entry_point
    creator = gymnasium.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry
    found: dict[str, Any] = getattr(creator, "metadata", {})
    return found


def _size(gymnasium: Any, space: Any) -> int:
    """Returns how many numbers an observation has; a text counts as one."""
    children = getattr(space, "spaces", None)
    if children is not None:
        return sum(
            _size(gymnasium, child) for child in (children.values() if hasattr(children, "values") else children)
        )
    shape = getattr(space, "shape", None) or ()
    size = 1
    for side in shape:
        size *= int(side)
    return 1 if isinstance(space, gymnasium.spaces.Text) else size


def _names(environment: Any, given: Sequence[str]) -> Sequence[str]:
    """Returns the names of the actions: `given`, or else the library's; empty if it has none.

    Errors: NotByText if there are not as many names as actions.
    """
    if not given and hasattr(environment.unwrapped, "get_action_meanings"):
        given = environment.unwrapped.get_action_meanings()
    count = getattr(environment.action_space, "n", None)
    if given and count != len(given):
        raise NotByText(f"action_names: {len(given)} names for the actions of {environment.action_space}")
    return tuple(given)
