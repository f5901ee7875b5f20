"""Makes and scores items of the library's datasets. It imports the library, so it is itself imported only when an item
is made.
"""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Mapping
from typing import Any

import reasoning_gym
from reasoning_gym.composite import DatasetSpec
from reasoning_gym.factory import DATASETS

_HASH_DEPENDENT = frozenset(
    {"isomorphic_strings", "knight_swap", "polynomial_multiplication", "ransom_note", "word_ladder"}
)
"""Datasets that depend on the order of sets. A seed gives the same item only in processes with the same
PYTHONHASHSEED."""
_OTHER_ORACLES = ("example_answer", "example_correct_answer", "possible_answer")
"""Keys under which datasets with many right answers name one in their metadata."""
_OURS = ("seed", "size")
"""Settings that the task decides."""


def names() -> list[str]:
    """Returns the names of all datasets, sorted."""
    return sorted(DATASETS)


def check(dataset: str, settings: Mapping[str, Any]) -> None:
    """Checks the settings of a dataset. Errors: ValueError for settings that the dataset does not take, and for `seed`
    and `size`, which the task decides; KeyError for an unknown dataset.
    """
    for name in _OURS:
        if name in settings:
            raise ValueError(f"settings.{name}: it is the task's")
    _, config_class = DATASETS[dataset]
    try:
        config = config_class(**_settings(dataset, settings))
        if hasattr(config, "validate"):
            config.validate()
    except Exception as error:
        raise ValueError(f"settings: {dataset} does not take them: {error or type(error).__name__}") from None


def depends_on_hashes(dataset: str, settings: Mapping[str, Any]) -> bool:
    """Says whether a dataset (or a part of a composite one) gives the same item for a seed only in processes with the
    same PYTHONHASHSEED.
    """
    parts = [part["name"] for part in settings["datasets"]] if dataset == "composite" else [dataset]
    return not _HASH_DEPENDENT.isdisjoint(parts)


def entry(dataset: str, settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Makes the item of a dataset for a seed, and returns it as the library has it: question, answer, metadata."""
    made: dict[str, Any] = _dataset(dataset, settings, seed)[0]
    return made


def oracle(entry: Mapping[str, Any]) -> str | None:
    """Returns a right answer to an item; None if the library knows none."""
    if entry["answer"] is not None:
        return str(entry["answer"])
    found = next((entry["metadata"][name] for name in _OTHER_ORACLES if name in entry["metadata"]), None)
    return found if found is None or isinstance(found, str) else json.dumps(found)


def make(dataset: str, settings: Mapping[str, Any], seed: int) -> list[str]:
    """Returns two texts: the question of an item, and the whole item for `score`.

    The item is pickled, because JSON would turn its tuples into lists and its keys into text.
    """
    made = entry(dataset, settings, seed)
    return [str(made["question"]), base64.b64encode(pickle.dumps(made)).decode()]


def score(dataset: str, settings: Mapping[str, Any], seed: int, item: str, answer: str | None) -> float:
    """Returns the library's score of an answer, 0 to 1. `item`: the second text that `make` returned; `answer`: None if
    there is none.
    """
    return float(_dataset(dataset, settings, seed).score_answer(answer, pickle.loads(base64.b64decode(item))))


def _dataset(dataset: str, settings: Mapping[str, Any], seed: int) -> Any:
    return reasoning_gym.create_dataset(dataset, **_settings(dataset, settings), seed=seed, size=1)


def _settings(dataset: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns settings as the library expects them: the parts of a composite dataset as objects, which JSON does not
    have; anything else unchanged.
    """
    if dataset == "composite" and isinstance(settings.get("datasets"), list):
        return {**settings, "datasets": [DatasetSpec(**{"config": {}, **part}) for part in settings["datasets"]]}
    return dict(settings)
