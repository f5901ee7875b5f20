"""Makes and scores items of the library's datasets. It needs the library, so it is imported only where one is made."""

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
"""Datasets that go by the order of sets: a seed gives the same item only in processes with the same PYTHONHASHSEED."""
_OTHER_ORACLES = ("example_answer", "example_correct_answer", "possible_answer")
"""Keys under which the metadata of datasets with many right answers name one."""
_OURS = ("seed", "size")
"""Settings that the task decides."""


def names() -> list[str]:
    """Returns the names of all datasets, sorted."""
    return sorted(DATASETS)


def check(dataset: str, settings: Mapping[str, Any]) -> None:
    """Checks the settings of a dataset. Errors: ValueError for settings that the dataset does not take."""
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
    """Says whether this process may make another item of the same seed than the next process."""
    parts = [part["name"] for part in settings["datasets"]] if dataset == "composite" else [dataset]
    return not _HASH_DEPENDENT.isdisjoint(parts)


def entry(dataset: str, settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Returns the library's item: question, answer, metadata."""
    made: dict[str, Any] = _dataset(dataset, settings, seed)[0]
    return made


def oracle(entry: Mapping[str, Any]) -> str | None:
    """Returns a right answer; None if the library knows none."""
    if entry["answer"] is not None:
        return str(entry["answer"])
    found = next((entry["metadata"][name] for name in _OTHER_ORACLES if name in entry["metadata"]), None)
    return found if found is None or isinstance(found, str) else json.dumps(found)


def make(dataset: str, settings: Mapping[str, Any], seed: int) -> list[str]:
    """Returns the question, and the whole item for `score`.

    The item is pickled, for JSON would make lists of its tuples and text of its keys.
    """
    made = entry(dataset, settings, seed)
    return [str(made["question"]), base64.b64encode(pickle.dumps(made)).decode()]


def score(dataset: str, settings: Mapping[str, Any], seed: int, item: str, answer: str | None) -> float:
    """Returns the library's score of an answer, 0 to 1."""
    return float(_dataset(dataset, settings, seed).score_answer(answer, pickle.loads(base64.b64decode(item))))


def _dataset(dataset: str, settings: Mapping[str, Any], seed: int) -> Any:
    return reasoning_gym.create_dataset(dataset, **_settings(dataset, settings), seed=seed, size=1)


def _settings(dataset: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Returns settings as the library wants them: JSON has no tuples and no objects."""
    if dataset == "composite" and isinstance(settings.get("datasets"), list):
        return {**settings, "datasets": [DatasetSpec(**{"config": {}, **part}) for part in settings["datasets"]]}
    return dict(settings)
