"""Finds the folder, the tokenizer and the end-of-turn tokens of a model by its name."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ray_gym.deployments.small_model import NAME as SMALL_MODEL
from ray_gym.deployments.small_model import checkpoint_dir
from ray_gym.errors import UserError, describe
from ray_gym.installed.extras import NotInstalled, require
from ray_gym.paths import home_expanded


@dataclass(frozen=True, slots=True)
class ModelTokenizer:
    """Holds a model's tokenizer, and the ids that end a generation."""

    tokenizer: Any
    """A Hugging Face tokenizer."""
    stop_ids: tuple[int, ...]
    """Ids of the tokenizer's end of sequence, and of the generation config's `eos_token_id`, as vLLM has them."""


def resolve_model(name: str) -> str:
    """Returns the folder of a model, or else its name at a model hub, unchanged.

    Errors: NotInstalled if it is the small model, which was not fetched; UserError if `name` begins like a path (`/`,
    `~` or `.`) and is not a folder with a config.json, or if `~` stands for no folder.
    """
    if name == SMALL_MODEL:
        if not (checkpoint_dir() / "config.json").exists():
            raise NotInstalled(
                f"the small model is not in {checkpoint_dir()}: run `ray-gym model` first (in a checkout: `make model`)"
            )
        return str(checkpoint_dir())
    path = home_expanded(name)
    if name.startswith(("/", "~", ".")) and not (path / "config.json").exists():
        raise UserError(
            f"{path} is no checkpoint ({'it has no config.json' if path.is_dir() else 'there is no such folder'})"
        )
    return str(path) if (path / "config.json").exists() else name


def load_tokenizer(name: str) -> ModelTokenizer:
    """Loads a model's tokenizer and stop ids, from its folder or a model hub.

    Errors: UserError if the tokenizer can't be loaded, or a path is no checkpoint; NotInstalled if transformers or the
    small model is missing.
    """
    require("transformers", "cpu", f"tokenizer {name}")
    from transformers import AutoTokenizer, GenerationConfig

    path = resolve_model(name)
    try:
        tokenizer = AutoTokenizer.from_pretrained(path)
    except (OSError, ValueError) as error:
        first = describe(error).strip().splitlines()[0]  # Transformers goes on for some twenty
        raise UserError(f"no tokenizer could be loaded from {path}: {first}") from error
    try:
        listed = GenerationConfig.from_pretrained(path).eos_token_id
    except OSError:
        listed = None
    found = [tokenizer.eos_token_id, *(listed if isinstance(listed, list) else [listed])]
    return ModelTokenizer(tokenizer, tuple(dict.fromkeys(stop_id for stop_id in found if stop_id is not None)))


def local_template(name: str) -> str | None:
    """Returns the chat template of a checkpoint on this machine, without loading a tokenizer; None if the checkpoint is
    not on this machine, or has none. Of several templates it is the one named `default`.

    Errors: NotInstalled if it is the small model, which was not fetched; UserError if a path is no checkpoint.
    """
    folder = Path(resolve_model(name))
    if (folder / "chat_template.jinja").is_file():
        return (folder / "chat_template.jinja").read_text("utf-8")
    settings = folder / "tokenizer_config.json"
    if not settings.is_file():
        return None
    found = json.loads(settings.read_text("utf-8")).get("chat_template")
    if isinstance(found, list):  # several templates, with names
        found = next((entry["template"] for entry in found if entry.get("name") == "default"), None)
    return found if isinstance(found, str) else None
