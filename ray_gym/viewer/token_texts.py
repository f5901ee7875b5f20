"""Gives the texts of a model's tokens, by the tokenizer that the run's config names, if its file is on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ray_gym.deployments.chat.checkpoint import resolve_model
from ray_gym.errors import UserError

FILE = "tokenizer.json"
"""File of a checkpoint that has its tokenizer (of the package tokenizers, which needs neither transformers nor torch)."""


@dataclass(frozen=True, slots=True)
class TokenTexts:
    """Gives the texts of a tokenizer's tokens, each as it is alone."""

    tokenizer: Any
    """A tokenizer of the package tokenizers."""
    special: frozenset[int]
    """Ids of the tokens that no text of a person's becomes."""

    def texts(self, ids: Sequence[int]) -> Mapping[int, str]:
        """Returns the text of each id; a token of a part of a character has a replacement character."""
        return {id_: self.tokenizer.decode([id_], skip_special_tokens=False) for id_ in ids}

    def control(self, ids: Sequence[int]) -> set[int]:
        """Returns the ids that are control tokens."""
        return set(self.special.intersection(ids))


def texts_of(models: Mapping[str, Any], model: str) -> TokenTexts | None:
    """Returns the texts of the tokens of a run's model; None if there is no file of its tokenizer on this machine.

    `models`: the section `models` of the run's config. Nothing is fetched from elsewhere, and no code that a checkpoint
    brings is run.
    """
    section = models.get(model)
    if not isinstance(section, Mapping) or find_spec("tokenizers") is None:
        return None
    if "of" in section:  # a line of adapters on another model
        return texts_of({name: one for name, one in models.items() if name != model}, str(section["of"]))
    name = section.get("tokenizer") or section.get("model")
    file = None if name is None else _file_of(str(name))
    return None if file is None else _read(file)


def _file_of(name: str) -> Path | None:
    """Returns the file of a model's tokenizer, which is in its folder, or in the cache of the model hub."""
    try:
        folder = Path(resolve_model(name))
    except UserError:
        return None
    if (folder / FILE).is_file():
        return folder / FILE
    if folder.is_dir() or find_spec("huggingface_hub") is None:
        return None
    from huggingface_hub import try_to_load_from_cache

    try:
        found = try_to_load_from_cache(name, FILE)
    except ValueError:  # no name of the hub's
        return None
    return Path(found) if isinstance(found, str) else None


def _read(file: Path) -> TokenTexts | None:
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception:  # the package raises nothing more exact
        return None
    return TokenTexts(tokenizer, frozenset(tokenizer.get_added_tokens_decoder()))
