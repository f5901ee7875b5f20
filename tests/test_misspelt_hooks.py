"""Checks that an environment with a misspelt or missing hook is refused before anything is played."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import pytest
from pydantic import BaseModel, Field, model_validator
from typing_extensions import TypeAliasType

from ray_gym import Environment, Opening, Participant, Task, tool
from ray_gym import Options as EnvironmentOptions
from ray_gym.check.command import read_subject
from ray_gym.config.sections import RunConfig
from ray_gym.errors import UserError
from ray_gym.openai_api.conversation import Conversation
from ray_gym.run.plan import make_environment
from ray_gym.wrong_hooks import wrong_hooks


class Good(Environment[Task, None]):
    def setup(self, task: Task, episode: Any) -> None: ...

    def score(self, state: None, episode: Any) -> float:
        return 1.0

    def scores(self) -> list[float]:
        """Returns nothing. Its name is near to that of a hook that is there."""
        return []


class Turned(Good):
    def score(self, episode: Any, state: None) -> float:  # type: ignore[override]
        return 1.0


class TurnedRelay(Good):
    def relay(self, state: None, episode: Any, listener: Any, turn: Any) -> None: ...  # type: ignore[override]


class TurnedSetup(Good):
    def setup(self, episode: Any, task: Any) -> None: ...


class Renamed(Good):
    def score(self, world: None, game: Any) -> float:  # type: ignore[override]
        return 1.0


class EpisodeForState(Good):
    def opening(self, task: Any, episode: Any) -> Opening:  # type: ignore[override]
        return Opening()


class StateForEpisode(Good):
    def setup(self, task: Any, state: Any) -> None: ...  # type: ignore[override]


class TaskForState(Good):
    def score(self, task: Any, episode: Any) -> float:  # type: ignore[override]
        return 1.0


class TaskForEpisode(Good):
    def score(self, state: None, task: Any) -> float:  # type: ignore[override]
        return 1.0


class CallerForListener(Good):
    def relay(self, world: None, episode: Any, turn: Any, caller: Any) -> None: ...  # type: ignore[override]


class TurnForEpisode(Good):
    def finished(self, state: None, turn: Any) -> None: ...  # type: ignore[override]


class RngForEpisode(Good):
    def setup(self, task: Any, rng: Any, more: int = 0) -> None: ...  # type: ignore[override]


class FurtherNames(Good):
    """Has names of other things in places where they are taken for nothing else."""

    def generate(self, rng: Any, episode: int) -> Task:  # type: ignore[override]
        return Task()

    def opening(self, task: Any, world: None, episode: Any = None) -> Opening:  # type: ignore[override]
        return Opening()

    def score(self, *state: Any) -> float:
        return 1.0


@pytest.mark.parametrize(
    "turned",
    [
        *(Turned, TurnedRelay, TurnedSetup, EpisodeForState, StateForEpisode, TaskForEpisode, TurnForEpisode),
    ],
)
def test_a_hook_with_the_parameters_of_another_place_is_refused(turned: type[Environment[Any, Any]]) -> None:
    assert len(wrong_hooks(turned)) == 1 and ", and is called with (" in wrong_hooks(turned)[0]


@pytest.mark.parametrize("named", [Renamed, FurtherNames, TaskForState, CallerForListener, RngForEpisode])
def test_parameters_may_have_names_of_their_own(named: type[Environment[Any, Any]]) -> None:
    """A state may be the task."""
    assert not wrong_hooks(named)


class InGroups(Environment[Task, None]):
    def setup(self, task: Task, episode: Any) -> None: ...

    async def score_group(self, episodes: Any) -> list[float]:
        return [1.0 for _ in episodes]


class Scroe(Environment[Task, None]):
    def setup(self, task: Task, episode: Any) -> None: ...

    def scroe(self, state: None, episode: Any) -> float:
        return 1.0


class NoScore(Environment[Task, None]):
    def setup(self, task: Task, episode: Any) -> None: ...


class NoSetup(Environment[Task, None]):
    def score(self, state: None, episode: Any) -> float:
        return 1.0


class Oppening(Good):
    def oppening(self, task: Task, state: None) -> Any: ...


class NextSpeakers(Good):
    def next_speakers(self, state: None, episode: Any, turn: Any) -> Any: ...


class Finish(Good):
    def finish(self, state: None, episode: Any) -> str | None:
        return None


class IsFinished(Good):
    def isFinished(self, state: None, episode: Any) -> str | None:
        return None


class CheckFinished(Good):
    def check_finished(self, state: None, episode: Any) -> str | None:
        return None


class OpeningMessage(Good):
    def openingMessage(self, task: Task, state: None) -> Any: ...


class CheckTaskInCapitals(Good):
    def checkTask(self, task: Task) -> None: ...


class GetOpening(Good):
    def get_opening(self, task: Task, state: None) -> Any: ...


class OnRelay(Good):
    def on_relay(self, state: None, episode: Any, turn: Any, listener: Any) -> str | None: ...


class NarrowTool(Good):
    @staticmethod
    def narrow_tool(tool: Any, state: None, caller: Any) -> Any: ...


class GetMetrics(Good):
    @classmethod
    def get_metrics(cls, rows: Any) -> dict[str, float]:
        return {}


class Helpers(Good):
    """Its helpers have words of hooks, and hooks of those names or other parameters."""

    def opening(self, task: Task, state: None) -> Any:
        return self.get_opening(task, state)

    def get_opening(self, task: Task, state: None) -> Any: ...

    def relay_words(self, words: str) -> str:
        return words

    def score_one(self, state: None, episode: Any) -> float:
        return 1.0

    def check_answer(self, task: Task) -> bool:
        return True


class RunsItself(Good):
    async def run(self, episode: Any) -> None:
        episode.tell("policy", self.opening_text(episode.task, None))

    def opening_text(self, task: Task, state: None) -> str:
        return ""

    def count_finished(self, state: None, episode: Any) -> int:
        return 0


class OfTools(Good):
    """The model, not the engine, calls its tools, so their names may be near to hooks'."""

    @tool()
    def checks(self, state: None, caller: Participant) -> str:
        return ""


class Participant_(Good):
    participant = ("policy", "user")


class Auxilliary(Good):
    auxilliary = ("judge",)


class RewardRanges(Good):
    reward_ranges = (0.0, 2.0)


class BelowGood(Good):
    def scroe(self, state: None, episode: Any) -> float:
        return 1.0


class Capitals(Good):
    PARTICIPANTS = ("policy", "user")


class RangeInCapitals(Good):
    REWARD_RANGE = (0.0, 2.0)


class ScoreRange(Good):
    score_range = (0.0, 2.0)


class GroupScore(Good):
    async def group_score(self, episodes: Any) -> list[float]:
        return []


class FurnishSandbox(Good):
    async def furnish_sandbox(self, state: None, episode: Any) -> None: ...


class CheckTask(Good):
    def check_task(self, task: Task) -> None: ...


class ScoreEpisode(Environment[Task, None]):
    def setup(self, task: Task, episode: Any) -> None: ...

    def score_episode(self, state: None, episode: Any) -> float:
        return 1.0


class TaskTypes(Good):
    task_types = (Task,)


class TaskType(Good):
    TaskType = Task


class Ordinary(Good):
    """Its constants and helpers have names like those of hooks, and it uses those that would be near to one."""

    OPENING = "Begin."
    SETUP = SCORE = CHECK = "x"
    PATTERN = re.compile("x")
    TOOLS = ("x",)
    SCORING = "x"
    OPTIONS = ("a", "b")
    score_range = (0.0, 10.0)
    PARTICIPANTS = ("policy", "user")
    number_range = (1, 9)

    class Score:
        pass

    class Setup:
        pass

    def __init__(self, options: Any = None) -> None:
        super().__init__(options)
        self.participants = self.PARTICIPANTS[:1]

    def setup(self, task: Task, episode: Any) -> None:
        self.check_task(task)

    def check_task(self, task: Task) -> None: ...

    def check_answer(self, task: Task) -> bool:
        return True

    def render_board(self, state: None, episode: Any) -> str:
        return ""

    @property
    def spread(self) -> float:
        return max(high - self.score_range[0] for high in self.score_range)


class AsyncFinished(Good):
    async def finished(self, state: None, episode: Any) -> str | None:  # type: ignore[override]
        return None


class AsyncCheck(Good):
    async def check(self, task: Task) -> None:  # type: ignore[override]
        return None


class Yielding(Good):
    def generate(self, rng: Any, index: int) -> Any:
        yield Task()


class AsyncWhereItMay(Good):
    async def setup(self, task: Task, episode: Any) -> None: ...

    async def score(self, state: None, episode: Any) -> float:  # type: ignore[override]
        return 1.0

    async def run(self, episode: Any) -> None: ...


class NoState(Good):
    def score(self, episode: Any) -> float:  # type: ignore[override]
        return 1.0


class NoListener(Good):
    def relay(self, state: None, episode: Any, turn: Any) -> str:  # type: ignore[override]
        return ""


class OneMore(Good):
    @staticmethod
    def opening(task: Task, state: None, episode: Any) -> Any:  # type: ignore[override]
        return None


class NoFunction(Good):
    finished = None  # type: ignore[assignment]


class NoComma(Good):
    participants = "policy"  # type: ignore[assignment]


class JudgeAsText(Good):
    auxiliary = "judge"  # type: ignore[assignment]


class NoRange(Good):
    reward_range = 1.0  # type: ignore[assignment]


class TurnedRange(Good):
    reward_range = (1.0, 0.0)


class OptionsOfAnotherKind(Good):
    Options = dict  # type: ignore[assignment]


class OptionsWithAnId(Good):
    class Options(EnvironmentOptions):
        id: str = "a"
        number: int = 1


class TaskOfAnotherKind(Good):
    task_type = "x"  # type: ignore[assignment]


class TwicePolicy(Good):
    participants = ("policy", "user", "policy")


class AlsoAuxiliary(Good):
    auxiliary = ("policy",)


class MetricsOfAnObject(Good):
    def metrics(self, rows: Any) -> dict[str, float]:  # type: ignore[override]
        return {}


class OwnOptions(Good):
    def options(self, state: None) -> list[str]:  # type: ignore[override]
        return []


class StaticMetrics(Good):
    @staticmethod
    def metrics(rows: Any) -> dict[str, float]:  # type: ignore[override]
        return {}


class SandboxAsText(Good):
    uses_sandbox = "false"  # type: ignore[assignment]


class OutsideAsText(Good):
    opens_outside = "no"  # type: ignore[assignment]


class NoOptions(Good):
    def __init__(self) -> None: ...


class OtherNames(Good):
    def relay(self, *given: Any) -> str:
        return ""

    def opening(self, task: Task, of: None, more: int = 1) -> Any:
        return None

    @staticmethod
    def finished(state: None, episode: Any) -> str | None:  # type: ignore[override]
        return None


def test_a_tool_may_not_replace_a_hook() -> None:
    for hook in ("check", "close", "run", "finished", "options"):

        def method(self: Any, state: None, caller: Participant) -> str:
            return ""

        method.__annotations__ = {"caller": Participant, "return": str}
        with pytest.raises(TypeError, match=f"Shop: the tool {hook} would replace the hook of that name; rename it"):
            type("Shop", (Good,), {hook: tool()(method)})


class Sells(Good):
    @tool()
    def sell(self, state: None, caller: Participant) -> str:
        return ""


@pytest.mark.parametrize(
    ("name", "value"), [("tools", {"hammer": 3}), ("tools", {}), ("score", 0), ("finished", False), ("sell", None)]
)
def test_an_attribute_of_an_object_hides_no_hook_and_no_tool(name: str, value: object) -> None:
    with pytest.raises(TypeError) as told:
        setattr(Sells(), name, value)
    assert str(told.value) == f"self.{name} = {value} would hide Sells.{name}: give it another name"


def test_an_attribute_of_an_object_may_be_any_other() -> None:
    sells = Sells()
    for name, value in {"participants": ("user",), "sell": print, "score": max, "sold": 0, "options": None}.items():
        setattr(sells, name, value)
        assert getattr(sells, name) == value


@pytest.mark.parametrize(
    "environment", [AsyncWhereItMay, Good, Helpers, InGroups, OfTools, Ordinary, OtherNames, RunsItself, StaticMetrics]
)
def test_those_with_all_their_hooks_are_taken(environment: type[Environment[Any, Any]]) -> None:
    assert wrong_hooks(environment) == [] and environment.has_metrics() == (environment is StaticMetrics)


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        (Scroe, "Scroe.scroe is near to the hook score: rename one"),
        (NoScore, "NoScore defines no score, which every environment has to"),
        (NoSetup, "NoSetup defines no setup, which every environment has to"),
        (Oppening, "Oppening.oppening is near to the hook opening: rename one"),
        (NextSpeakers, "NextSpeakers.next_speakers is near to the hook next_speaker: rename one"),
        (Finish, "Finish.finish is near to the hook finished: rename one"),
        (IsFinished, "IsFinished.isFinished is near to the hook finished: rename one"),
        (CheckFinished, "CheckFinished.check_finished is near to the hook finished: rename one"),
        (OpeningMessage, "OpeningMessage.openingMessage is near to the hook opening: rename one"),
        (CheckTaskInCapitals, "CheckTaskInCapitals.checkTask is near to the hook check: rename one"),
        (GetOpening, "GetOpening.get_opening is near to the hook opening: rename one"),
        (OnRelay, "OnRelay.on_relay is near to the hook relay: rename one"),
        (NarrowTool, "NarrowTool.narrow_tool is near to the hook narrow: rename one"),
        (GetMetrics, "GetMetrics.get_metrics is near to the hook metrics: rename one"),
        (Participant_, "Participant_.participant is near to the hook participants: rename one"),
        (Auxilliary, "Auxilliary.auxilliary is near to the hook auxiliary: rename one"),
        (RewardRanges, "RewardRanges.reward_ranges is near to the hook reward_range: rename one"),
        (Capitals, "Capitals.PARTICIPANTS is near to the hook participants: rename one"),
        (RangeInCapitals, "RangeInCapitals.REWARD_RANGE is near to the hook reward_range: rename one"),
        (ScoreRange, "ScoreRange.score_range is near to the hook reward_range: rename one"),
        (GroupScore, "GroupScore.group_score is near to the hook score_group: rename one"),
        (FurnishSandbox, "FurnishSandbox.furnish_sandbox is near to the hook furnish: rename one"),
        (CheckTask, "CheckTask.check_task is near to the hook check: rename one"),
        (ScoreEpisode, "ScoreEpisode.score_episode is near to the hook score: rename one"),
        (TaskTypes, "TaskTypes.task_types is near to the hook task_type: rename one"),
        (TaskType, "TaskType.TaskType is near to the hook task_type: rename one"),
        (BelowGood, "BelowGood.scroe is near to the hook score: rename one"),
        (NoState, "NoState.score takes (episode), and is called with (state, episode)"),
        (
            NoListener,
            "NoListener.relay takes (state, episode, turn), and is called with (state, episode, turn, listener)",
        ),
        (
            OneMore,
            "OneMore.opening takes (task, state, episode), and is called with (task, state)",
        ),
        (NoComma, 'NoComma.participants has to be names in a tuple, like ("policy",) with its comma'),
        (TwicePolicy, "TwicePolicy.participants and auxiliary have 'policy' twice"),
        (AlsoAuxiliary, "AlsoAuxiliary.participants and auxiliary have 'policy' twice"),
        (MetricsOfAnObject, "MetricsOfAnObject.metrics is called on the class: write @classmethod above it"),
        (SandboxAsText, "SandboxAsText.uses_sandbox has to be True or False (found 'false')"),
        (OutsideAsText, "OutsideAsText.opens_outside has to be True or False (found 'no')"),
        (JudgeAsText, "JudgeAsText.auxiliary has to be names in a tuple"),
        (NoRange, "NoRange.reward_range has to be two numbers, the lowest reward first (found 1.0)"),
        (TurnedRange, "TurnedRange.reward_range has to be two numbers, the lowest reward first (found (1.0, 0.0))"),
        (OptionsOfAnotherKind, "OptionsOfAnotherKind.Options has to be a subclass of BaseModel (found <class 'dict'>)"),
        (
            OptionsWithAnId,
            "OptionsWithAnId.Options.id has the key by which a config names the environment, id: rename it",
        ),
        (TaskOfAnotherKind, "TaskOfAnotherKind.task_type has to be a subclass of Task (found 'x')"),
        (NoOptions, "NoOptions.__init__ takes () -> 'None', and is called with (options)"),
        (NoFunction, "NoFunction.finished is the name of a hook, and no function (found None)"),
        (AsyncFinished, "AsyncFinished.finished is async, and nothing awaits it: write it without async"),
        (AsyncCheck, "AsyncCheck.check is async, and nothing awaits it: write it without async"),
        (Yielding, "Yielding.generate has a yield: return the value instead"),
    ],
)
def test_misspelt_and_missing_hooks_are_told(environment: type[Environment[Any, Any]], told: str) -> None:
    (said,) = wrong_hooks(environment)
    assert said.startswith(told)
    name = f"{__name__}:{environment.__name__}"
    config = RunConfig.model_validate(
        {
            "environment": {"id": name},
            "tasks": {"generate": 1},
            "models": {"m": {"engine": "scripted"}},
            "participants": {"policy": {"model": "m"}},
        }
    )
    with pytest.raises(UserError, match=re.escape(told)):
        make_environment(config, "mine.yaml")
    with pytest.raises(UserError, match=re.escape(told)):
        read_subject(name, [], 1, 0, None)


class OnceTask(Task):
    x: Iterable[int] = ()
    rows: list[Iterable[str]] = []  # noqa: RUF012
    whole: list[int] = []  # noqa: RUF012

    @model_validator(mode="after")
    def _check(self) -> OnceTask:
        return self


class Once(Environment[OnceTask, None]):
    def setup(self, task: OnceTask, episode: Any) -> None: ...

    def score(self, state: None, episode: Any) -> float:
        return 1.0


def test_a_field_that_can_be_read_once_is_refused() -> None:
    why = "is an Iterable, which can be read once: make it a list"
    assert wrong_hooks(Once) == [f"Once.task_type: OnceTask.{name} {why}" for name in ("x", "rows")]


class OfPlainData(Task):
    x: dict[str, Any] = {"type": "generator"}  # noqa: RUF012
    y: int = Field(1, json_schema_extra={"type": "generator"})


class OnPlainData(Once):
    task_type = OfPlainData  # type: ignore[assignment]


def test_a_default_that_looks_like_a_type_is_none() -> None:
    assert wrong_hooks(OnPlainData) == []


class Numbered(Task):
    number: int = 1


NumberedT = TypeVar("NumberedT", bound=Numbered)
StateT = TypeVar("StateT")


class Shared(Environment[NumberedT, StateT]):
    def setup(self, task: Any, episode: Any) -> Any: ...

    def score(self, state: Any, episode: Any) -> float:
        return 1.0


class SharedState(Shared[NumberedT, None]): ...


class Other(Numbered): ...


class ByVariable(SharedState[Other]): ...


class ByName(Environment["Numbered", None]):
    setup, score = Shared.setup, Shared.score


class BySeveral(Environment[Numbered | OfPlainData, None]):  # type: ignore[type-var]
    setup, score = Shared.setup, Shared.score


class ByAModel(Environment[BaseModel, None]):  # type: ignore[type-var]
    setup, score = Shared.setup, Shared.score


class Noted(Environment[Annotated[Numbered, "of tests"], None]):
    setup, score = Shared.setup, Shared.score


NumberedAlias = TypeAliasType("NumberedAlias", Numbered)


class ByAlias(Environment[NumberedAlias, None]):
    setup, score = Shared.setup, Shared.score


NamedT = TypeVar("NamedT", bound="Numbered")


class ByNamedBound(Environment[NamedT, None]):
    setup, score = Shared.setup, Shared.score


AnyTaskT = TypeVar("AnyTaskT", bound=Task)


class OfAnyTask(Environment[AnyTaskT, None]):
    setup, score = Shared.setup, Shared.score


class StatedByVariable(Environment[AnyTaskT, None]):
    task_type = Numbered
    setup, score = Shared.setup, Shared.score


class StatedOfTask(OfAnyTask[Task]):
    task_type = Numbered


class StatedAbove(StatedByVariable[Task]): ...


class Inherited(ByVariable, Environment[AnyTaskT, None]): ...  # type: ignore[misc]


class NarrowerThanStated(StatedByVariable[Other]): ...


def test_the_type_of_tasks_is_found_in_any_base() -> None:
    for environment, task_type in (
        (Shared, Numbered),
        (SharedState, Numbered),
        (ByVariable, Other),
        (ByName, Numbered),
        (Noted, Numbered),
        (ByAlias, Numbered),
        (ByNamedBound, Numbered),
        (OfAnyTask, Task),
        (NarrowerThanStated, Other),
    ):
        assert environment.task_type is task_type and wrong_hooks(environment) == []


@pytest.mark.parametrize(
    ("environment", "task_type"),
    [(StatedByVariable, Numbered), (StatedOfTask, Numbered), (StatedAbove, Numbered), (Inherited, Other)],
)
def test_a_wider_type_of_tasks_replaces_none_that_is_stated(environment: type[Any], task_type: type[Task]) -> None:
    assert environment.task_type is task_type and wrong_hooks(environment) == []


def test_a_type_of_tasks_that_is_defined_later_is_told_where_to_stand() -> None:
    class ByLateName(Environment["DefinedLater", None]):  # type: ignore[name-defined]
        setup, score = Shared.setup, Shared.score

    (said,) = wrong_hooks(ByLateName)
    assert said.endswith("Environment[...]: define DefinedLater in the same module, above the environment")


@pytest.mark.parametrize("environment", [BySeveral, ByAModel])
def test_another_type_of_tasks_is_refused(environment: type[Environment[Any, Any]]) -> None:
    (said,) = wrong_hooks(environment)
    assert said.startswith(f"{environment.__name__}.task_type has to be a subclass of Task (found ")
    assert said.endswith(", the first type in Environment[...]")


class OfDicts(Task):
    messages: list[dict[str, str]]  # type: ignore[assignment]


class OfNoMessages(Task):
    messages: ClassVar[list[str]] = []  # type: ignore[assignment, misc]


class OfOnePrompt(Task):
    system_prompts: str = ""  # type: ignore[assignment]


class OfPerhapsPrompts(Task):
    system_prompts: dict[str, str] | None = None  # type: ignore[assignment]


class OfNumbers(Task):
    task_id: int | None = None  # type: ignore[assignment]


with pytest.warns(UserWarning, match='"prompts" in "OfPrompts" shadows'):

    class OfPrompts(Task):
        prompts: list[str]  # type: ignore[assignment]


class OfSomePrompts(Task):
    def prompts(self, first: int) -> dict[str, str]:  # type: ignore[override]
        return {}


class Narrower(Task):
    task_id: Annotated[str, Field(max_length=8)]  # type: ignore[assignment]
    system_prompts: dict[Literal["policy"], str]  # type: ignore[assignment]
    messages: Conversation = Field(description="What was said.")

    def prompts(self) -> dict[str, str]:
        return {}


@pytest.mark.parametrize(
    ("task_type", "told"),
    [
        (OfDicts, "OfDicts.messages is a field of every task, of another type: leave it out, or rename yours"),
        (OfNoMessages, "OfNoMessages.messages is a field of every task, of another type"),
        (OfOnePrompt, "OfOnePrompt.system_prompts is a field of every task, of another type"),
        (OfPerhapsPrompts, "OfPerhapsPrompts.system_prompts is a field of every task, of another type"),
        (OfNumbers, "OfNumbers.task_id is a field of every task, of another type"),
        (OfPrompts, "OfPrompts.prompts is a name that is used here: rename it"),
        (OfSomePrompts, "OfSomePrompts.prompts is a name that is used here: rename it"),
    ],
)
def test_a_task_keeps_what_every_task_has(task_type: type[Task], told: str) -> None:
    (line,) = wrong_hooks(type("OfTasks", (Good,), {"task_type": task_type}))
    assert line.startswith(f"OfTasks.task_type: {told}")


def test_a_task_may_narrow_the_fields_of_every_task() -> None:
    assert wrong_hooks(type("OfTasks", (Good,), {"task_type": Narrower})) == []


def test_tools_are_no_attribute_of_a_class() -> None:
    with pytest.raises(TypeError, match=r"Listed\.tools holds what the class's own tools are"):

        class Listed(Good):
            tools: ClassVar[Any] = [len]

    with pytest.raises(TypeError, match=r"Method\.tools holds"):

        class Method(Good):
            def tools(self, task: Task, state: None) -> list[Any]:  # type: ignore[override]
                return []

    with pytest.raises(TypeError, match="@tool: participants: nobody may call it"):
        tool(participants=())


class Narrows(Good):
    def narrows(self, tool: Any, state: None, caller: Any) -> Any: ...  # type: ignore[override]


class HandsOn(Good):
    def run(self, episode: Any) -> Any:
        return super().run(episode)


def test_names_that_are_used() -> None:
    assert wrong_hooks(OwnOptions) == ["OwnOptions.options is a name that is used here: rename it"]
    assert wrong_hooks(Narrows) == ["Narrows.narrows is a name that is used here: rename it; did you mean narrow?"]
    assert wrong_hooks(HandsOn) == []
