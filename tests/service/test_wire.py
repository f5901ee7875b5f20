"""Checks what goes over the wire: lists page by page, numbers and not texts that look like them, requests as text."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from ray_gym.openai_api.sampling import SamplingChange
from ray_gym.service import api as wire
from ray_gym.service.api import RolloutRequest, SessionRequest
from ray_gym.service.pages import list_newest


@dataclass(frozen=True)
class One:
    id: str
    created_at: float


def made(number: int, created_at: float) -> One:
    return One(f"{number:032x}", created_at)


def test_every_page_goes_on_where_the_one_before_has_ended() -> None:
    kept = [made(n, 1_795_000_000 + n // 3) for n in range(10)]  # three at a time
    page = list_newest(kept, None, 4)
    found = list(page.items)
    kept = [*kept[1:], made(99, 1_795_000_100)]  # the oldest is forgotten, and one comes
    while page.next is not None:
        page = list_newest(kept, page.next, 4)
        found += page.items
    assert [one.id for one in found] == [made(n, 0).id for n in range(9, 0, -1)]


def test_one_page_is_all_that_there_is() -> None:
    assert list_newest([], None, 1).next is None
    page = list_newest([made(1, 5), made(2, 6)], None, 2)
    assert [one.created_at for one in page.items] == [6, 5] and page.next is None


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (RolloutRequest, {"seed": True}),
        (RolloutRequest, {"repeats": "2"}),
        (RolloutRequest, {"generate": 2.0}),
        (SessionRequest, {"seed": "7"}),
        (SamplingChange, {"temperature": True}),
        (SamplingChange, {"top_p": "0.5"}),
    ],
)
def test_numbers_are_numbers(kind: type[RolloutRequest], body: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="should be a valid"):
        kind.model_validate(body)


@pytest.mark.parametrize("text", ["", " ", "\u200b"])
def test_a_blank_stop_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="stop_text"):
        RolloutRequest.model_validate({"participants": {"user": {"stop_text": text}}})


@pytest.mark.parametrize(
    "request_",
    [
        RolloutRequest(),
        RolloutRequest(
            tasks=[{"a": [1, 2.5, None, 2**63, "\u00e9\n"], "b": {"c": True}}],
            participants={"policy": {"max_turns": 3}},
        ),
        SessionRequest(seed=2**63 - 1, task={"messages": [{"role": "user", "content": ""}]}),
    ],
)
def test_what_goes_as_text_comes_as_it_was(request_: RolloutRequest | SessionRequest) -> None:
    again = wire.read(type(request_), wire.to_json(request_))
    assert again == request_ and again.model_fields_set == request_.model_fields_set


def test_whole_numbers_are_numbers_too() -> None:
    assert SamplingChange.model_validate({"temperature": 1}).temperature == 1.0
