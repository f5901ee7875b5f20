"""Makes a run's plan from its config, and checks the plan before anything is started."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ray_gym.agents.hiring import Crew, hire
from ray_gym.config.file import validate
from ray_gym.config.interpolations import errors_unfilled
from ray_gym.config.sections import RunConfig
from ray_gym.data.slow_generators import told_if_slow
from ray_gym.data.tasks import TaskRow, TaskRows, check_number, read_tasks
from ray_gym.environment import Environment
from ray_gym.episode.participant import Participant
from ray_gym.episode.spec import EpisodeSpec
from ray_gym.errors import UserError
from ray_gym.models.base import Engine, EngineCheck
from ray_gym.models.engine import bases_first, models_on
from ray_gym.models.price import Price
from ray_gym.plugins import construct, find_engine, find_environment
from ray_gym.seeds import derive_seed, stable_id
from ray_gym.tools.pickled import require_portable
from ray_gym.wrong_hooks import require_hooks

SUBMISSION = 0
"""Number of the submission, one of the values from which ids and seeds of episodes are derived. It is 0, since a run
has one submission."""


ReadsTasks = Callable[[Environment[Any, Any]], Sequence[TaskRow]]
"""Function that returns the rows of tasks for an environment."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Holds everything that a run needs, made from its config."""

    config: RunConfig
    environment: Environment[Any, Any]
    participants: dict[str, Participant]
    """Participants by name."""
    engines: dict[str, Engine]
    """Engines by the names of the models that participants use, and of those below them (`OnAnother`), which come
    first.
    """
    specs: list[EpisodeSpec]
    """Specifications of all planned episodes."""
    crew: Crew | None = None
    """Programs that play participants, and sandboxes; None if nobody needs a sandbox."""
    left_out: tuple[str, ...] = ()
    """Notes on what was left out of the rows of tasks."""

    @classmethod
    def of(
        cls,
        config: RunConfig,
        file: str,
        *,
        tasks: ReadsTasks | None = None,
        engines: Callable[[str], Engine] | None = None,
    ) -> Plan:
        """Makes the plan of a config. It does not check that the parts fit together: `check_plan` does.

        file: name of the config in messages. tasks: reads the rows to be played; None plans no episodes, for runs that
        get them later. engines: returns the engine of a model by its name; None makes new ones from the config.

        Errors: UserError for an unknown environment or engine, a wrong option, an exception of a constructor, or
        participants that do not fit the environment or the models of the config; exceptions of `tasks` and `engines`.
        """
        with errors_unfilled(config.filled_in):
            environment, participants = cast_of(config, file)
            if engines is None:
                used = engines_of(config, participants, file)
            else:
                used = bases_first(sorted({one.model for one in participants.values()}), config.models, engines)
            rows = tasks(environment) if tasks is not None else ()
            return cls(
                config,
                environment,
                participants,
                used,
                make_specs(config, rows),
                hire(config, file, environment.uses_sandbox),
                rows.notes if isinstance(rows, TaskRows) else (),
            )

    @property
    def notes(self) -> list[str]:
        """Returns one message for each participant in `not_plain`, for each that is trained on groups without spread, for
        each tool of somebody who does not take part, and for what was left out of rows; an empty list if there is none.
        """
        reshaped = [
            f"participants.{name}: its samples are not plain ({reason}); docs/tokens.md says what their logprobs are"
            for name, reason in self.not_plain.items()
        ]
        repeats = self.config.tasks.repeats
        equal = [
            f"participants.{p.name}.sampling.{p.sampling.greedy}, so the {repeats} episodes of a task (tasks.repeats) may "
            "all be equal, and a trainer learns nothing from such a group"
            for p in self.participants.values()
            if p.trainable and p.sampling.greedy and repeats > 1
        ]
        return [*reshaped, *equal, *self._tools_of_nobody(), *self.left_out]

    def _tools_of_nobody(self) -> Iterator[str]:
        known = self.environment.participants
        for name, tool in self.environment.tools.items():
            for nobody in sorted(set(tool.participants or ()) - set(known)):
                hint = _did_you_mean(nobody, known)
                yield f"environment: tool {name} is for {nobody!r}, who does not take part; {hint}"

    @property
    def not_plain(self) -> dict[str, str]:
        """Returns, by name, the trainable participants whose samples are not plain, with the reason. Participants whose
        engine gives no token ids are left out.

        A sample is plain if its logprobs are those of a forward pass at the sampling temperature (see docs/tokens.md).
        """
        return {
            p.name: reason
            for p in self.participants.values()
            if p.trainable
            and (engine := self.engines[p.model]).gives_tokens
            and (reason := engine.reshapes or _not_plain(p, self.environment))
        }

    @property
    def trained(self) -> list[str]:
        """Returns the sorted names of the models of trainable participants."""
        return sorted({participant.model for participant in self.participants.values() if participant.trainable})

    @property
    def prices(self) -> dict[str, Price]:
        """Returns the prices of the models in use that have one, by the name of the model."""
        models = self.config.models
        return {name: price for name in self.engines if (price := models[name].price) is not None}

    @property
    def gives_tokens(self) -> dict[str, bool]:
        """Returns, for each model that a participant uses, whether its engine gives token ids."""
        return {name: engine.gives_tokens for name, engine in self.engines.items()}


def make_plan(config: RunConfig, config_path: Path) -> Plan:
    """Makes the plan of the config that was read from `config_path`, reads its tasks, and checks that its parts fit
    together.

    Errors: UserError that names the file, the field and the fix; exceptions of the environment's code.
    """
    file = str(config_path)
    return check_plan(Plan.of(config, file, tasks=tasks_of(config, config_path.parent)), file)


def tasks_of(config: RunConfig, folder: Path) -> ReadsTasks:
    """Returns a function that reads the tasks of a config for an environment. A relative path of tasks starts in
    `folder` or, if the file isn't there, in the working directory.

    The function's errors are those of `read_tasks`: UserError for a missing file, a row that is no task, an id that is
    given twice, a generator that fails, or no tasks at all.
    """
    return lambda environment: read_tasks(config.tasks, environment, config.run.seed, folder)


def cast_of(config: RunConfig, file: str) -> tuple[Environment[Any, Any], dict[str, Participant]]:
    """Makes the environment and the participants (by name) of a config. `file`: name of the config in messages.

    Errors: UserError for an unknown environment, a wrong option of it, or an exception of its constructor, or participants
    that do not fit the environment or the models of the config.
    """
    environment = make_environment(config, file)
    return environment, participants_of(config, environment, file)


def check_plan(plan: Plan, file: str) -> Plan:
    """Checks that the parts of a plan fit together, and returns the same plan. `file`: name of the config in messages.

    Errors: UserError if the environment can't be sent to workers, if an engine can't do what its participants need, if
    `groups.minimum` exceeds `tasks.repeats`, if `limits.max_cost` is set and no model in use has a price, or if `train` is
    "strict" and samples of a participant would not be plain.
    """
    config = plan.config
    require_portable(plan.environment, f"environment.id: {config.environment.id}")
    with errors_unfilled(config.filled_in):
        for name, engine in plan.engines.items():
            engine.check(request_of(plan, name))
        if config.groups.minimum > config.tasks.repeats:
            raise UserError(
                f"{file}: groups.minimum: {config.groups.minimum}, but a group has tasks.repeats ({config.tasks.repeats}) episodes"
            )
        if config.limits.max_cost is not None and not plan.prices:
            used = ", ".join(f"models.{name}.price" for name in plan.engines)
            raise UserError(
                f"{file}: limits.max_cost: {config.limits.max_cost:g}, but no model that plays has a price; "
                f"set {used}, as {{input: 0.5, cached: 0.1, output: 1.5}} for a million tokens, or leave max_cost out"
            )
        if config.train == "strict" and plan.not_plain:
            refused = "; ".join(f"participants.{name}: {reason}" for name, reason in plan.not_plain.items())
            raise UserError(
                f"{file}: train: strict takes plain samples only, but {refused}; change that, or set train: any"
            )
    return plan


def request_of(plan: Plan, name: str) -> EngineCheck:
    """Returns what the participants of a plan will ask of the engine of a model. `name`: name of the model."""
    asking = [p for p in plan.participants.values() if p.model in models_on(name, plan.engines)]
    samplings = {p.name: p.sampling for p in asking}
    uses_tools = any(has_tools(plan.environment, p) for p in asking)
    return EngineCheck(name, samplings, uses_tools, plan.config.fanout.concurrency, plan.engines)


def make_environment(config: RunConfig, file: str) -> Environment[Any, Any]:
    """Makes the environment of a config. `file`: name of the config in messages. Errors: UserError for an unknown
    environment, a wrong option, or an exception of the environment's constructor.
    """
    environment_class = find_environment(config.environment.id)
    require_hooks(environment_class, f"environment.id: {config.environment.id}")
    options = validate(environment_class.Options, config.environment.options, file, ("environment",), config)
    return construct(environment_class, options, f"environment.id: {config.environment.id}")


def make_specs(config: RunConfig, tasks: Sequence[TaskRow]) -> list[EpisodeSpec]:
    """Makes the specifications of all episodes: `tasks.repeats` and `groups.extra` consecutive ones for each task, in the
    order of the tasks. Ids and seeds depend only on the run's seed, the id of the task and the number of the repeat.
    Errors: UserError if they are too many.
    """
    seed, repeats = config.run.seed, config.tasks.repeats + config.groups.extra
    check_number(len(tasks) * repeats)
    return [
        EpisodeSpec(
            episode_id=stable_id(seed, SUBMISSION, row.task_id, repeat),
            group_id=stable_id(seed, SUBMISSION, row.task_id),
            task_id=row.task_id,
            repeat=repeat,
            seed=derive_seed(seed, SUBMISSION, row.task_id, repeat),
            task=row.task,
        )
        for row in told_if_slow(
            tasks, lambda planned: f"the episodes of {planned:,} of {len(tasks):,} tasks are planned"
        )
        for repeat in range(repeats)
    ]


def participants_of(config: RunConfig, environment: Environment[Any, Any], file: str) -> dict[str, Participant]:
    """Makes the participants that the environment needs, by name. `file`: name of the config in messages.

    Errors: UserError if the config lacks a participant or has one that the environment does not know, if a
    participant's model is not under `models`, or if `tool_choice` is "required" for a participant that is offered no
    tools.
    """
    wanted, given = (*environment.participants, *environment.auxiliary), config.participants
    for name in wanted:
        if name not in given:
            asked = f", and asks {' and '.join(environment.auxiliary)}" if environment.auxiliary else ""
            players = " and ".join(environment.participants)
            raise UserError(
                f"{file}: participants.{name}: missing; {config.environment.id} is played by {players}{asked}"
            )
    for name, section in given.items():
        if name not in wanted:
            hint = _did_you_mean(name, wanted)
            raise UserError(f"{file}: participants.{name}: {config.environment.id} has no such participant; {hint}")
        if section.agent is not None and name in environment.auxiliary:
            raise UserError(
                f"{file}: participants.{name}.agent: a program takes turns, and {name} is asked between them; leave it out"
            )
        if section.model not in config.models:
            hint = _did_you_mean(section.model, config.models)
            raise UserError(
                f"{file}: participants.{name}.model: there is no model {section.model!r} under models; {hint}"
            )
        if section.tool_choice == "required" and not _offers_tools(environment, name):
            raise UserError(
                f"{file}: participants.{name}.tool_choice: required, but {config.environment.id} offers it no tools"
            )
    return {name: Participant.from_config(name, given[name], config.limits) for name in wanted}


def engines_of(config: RunConfig, participants: dict[str, Participant], file: str) -> dict[str, Engine]:
    """Makes the engines of the models that participants use, and of those below them, by the name of the model. The
    options of unused models are checked too. `file`: name of the config in messages.

    Errors: UserError for an unknown engine or a wrong option, or an exception of an engine's constructor.
    """
    used = {participant.model for participant in participants.values()}
    found: dict[str, tuple[Any, Any]] = {}
    for name, section in config.models.items():
        engine_class = find_engine(section.engine, f"{file}: models.{name}.engine")
        found[name] = engine_class, validate(engine_class.Options, section.options, file, ("models", name), config)

    def make(name: str) -> Engine:
        engine_class, options = found[name]
        engine: Engine = construct(engine_class, options, f"{file}: models.{name}.engine")
        return engine

    return bases_first([name for name in config.models if name in used], config.models, make)


def _offers_tools(environment: Environment[Any, Any], name: str) -> bool:
    """Says whether a participant may be offered tools. If tasks may bring tools, it is True for every participant."""
    return environment.brings_tools() or any(tool.offered_to(name) for tool in environment.tools.values())


def has_tools(environment: Environment[Any, Any], participant: Participant) -> bool:
    """Says whether a participant may call tools: its `tool_choice` is not "none", and the environment may offer it
    tools.
    """
    return participant.tool_choice != "none" and _offers_tools(environment, participant.name)


def _not_plain(participant: Participant, environment: Environment[Any, Any]) -> str:
    if participant.tool_choice == "required" and has_tools(environment, participant):
        return "tool_choice: required renormalises over a grammar"
    return "" if participant.sampling.is_plain else "temperature 0, top-p, top-k, min-p or a penalty"


def _did_you_mean(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
