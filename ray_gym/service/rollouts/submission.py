"""Makes a run's config and tasks from a caller's request, and checks them. Blocks.

Messages about mistakes name the fields of the request.
"""

from __future__ import annotations

import copy
import json
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ray_gym.config.sections import ParticipantSection, RunConfig, RunSection, ServiceSection, TasksSection
from ray_gym.data.checking import BadRow, task_of
from ray_gym.data.rows import FileRow, notes_on_tasks
from ray_gym.data.tasks import MAX_PROBLEMS, Placed, TaskRows, read_tasks, with_ids
from ray_gym.environment import Environment
from ray_gym.errors import UserError
from ray_gym.models.base import Engine, Sampling
from ray_gym.openai_api.refused import Refused, unprocessable_content
from ray_gym.openai_api.sampling import SamplingChange
from ray_gym.run.directory.directory import create, plan_directory
from ray_gym.run.fingerprint import Fingerprint
from ray_gym.run.plan import Plan, check_plan, tasks_of
from ray_gym.run.resume import with_absolute_path
from ray_gym.service.api import ParticipantChange, RolloutRequest
from ray_gym.service.offers import DEFAULT, Offer
from ray_gym.service.rollouts.rollout import REQUEST as REQUEST_FILE

logger = logging.getLogger(__name__)

TASKS = "tasks.jsonl"
"""Name of the file in the run's directory that holds the tasks which came with the request."""
REQUEST = "request"
"""Name that stands in messages where the name of the config file with the mistake would be."""
_FIELD = re.compile(r"([A-Za-z_][\w.\[\]-]*): ", re.ASCII)


@dataclass(frozen=True, slots=True)
class Submission:
    """A submission is a checked run, with the content of the files that its directory gets."""

    config: RunConfig
    """Config of the run, with the folder of the rollouts as `output.dir`."""
    fingerprint: Fingerprint
    """Fingerprint of the run's episodes, by which a resume recognises them."""
    tasks: bytes | None
    """Content of the file `tasks.jsonl` with the tasks that came with the request; None if none came."""
    notes: list[str]
    """Notes of the run's plan."""

    @property
    def episodes(self) -> int:
        """Returns the number of episodes."""
        return self.fingerprint.episodes

    def write(self, request: bytes) -> None:
        """Makes the run's directory with its files, and closes it. Blocks.

        `request` is the content of the file `request.json`. Errors: UserError, RunFailed, OSError; the directory is
        removed then.
        """
        directory = plan_directory(self.config, Path(REQUEST))
        create(directory)
        try:
            directory.write_fingerprint(self.fingerprint)
            directory.write_config(self.config)
            if self.tasks is not None:
                directory.storage.write(TASKS, self.tasks)
            directory.storage.write(REQUEST_FILE, request)
        except BaseException:
            directory.remove()
            raise
        finally:
            directory.close()


def submission_of(
    request: RolloutRequest,
    offer: Offer,
    config: RunConfig,
    config_dir: Path,
    engines: Mapping[str, Engine],
    run_id: str,
) -> Submission:
    """Makes a run from a request, and checks it.

    `config` is the service's, with the folder of the rollouts as `output.dir`. Relative paths of task files are looked
    for in `config_dir` first. `engines`: engines of all models by name, which are not changed. Errors: Refused if the
    request is wrong (422), or if the source's task file can't be used (503).
    """
    try:
        wanted = _config(request, offer, config, config_dir, run_id)
        plan = Plan.of(
            wanted,
            REQUEST,
            tasks=lambda environment: _tasks(request, wanted, environment, config_dir, config.service.max_episodes),
            engines=lambda name: copy.copy(engines[name]),  # a check may leave traces
        )
        check_plan(plan, REQUEST)
    except UserError as error:
        raise refusal_of(error, request) from None
    return Submission(
        wanted, Fingerprint.of(plan, config_dir), _as_lines(request.tasks) if request.tasks else None, plan.notes
    )


def plan_again(config: RunConfig, folder: Path, engines: Mapping[str, Engine]) -> Plan:
    """Makes the plan of a run once more. `folder` is the run's directory, and `config` the config that is stored there.

    Errors: UserError if the service has a model no more, or if the config or the tasks can't be used.
    """

    def engine(name: str) -> Engine:
        if name not in engines:
            raise UserError(f"models.{name}: the service doesn't have it any more")
        return engines[name]

    return Plan.of(config, "run.yaml", tasks=tasks_of(config, folder), engines=engine)


def refusal_of(error: UserError, request: RolloutRequest) -> Refused:
    """Turns an error about the config of a run into a refusal (422) that names the field of the request."""
    lines = [line.removeprefix(f"{REQUEST}: ") for line in str(error).splitlines()]
    if request.generate is not None:
        lines = [line.replace("tasks.generate: ", "generate: ", 1) for line in lines]
    lines = [line.replace("tasks.repeats", "repeats") for line in lines]
    field = _FIELD.match(lines[0])
    return unprocessable_content("\n".join(lines), field[1] if field else None)


# ---- the config ----


def _config(request: RolloutRequest, offer: Offer, config: RunConfig, config_dir: Path, run_id: str) -> RunConfig:
    """Makes the config of the run that a request asks for.

    Errors: Refused for a wrong field of the request (422), or a task file that is not there (503).
    """
    wanted = offer.config(
        config,
        run=RunSection(name=run_id, seed=request.seed),
        tasks=_tasks_section(request, offer),
        participants=_change_participants(request.participants, offer, config),
        service=ServiceSection(),
    )
    if request.tasks is not None:
        return wanted
    try:
        return with_absolute_path(wanted, config_dir / REQUEST)
    except UserError as error:
        raise _broken_source(request, error) from None


def _tasks_section(request: RolloutRequest, offer: Offer) -> TasksSection:
    """Makes the section `tasks` of the run's config from the request's tasks, number of tasks, or source.

    The smaller limit of a source and the request holds; the repeats are the request's.
    Errors: Refused (422) if the request gives two of `tasks`, `generate` and `source`, or an unknown source.
    """
    given = [name for name in ("tasks", "generate", "source") if getattr(request, name) is not None]
    if len(given) > 1:
        raise unprocessable_content(
            f"{given[1]}: give one of tasks, generate and source, not {' and '.join(given)}", given[1]
        )
    if request.tasks is not None:
        return TasksSection(path=TASKS, limit=request.limit, repeats=request.repeats)
    if request.generate is not None:
        return TasksSection(generate=request.generate, limit=request.limit, repeats=request.repeats)
    name = request.source or DEFAULT
    if name not in offer.sources:
        known = f"known: {', '.join(offer.sources)}" if offer.sources else "there are none: give tasks or generate"
        raise unprocessable_content(f"source: {offer.name} has no source {name!r}; {known}", "source")
    source = offer.sources[name]
    limits = [limit for limit in (source.limit, request.limit) if limit is not None]
    return source.model_copy(update={"limit": min(limits, default=None), "repeats": request.repeats})


def _change_participants(
    changes: Mapping[str, ParticipantChange], offer: Offer, config: RunConfig
) -> dict[str, ParticipantSection]:
    """Returns the sections of the offer's participants by name, with the changes of the request.

    Errors: Refused (422) for an unknown participant or model.
    """
    for name, change in changes.items():
        if name not in offer.participants:
            known = ", ".join(offer.participants)
            raise unprocessable_content(
                f"participants.{name}: {offer.name} has no such participant; known: {known}", f"participants.{name}"
            )
        if change.model is not None and change.model not in config.models:
            field = f"participants.{name}.model"
            raise unprocessable_content(
                f"{field}: there is no model {change.model!r} here; known: {', '.join(config.models)}", field
            )
    return {
        name: _change_participant(section, changes[name]) if name in changes else section
        for name, section in offer.participants.items()
    }


def _change_participant(section: ParticipantSection, change: ParticipantChange) -> ParticipantSection:
    """Returns a participant's section with the fields that the change gives."""
    plain = {name: value for name in type(change).model_fields if (value := getattr(change, name)) is not None}
    plain["sampling"] = _change_sampling(section.sampling, change.sampling)
    return section.model_copy(update=plain)


def _change_sampling(sampling: Sampling, change: SamplingChange) -> Sampling:
    """Returns sampling with the fields that the change gives."""
    given = change.model_dump(exclude_none=True)
    if "stop" in given:
        given["stop"] = tuple(given["stop"])
    return replace(sampling, **given)


# ---- the tasks ----


def _tasks(
    request: RolloutRequest, config: RunConfig, environment: Environment[Any, Any], config_dir: Path, most: int
) -> TaskRows:
    """Reads or generates the tasks of a request, and checks that there are at most `most` episodes.

    Errors: Refused for too many episodes (422) or a task file that can't be used (503); UserError for a wrong task.
    """
    section = config.tasks
    if request.tasks is not None:
        given = request.tasks[: request.limit]
        _check_count(len(given) * request.repeats, most)
        return TaskRows(with_ids(_check_given(given, environment)), notes_on_tasks(given))
    if section.generate is not None:
        _check_count(min(section.generate, section.limit or section.generate) * request.repeats, most)
    try:
        rows = read_tasks(section, environment, request.seed, config_dir)
    except UserError as error:
        if section.path is None:
            raise
        raise _broken_source(request, error) from None
    _check_count(len(rows) * request.repeats, most)
    return rows


def _check_given(given: list[dict[str, Any]], environment: Environment[Any, Any]) -> Iterator[Placed]:
    """Checks the tasks of a request, then yields them with their places.

    Errors: UserError that lists the first MAX_PROBLEMS mistakes, and says how many more there are.
    """
    found: list[Placed] = []
    problems: list[str] = []
    for index, fields in enumerate(given):
        place = f"tasks[{index}]"
        try:
            found.append((place, task_of(FileRow.given(place, index, fields), environment)))
        except BadRow as error:
            problems += [_place_problem(place, problem) for problem in error.problems]
    if problems:
        more = f"\n... and {len(problems) - MAX_PROBLEMS} more" if len(problems) > MAX_PROBLEMS else ""
        raise UserError("\n".join(problems[:MAX_PROBLEMS]) + more)
    yield from found


def _place_problem(place: str, problem: str) -> str:
    """Returns the problem of a task with the task's place in front: `tasks[3].field: ...`."""
    return f"{place}: {problem.removeprefix('(top level): ')}" if problem.startswith("(") else f"{place}.{problem}"


def _as_lines(tasks: list[dict[str, Any]]) -> bytes:
    """Returns tasks as JSON lines."""
    return b"".join(json.dumps(task, ensure_ascii=False).encode() + b"\n" for task in tasks)


def _check_count(episodes: int, most: int) -> None:
    """Checks that a rollout has at most `most` episodes. Errors: Refused (422) if it has more."""
    if episodes > most:
        raise unprocessable_content(
            f"{episodes} episodes are more than this service plays in one rollout ({most}); submit several"
        )


def _broken_source(request: RolloutRequest, error: UserError) -> Refused:
    """Logs a mistake in a task file of the service for its operator, and returns a refusal (503) without the details."""
    name = request.source or DEFAULT
    logger.warning("source %s: %s", name, error)
    return Refused(
        503, "broken_source", f"source: the tasks of {name!r} can't be played now; name others", "source", 60
    )
