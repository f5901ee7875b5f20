"""Exports `ray_gym.episode.wording` under the name that environments import it by."""

from ray_gym.episode.wording import has_words

__all__ = ["has_words"]
