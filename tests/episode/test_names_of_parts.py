"""Checks that the parts of a score have names that are texts."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import numpy as np
import pytest

from ray_gym.openai_api.conversation import read_conversation
from ray_gym.score import Score, as_score


class Part(StrEnum):
    FORM = "form"


@pytest.mark.parametrize("name", [b"a", None, 1.5, ("a",)])
def test_other_names_are_refused(name: Any) -> None:
    for given in ({name: 1.0}, Score(1.0, {name: 1.0}), Score(1.0, others={name: 1.0})):
        with pytest.raises(TypeError, match="whose name is no text but a"):
            as_score(given)


@pytest.mark.parametrize("parts", [None, [("a", 1)], 3])
def test_parts_are_a_mapping(parts: Any) -> None:
    with pytest.raises(TypeError, match="no mapping of names to numbers"):
        as_score(Score(1.0, parts))


def test_names_that_are_texts() -> None:
    assert dict(as_score({Part.FORM: 1.0, "a": 0.5}).parts) == {"form": 1.0, "a": 0.5}
    assert dict(as_score({np.int64(1): 1.0, 2: 0.5}).parts) == {"1": 1.0, "2": 0.5}


def test_a_conversation_in_json_is_no_message() -> None:
    with pytest.raises(ValueError, match="messages is a text that is itself JSON; write the list"):
        read_conversation('[{"role": "user", "content": "x"}]')
    assert [one["content"] for one in read_conversation("[1, 2]")] == ["[1, 2]"]


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("wrong", [np.array([1, 2]), np.array([])])
def test_an_array_of_several_numbers_is_no_reward(wrong: Any, named: bool) -> None:
    """Numpy's own words say neither what was returned nor by what."""
    with pytest.raises(TypeError, match=r"score\(\) returned a ndarray( for part)?; expected a number"):
        as_score({"part": wrong} if named else wrong)
    assert as_score(np.float32(2)).reward == 2
