"""Defines a form, which is a way to write a finished run for a consumer. `docs/extending.md` has an example."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, ClassVar

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, ValidationError

from ray_gym.config.file import explain
from ray_gym.errors import UserError
from ray_gym.export.finished import Row
from ray_gym.export.selection import Counts
from ray_gym.plugins import PluginKind, find, names
from ray_gym.run.directory.reading import Run

FORM = PluginKind(
    "form",
    "ray_gym.exporters",
    ours={
        "sft": "ray_gym.export.sft:Sft",
        "preference": "ray_gym.export.preference:Preference",
        "rollouts": "ray_gym.export.rollouts:Rollouts",
        "atif": "ray_gym.export.atif:Atif",
        "jsonl": "ray_gym.export.jsonl:Jsonl",
        "messages": "ray_gym.export.messages:Messages",
        "nemo-gym-inputs": "ray_gym.export.nemo_gym:NemoGymInputs",
        "nemo-gym-rollouts": "ray_gym.export.nemo_gym:NemoGymRollouts",
        "notes": "ray_gym.export.noted:Noted",
        "openenv": "ray_gym.export.openenv:OpenEnv",
        "openrlhf-preference": "ray_gym.export.hugging_face:OpenrlhfPreference",
        "openrlhf-sft": "ray_gym.export.hugging_face:OpenrlhfSft",
        "sharegpt": "ray_gym.export.sharegpt:Sharegpt",
        "trl-preference": "ray_gym.export.hugging_face:TrlPreference",
        "trl-sft": "ray_gym.export.hugging_face:TrlSft",
        "trl-tokens": "ray_gym.export.token_sets:TrlTokens",
        "verl-sft": "ray_gym.export.verl:VerlSft",
    },
)
"""Kind of plugin that forms are. Other packages define forms by entry points of the group `ray_gym.exporters`."""


class FormOptions(BaseModel):
    """Holds the options of a form, which are `KEY=VALUE` arguments of `ray-gym export`."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Form(ABC):
    """A form turns the rows of episodes, group by group, into lines of JSON, or rows of Parquet."""

    Options: ClassVar[type[FormOptions]] = FormOptions
    """Class of the form's options."""
    to: ClassVar[str] = ""
    """Name of the consumer that reads the form, for `--to`."""
    columns: ClassVar[tuple[str, ...]]
    """Columns that the form needs of an episode's row (docs/record.md)."""
    has_tokens: ClassVar[bool] = False
    """True if lines have token ids, which spell the text of the episode: then redacted episodes are left out."""
    schema: ClassVar[pa.Schema | None] = None
    """Arrow schema of the lines, which are then written as Parquet; None for JSON lines. Values of columns of JSON are
    data, as those of JSON lines are."""

    @classmethod
    @contextmanager
    def open_form(cls, options: Any, run: Run) -> Iterator[Form]:
        """Makes a form from its options, for one run, as a context manager. A subclass overrides it if it has something
        to close. Errors: UserError if the options are wrong.
        """
        yield cls(**dict(options))

    def without_tokens(self, row: Row) -> Row | None:
        """Returns a row whose text was redacted as a form with `has_tokens` may write it, without token ids; None to
        leave it out.
        """
        return None

    @abstractmethod
    def lines(self, groups: Iterable[list[Row]], counts: Counts) -> Iterator[dict[str, Any]]:
        """Yields the lines of a run, as JSON data. `groups`: rows of each group of episodes, after the filters and with
        text redacted, so that a group may lack some. Things that give no line are counted in `counts`, with the reason.
        """


def choose_form(name: str | None, to: str | None) -> tuple[str, type[Form]]:
    """Returns the name and the class of the form that `--form` and `--to` ask for. Under `--to trl`, `sft` names the
    form `trl-sft`. Errors: UserError as of `find_form`, and if `to` alone names none or several forms.
    """
    if name is not None:
        full = f"{to}-{name}"
        found = full if to is not None and full in names(FORM) else name
        return found, find_form(found, to)
    consumers = _by_consumer()
    if to is None:
        raise UserError(f"--to: say for whom, or give a --form; known: {', '.join(sorted(consumers))}")
    _require_consumer(to, consumers)
    if len(consumers[to]) > 1:
        listed = ", ".join(one.removeprefix(f"{to}-") for one in consumers[to])
        raise UserError(f"--form: {to} has several; say which: {listed}")
    [only] = consumers[to]
    return only, find_form(only, to)


def _require_consumer(to: str, consumers: Collection[str]) -> None:
    """Checks that a form is of a consumer. Errors: UserError that lists those that there are."""
    if to not in consumers:
        meant = "".join(f"did you mean {near!r}? " for near in get_close_matches(to, consumers, n=1))
        raise UserError(f"--to: there is none for {to!r}; {meant}known: {', '.join(sorted(consumers))}")


def _by_consumer() -> dict[str, list[str]]:
    """Returns the names of the forms of each consumer."""
    found: dict[str, list[str]] = {}
    for name in names(FORM):
        if to := find_form(name, None).to:
            found.setdefault(to, []).append(name)
    return found


def find_form(name: str, to: str | None) -> type[Form]:
    """Returns the class of a form by its name. `to`: consumer that the user named, or None. Errors: UserError if there
    is no such form, if the named object is no subclass of `Form`, or if the form is another consumer's.
    """
    found = find(FORM, name, "--form")
    if not (isinstance(found, type) and issubclass(found, Form)):
        raise UserError(f"--form: {name} is not a subclass of ray_gym.export.form.Form")
    if to is not None and to != found.to:
        _require_consumer(to, _by_consumer())
        raise UserError(f"--to: --form {name} is {found.to or 'nobody'}'s, not {to}'s")
    return found


def read_options(name: str, form: type[Form], given: Mapping[str, Any]) -> FormOptions:
    """Returns the options of a form. `name`: the form's name. `given`: options by the words of the command:
    `--min-reward` or `min_reward`.

    Errors: UserError that names the word or the option, if the form has no such option or its value is wrong.
    """
    words = {word.removeprefix("--").replace("-", "_"): word for word in given}
    for key in words.keys() - form.Options.model_fields.keys():
        raise UserError(f"{words[key]}: {_who_takes(key, name, form)}")
    try:
        return form.Options.model_validate({key: given[word] for key, word in words.items()})
    except ValidationError as error:
        told = (line.partition(": ") for line in explain(error, form.Options))
        raise UserError("\n".join(f"{words.get(field, field)}: {problem}" for field, _, problem in told)) from None


def _who_takes(key: str, name: str, form: type[Form]) -> str:
    """Returns a text for an error about an unknown option: the other forms that have this option, or else all options
    of this form.
    """
    if others := [other for other in names(FORM) if key in find_form(other, None).Options.model_fields]:
        return f"it is an option of --form {', '.join(others)}, not of {name}"
    return f"--form {name} has no such option; known: {', '.join(form.Options.model_fields) or 'none'}"
