"""Checks which results of tools become text for a model, and that others are the environment's fault, by name."""

from __future__ import annotations

import datetime
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

import numpy as np
import pytest
from playing import Alone, calls, play_script
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    SerializeAsAny,
    computed_field,
    create_model,
    field_serializer,
)
from typing_extensions import TypedDict

from ray_gym import Participant, tool
from ray_gym.errors import FailureKind
from ray_gym.tools.answer import as_text


@dataclass
class State:
    shown: int = 1
    hidden: str = "SECRET"


class Answer(BaseModel):
    text: str
    left: float = 1.5


class Pair(NamedTuple):
    shown: int = 1
    hidden: str = "SECRET"


class Whole(Enum):
    STATE = State()


class Holder(BaseModel):
    held: Any = None
    declared: State | None = None
    tags: set[str] = set()
    secret: Any = Field(None, exclude=True)


class Raw(BaseModel):
    title: str = "x"
    body: bytes = b"\xff\xfe"


class Library(BaseModel):
    name: str = "y"
    books: list[Raw] = [Raw()]


class Colour(Enum):
    RED = "red"


class Serialized(BaseModel):
    when: int = 1
    held: Any = None

    @field_serializer("when")
    def _write(self, when: int) -> str:
        return str(when)


class Computed(BaseModel):
    @computed_field  # type: ignore[prop-decorator]
    @property
    def held(self) -> Any:
        return State()


@dataclass
class Shelf:
    held: Any = None


class Written(TypedDict):
    held: Any


class Wider(Answer):
    held: Any = None


class Anything(RootModel[Any]):
    pass


class Held(BaseModel):
    of: Iterable[Any] = ()
    shelf: Shelf | None = None
    either: State | dict[str, Any] | None = None
    tags: set[Any] = set()
    queue: deque[Any] = deque()
    pairs: list[Any] = []
    written: Written | None = None
    keys: dict[datetime.date | str, int] = {}
    root: Anything | None = None
    wide: SerializeAsAny[Answer] | None = None


class Bare(BaseModel):
    bare: list = [{"a": State()}]  # type: ignore[type-arg]


class Plain(BaseModel):
    plain: dict = {}  # type: ignore[type-arg]


class Masked(BaseModel):
    held: Any = None

    @field_serializer("held")
    def _write(self, held: Any) -> str:
        return "masked"


class Loose(BaseModel):
    size: tuple[int, ...] = [1]  # type: ignore[assignment]
    at: float = 1


class Curt(BaseModel):
    held: Any = None

    def model_dump(self, **given: Any) -> dict[str, Any]:
        return {"held": "hidden"}


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")


ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("as it is", "as it is"),
        ("half \ud83d", "half ?"),
        ({"text": "\ud83d"}, '{"text":"?"}'),
        ({"\ud83d": ["a\udc00"]}, '{"?":["a?"]}'),
        (Answer(text="\ud83d"), '{"text":"?","left":1.5}'),
        ([Answer(text="x")], '[{"text":"x","left":1.5}]'),
        ((1, None, True, 2.5, "ü"), '[1,null,true,2.5,"ü"]'),
        ({1: "one"}, '{"1":"one"}'),
        ({True: 1, 0: 2, "1": 3}, '{"true":1,"0":2,"1":3}'),
        (Raw(body=b"abc"), '{"title":"x","body":"abc"}'),
        (Holder(held={datetime.date(2026, 1, 2): 1}), '{"held":{"2026-01-02":1},"declared":null,"tags":[]}'),
        ({"when": datetime.date(2026, 1, 2), "of": Colour.RED}, '{"when":"2026-01-02","of":"red"}'),
        (None, "null"),
        (
            Holder(held=[1, {"a": Colour.RED}], tags={"x"}, secret={1}),
            '{"held":[1,{"a":"red"}],"declared":null,"tags":["x"]}',
        ),
        (Decimal("1.50"), '"1.50"'),
        ({np.int64(1): [np.int64(7), np.float32(0.5), np.bool_(True), np.str_("x")]}, '{"1":[7,0.5,true,"x"]}'),
        (np.float64(1.5), "1.5"),
        (np.datetime64("2026-01-02T03:04:05.678901234"), '"2026-01-02T03:04:05.678901"'),
        (
            {np.datetime64("2026-01-02", "ns"): np.timedelta64(90, "s").astype("m8[ns]")},
            '{"2026-01-02T00:00:00":"PT1M30S"}',
        ),
        (Holder(held=[1.5, Decimal("2.5")]), '{"held":[1.5,"2.5"],"declared":null,"tags":[]}'),
        (Decimal("1e400"), '"1E+400"'),
        (Open(at=Path("/a")), '{"at":"/a"}'),
        (Masked(held=State()), '{"held":"masked"}'),
        (Loose(), '{"size":[1],"at":1.0}'),
        (Curt(held=State()), '{"held":"hidden"}'),
        (Open(x={"y": [1.5]}, of=Masked(held=State())), '{"x":{"y":[1.5]},"of":{"held":"masked"}}'),
        (Holder(declared=State(1, "open")), '{"held":null,"declared":{"shown":1,"hidden":"open"},"tags":[]}'),
        ({datetime.date(2026, 1, 2): 1}, '{"2026-01-02":1}'),
        ({Colour.RED: 1, 1.5: 2}, '{"red":1,"1.5":2}'),
        ({PurePosixPath("/a"): PureWindowsPath("b")}, '{"/a":"b"}'),
    ],
)
def test_results_that_are_text_or_json(result: Any, text: str) -> None:
    assert as_text(result) == text


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (State(), "it returned a State"),
        ({"state": State()}, "it returned a State"),
        ({1, 2}, "it returned a set"),
        (b"x", "it returned a bytes"),
        (Pair(), "it returned a Pair"),
        ([Pair()], "it returned a Pair"),
        (Whole.STATE, "it returned a State"),
        (Holder(held=State()), "it returned a State"),
        (Holder(held=[{"x": State()}]), "it returned a State"),
        (Holder(held={1}), "it returned a set"),
        (Holder(held=Pair()), "it returned a Pair"),
        (Holder(held=Whole.STATE), "it returned a State"),
        (Decimal("NaN"), "it returned NaN"),
        ([Decimal("Infinity")], "it returned Infinity"),
        (float("nan"), "it returned nan"),
        ({"mean": [float("inf")]}, "it returned inf"),
        (Answer(text="x", left=float("nan")), "it returned nan"),
        ({("a", 1): 2}, "it returned a mapping with a tuple as a key"),
        ({Whole.STATE: 1}, "it returned a mapping with a State as a key"),
        ({float("nan"): 1}, "it returned nan"),
        ({Colour.RED: 1, "red": 2}, "which are both 'red' in JSON"),
        ({PurePosixPath("a"): 1, "a": 2}, "which are both 'a' in JSON"),
        ({1: "a", "1": "b"}, "it returned a mapping with the keys 1 and '1', which are both '1' in JSON"),
        ([{"?": "a", "\ud83d": "b"}], "which are both '?' in JSON"),
        (Holder(held={datetime.date(2026, 1, 2): 1, "2026-01-02": 2}), "which are both '2026-01-02' in JSON"),
        (Holder(held={1: "a", "1": "b"}), "it returned a mapping with the keys 1 and '1'"),
        (Raw(), "of which Raw.body can't be JSON: 'utf-8' codec can't decode byte 0xff"),
        ({"all": [Library()]}, "it returned a pydantic model, of which Raw.body can't be JSON"),
        (Holder(held=object()), "it returned a object"),
        (Serialized(held=State()), "it returned a State"),
        (Serialized(held=float("nan")), "it returned nan"),
        (Open(of=Serialized(held=State())), "it returned a State"),
        (Computed(), "it returned a State"),
        (Holder(held=deque([State()])), "it returned a deque"),
        (Held(of=iter([State()])), "it returned a State"),
        (Held(shelf=Shelf(State())), "it returned a State"),
        (Held(shelf=Shelf(float("inf"))), "it returned inf"),
        (Held(either={"a": State()}), "it returned a State"),
        (Held(tags={1, float("nan")}), "it returned nan"),
        (Held(queue=deque([State()])), "it returned a State"),
        (Held(pairs=[Pair()]), "it returned a Pair"),
        (Held(written={"held": State()}), "it returned a State"),
        (Held(keys={datetime.date(2026, 1, 2): 1, "2026-01-02": 2}), "which are both '2026-01-02' in JSON"),
        (Held(root=Anything(State())), "it returned a State"),
        (Holder.model_construct(tags=State()), "it returned a State"),
        (Bare(), "it returned a State"),
        (Plain(plain={"a": State()}), "TypeError: it returned a State"),
        (Plain(plain={"a": {"b": float("nan")}}), "ValueError: it returned nan"),
        (Held(wide=Wider(text="x", held=State())), "it returned a State"),
        (Holder(held=float("nan")), "it returned nan, which is no number that JSON has"),
        (Holder(held=[{"mean": float("-inf")}]), "it returned -inf"),
        (Holder(held=Decimal("NaN")), "it returned NaN"),
        (Open(mean=float("nan")), "it returned nan"),
        (Open(of=Open(mean=Decimal("Infinity"))), "it returned Infinity"),
        (object(), "it returned a object"),
        (np.bytes_(b"x"), "it returned a bytes"),
        (np.zeros(2), "it returned a ndarray"),
        (np.float32("nan"), "it returned nan"),
        (ENDLESS, "it returned data that holds itself"),
    ],
)
async def test_others_fail_the_episode_by_the_tools_name(result: Any, error: str) -> None:
    class Giving(Alone):
        @tool()
        def give(self, state: Any, caller: Participant) -> Any:
            return result

    game = await play_script(Giving(), [calls("give"), "42"])
    failure = game.played.failure
    assert failure is not None and failure.kind is FailureKind.ENVIRONMENT and failure.where.startswith("tool give")
    assert error in failure.message and "SECRET" not in failure.message
    assert not any("SECRET" in event.content for event in game.episode.events)


@pytest.mark.parametrize(
    "name",
    ["type", "metadata", "serialization", "config", "cls", "function", "default", "expected", "members", "fields"],
)
def test_a_field_of_any_name_is_shown_as_its_type_declares(name: str) -> None:
    model = create_model("Made", **{name: (Any, None), "x": (int, 1)})  # type: ignore[call-overload]
    assert as_text(model(**{name: "a"})) == f'{{"{name}":"a","x":1}}'
    for held in (State(), {"a": State()}):
        with pytest.raises(TypeError, match=r"^it returned a State"):
            as_text(model(**{name: held}))


class Dated(BaseModel):
    at: datetime.datetime | None = None
    until: dict[datetime.datetime, int] = {}


def test_a_date_of_pandas_that_is_none_is_named() -> None:
    nat = pytest.importorskip("pandas").NaT
    for result in (nat, [{"when": nat}], {nat: 1}, Holder(held=nat), Open(at=nat), Dated(until={nat: 1})):
        with pytest.raises(ValueError, match=r"^it returned NaT, which is no date that JSON has$"):
            as_text(result)
    with pytest.raises(ValueError, match=r"^it returned a pydantic model, of which Dated\.at can't be JSON: "):
        as_text([Dated(at=nat)])


class Keyed(BaseModel):
    by_any: dict[Any, Any] = {}
    by_size: dict[float, Any] = {}


@pytest.mark.parametrize(
    ("keyed", "kind"),
    [
        (Keyed(by_any={frozenset({1}): 1}), "frozenset"),
        (Keyed(by_any={object(): 1}), "object"),
        (Keyed(by_any={"a": {frozenset({1}): 1}}), "frozenset"),
        (Keyed.model_construct(by_size={frozenset({1}): 1}), "frozenset"),
    ],
)
def test_a_key_of_a_model_that_is_no_text_is_refused_by_its_type(keyed: Keyed, kind: str) -> None:
    told = rf"^it returned a mapping with a {kind} as a key, and JSON has texts$"
    for result in (keyed, [keyed], {"a": keyed}):
        with pytest.raises(TypeError, match=told):
            as_text(result)


def test_keys_of_a_model_may_be_numpys() -> None:
    for key in (np.int64(3), np.float64(0.5), np.bool_(True), np.str_("a")):
        assert as_text(Keyed(by_any={key: 1}))[10:] == as_text({key: 1}) + ',"by_size":{}}'
    with pytest.raises(ValueError, match="which are both '3' in JSON"):
        as_text(Keyed(by_any={np.int64(3): 1, "3": 2}))
