"""Reads a config: parses YAML, applies dotted overrides, and validates the result with pydantic.

Every mistake in a config is a `UserError` that names the file and, where they are known, the field and the fix.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import GrammarParseError, OmegaConfBaseException
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, to_json

from ray_gym.config.interpolations import Interpolation, Verbatim, interpolations, unfilled, variables_in
from ray_gym.config.remedies import NO_NUMBER, bracketed_key, remedy, shortened
from ray_gym.config.sections import RunConfig, is_plugin_section
from ray_gym.config.unresolved import LITERAL, unread_interpolation, why_unresolved
from ray_gym.config.yaml_text import NO_TAB, is_tab, misread, one_line, parse, unquoted_interpolation
from ray_gym.errors import UserError, placed
from ray_gym.field_types import UNKNOWN_KEY, fields_of, kinds_at, kinds_of, refuses_key
from ray_gym.likely_names import nearest_name
from ray_gym.models.numbers import NO_BOOL, NO_FLAG, is_flag
from ray_gym.printable import masked, printable

ModelT = TypeVar("ModelT", bound=BaseModel)

LONGEST_FOUND = 60
"""Characters of a wrong value that a message shows at most."""
MISSPELT = 0.7
"""Likeness from which a key may be a misspelt one that is missing (of `difflib`)."""
_STRUCTURED = ("[", "{", "'", '"')
"""Beginnings of lists, of mappings and of texts in quotes."""
_NUMBERS = ("int_type", "float_type")
"""Kinds of problems that say that a value is no number."""
_LEFT_OUT = (yaml.AnchorToken, yaml.AliasToken, yaml.TagToken, yaml.DirectiveToken)
"""Parts of YAML that are no part of a value."""
_INTERPOLATION = re.compile(r"(\\*)\$\{")


class _Dumper(yaml.SafeDumper):
    """Writes YAML, and quotes texts like 1e5, which OmegaConf reads as numbers and PyYAML does not."""


_Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9.]+[eE][-+]?[0-9]+"), list("-+.0123456789")
)


def read_config(path: Path, overrides: Sequence[str] = ()) -> RunConfig:
    """Reads a config file, applies dotted overrides (key=value), and fills in ${...}.

    Errors: UserError for a file that isn't there, can't be read or isn't YAML, a bad override, a ${...} that can't be
    filled in, an unknown key, or a wrong value.
    """
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such config file{_nearby(path)}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: it is not UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from None
    except OSError as error:
        raise UserError(f"{path}: can't be read: {error.strerror or error}") from None
    return read_config_text(text, str(path), overrides)


def read_config_text(text: str, file: str, overrides: Sequence[str] = ()) -> RunConfig:
    """Reads a config from its text, as YAML, applies dotted overrides (key=value), and fills in ${...}. `file` is its
    name in messages.

    Errors: UserError for a text that isn't YAML, a bad override, a ${...} that can't be filled in, an unknown key, or a
    wrong type.
    """
    written, resolved = _written_and_resolved(text, file, overrides)
    _require_finite(resolved, file, overrides=overrides)
    filled_in = tuple(interpolations(written, resolved))
    try:
        config = RunConfig.model_validate(resolved)
    except ValidationError as error:
        raise _refusal(error, RunConfig, file, (), overrides, filled_in) from None
    return config.with_overrides(tuple(overrides)).with_filled_in(filled_in)


def as_yaml(data: Mapping[str, Any]) -> str:
    """Returns a resolved config as YAML text that `read_config` reads back unchanged. A literal ${ in it is escaped,
    and so are backslashes before it; a `Verbatim` keeps its ${...}. Invisible characters make it plain ASCII.
    """

    def escape(node: Any) -> Any:
        if isinstance(node, Verbatim):
            return str(node)
        if isinstance(node, str):
            return _INTERPOLATION.sub(r"\1\1\\${", node)
        if isinstance(node, Mapping):
            return {key: escape(value) for key, value in node.items()}
        return [escape(item) for item in node] if isinstance(node, list | tuple) else node

    def dump(allow_unicode: bool) -> str:
        return str(yaml.dump(escape(data), Dumper=_Dumper, sort_keys=False, allow_unicode=allow_unicode, width=120))

    text = dump(allow_unicode=True)
    return text if printable(text) == text else dump(allow_unicode=False)


def merge_overrides(text: str, file: str, overrides: Sequence[str]) -> dict[str, Any]:
    """Applies dotted overrides (key=value) to a mapping in YAML, fills in ${...}, and returns the mapping as plain
    data. `file` names the text in messages.

    Errors: UserError for a text that is no mapping in YAML, a bad override, or a ${...} that can't be filled in.
    """
    return _written_and_resolved(text, file, overrides)[1]


def interpolations_in(overrides: Sequence[str], file: str) -> tuple[Interpolation, ...]:
    """Returns what overrides fill in for ${...}, so that messages can show them as they are written. Errors: UserError,
    as `merge_overrides`.
    """
    return tuple(interpolations(*_written_and_resolved("{}", file, overrides)))


def _require_finite(
    data: Mapping[str, Any] | BaseModel, file: str, prefix: str = "", overrides: Sequence[str] = ()
) -> None:
    for key, number in _infinite(prefix, data):
        told = f"{key}: {number} {NO_NUMBER}; leave it out, or take a finite one"
        raise UserError(_place(told, file, overrides))


def _infinite(key: str, node: Any) -> Iterator[tuple[str, float]]:
    """Yields the numbers below a key that are infinite, or none: JSON, in which runs are kept, has no such numbers."""
    if isinstance(node, float) and not isfinite(node):
        yield key, node
    elif isinstance(node, BaseModel):
        yield from _infinite(key, {name: getattr(node, name) for name in node.model_fields_set})
    elif isinstance(node, Mapping | list):
        for name, child in node.items() if isinstance(node, Mapping) else enumerate(node):
            yield from _infinite(f"{key}.{name}" if key else str(name), child)


def _written_and_resolved(text: str, file: str, overrides: Sequence[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the config with its overrides twice: with every ${...} as it is written, and with its value. Errors:
    UserError.
    """
    config = parse(text, file, list(RunConfig.model_fields))
    for override in overrides:
        config = _overridden(config, override)
    written = None
    try:
        written = OmegaConf.to_container(config, resolve=False)
        resolved = OmegaConf.to_container(config, resolve=True)
    except (OmegaConfBaseException, yaml.YAMLError, ValueError, TypeError) as error:
        told = why_unresolved(error, written) if isinstance(error, OmegaConfBaseException) else one_line(error)
        raise UserError(_place(_without_environment(told, [text, *overrides]), file, overrides)) from None
    return _by_name(written), _by_name(resolved)


def _without_environment(told: str, texts: Sequence[str]) -> str:
    """Returns a message without the values of the environment's variables that texts of a config name, since they may be
    secret.
    """
    for name, value in variables_in("\n".join(texts)).items():
        told = masked(told, value, f"${{oc.env:{name}}}")
    return told


def _overridden(config: Any, override: str) -> Any:
    """Returns OmegaConf's config with an override (key=value) applied. Errors: UserError for one that can't be read."""
    try:
        override = override.encode("utf-8", "surrogateescape").decode()  # an argument's bytes, whatever the locale
    except UnicodeError:
        raise UserError(f"{override!r} is not an override that can be read: it is not UTF-8") from None
    key, equals, _ = override.partition("=")
    if not equals or not key or key.startswith("-"):
        raise UserError(f"{override!r} is not an override; write key=value, e.g. tasks.limit=8")
    if override == f"{key}=":
        raise UserError(f"{override!r} has no value; write {key}=null for nothing, or \"{key}=''\" for an empty text")
    if "${" in key:
        raise UserError(f"{override!r}: ${{...}} is read in values, not in keys; write the key itself")
    if meant := bracketed_key(OmegaConf.to_container(config, resolve=False), key):
        raise UserError(f"{override!r}: a dot parts keys, and one of the config has a dot; write {meant}=...")
    try:
        return OmegaConf.merge(config, OmegaConf.from_dotlist([f"{key}={_whole(key, override[len(key) + 1 :])}"]))
    except (OmegaConfBaseException, yaml.YAMLError, ValueError, TypeError) as error:
        told, is_braced = one_line(error), override[len(key) + 1 :].lstrip()[:1] in _STRUCTURED[:2]
        of_text = "; a text is in quotes: KEY='TEXT'" if is_braced and "quotes" not in told else ""
        if isinstance(error, GrammarParseError):
            told, of_text = unread_interpolation(override), ""
        elif "${" in override:
            of_text = LITERAL
        raise UserError(f"{override!r} is not an override that can be read: {told}{of_text}") from None


def _whole(key: str, value: str) -> str:
    """Returns the value of a key's override as YAML that stands for all of its text. A list, a mapping, a text in quotes, a
    number and the like stay as they are. Any other text that YAML would read as less (a comment, a mark of a document,
    an anchor, spaces, line ends), as a list or a mapping without brackets (`- x`, `a: b`, `x:`), or could not read is
    put into quotes.

    Errors: ValueError for a list, a mapping or a text in quotes of which YAML would leave something out, and for a
    value or a key that YAML reads otherwise than it is written.
    """
    try:
        node, tokens = yaml.compose(value, Loader=yaml.SafeLoader), list(yaml.scan(value, Loader=yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark = error.problem_mark if isinstance(error, yaml.MarkedYAMLError) else None
        if mark is not None and value[max(mark.index - 1, 0) : mark.index + 1] == "${":
            raise ValueError(unquoted_interpolation(value, mark.index - 1)) from None
        if value.lstrip()[:1] in _STRUCTURED:
            if mark is not None and is_tab(value, mark):
                raise ValueError(NO_TAB) from None
            comment = " (what is behind a # is a comment)" if "#" in value else ""
            raise ValueError(
                f"it is no whole list, mapping or text in quotes{comment}; put each text into quotes"
            ) from None
        return _quoted(value)
    plain = node if isinstance(node, yaml.ScalarNode) and node.style not in ("'", '"') else None
    if plain is not None and plain.value != value.strip():
        return _quoted(value)
    for _, _, problem in misread(node, key.rpartition(".")[2]):
        raise ValueError(problem)
    if plain is not None:
        of_text = plain.tag.endswith(":str")
        is_special = plain.tag.endswith((":value", ":merge"))  # = and <<
        return _quoted(value) if is_special or (of_text and plain.value != value) else value
    if node is None:
        return _quoted(value) if value else value
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        return _quoted(value)
    _require_all(value, tokens)
    return value


def _require_all(value: str, tokens: list[yaml.Token]) -> None:
    """Checks that YAML reads all of a text whose tokens are given. Errors: ValueError."""
    end = 0
    for token in tokens:
        if value[end : token.start_mark.index].strip():
            raise ValueError("what is behind a # would be left out; put the text into quotes")
        if isinstance(token, _LEFT_OUT):
            raise ValueError("& * and ! have a meaning in YAML; put the text into quotes")
        if isinstance(token, yaml.ScalarToken) and token.start_mark.line != token.end_mark.line:
            raise ValueError(r"a line end would become a space; write it as \n in double quotes")
        end = token.end_mark.index


def _quoted(text: str) -> str:
    """Returns a text as YAML in double quotes, with escapes for all but ASCII, since YAML would drop some of the rest."""
    return '"{}"'.format(re.sub(r'[^ -~]|["\\]', lambda found: f"\\U{ord(found[0]):08x}", text))


def _by_name(plain: Any) -> dict[str, Any]:
    return {str(key): value for key, value in dict(plain).items()}


def validate(
    model: type[ModelT],
    data: Mapping[str, Any],
    file: str,
    prefix: tuple[str, ...] = (),
    config: RunConfig | None = None,
) -> ModelT:
    """Validates `data`, and returns it as a `model`. `file` names its file in messages; `prefix` is the path of keys in
    the file that leads to the data; `config` is the whole config that the data is a part of, if it is one. Keys that no
    field has are refused at any depth (`refuses_key`), and so are true and false for a number, and others for true and false.

    Errors: UserError with one line for each problem, which names the override or else the file, the field and the
    problem. Values that the file has as ${...} are shown as that.
    """
    overrides, filled_in = (config.overrides, config.filled_in) if config is not None else ((), ())
    try:
        made = model.model_validate(dict(data))
    except ValidationError as error:
        raise _refusal(error, model, file, prefix, overrides, filled_in) from None
    except Exception as error:  # of an author's validator
        raise UserError(f"{file}: {'.'.join((*prefix, model.__name__))} failed: {placed(error)}") from error
    problems = _unknown_keys(model, data) or _other_flags(model, data)
    if told := list(explained(problems, model, prefix, filled_in)):
        raise _refused(told, file, overrides)
    _require_finite(made, file, ".".join(prefix), overrides)  # "nan" is a text until it is read as a number
    return made


def _unknown_keys(model: type[BaseModel], data: Mapping[str, Any]) -> list[ErrorDetails]:
    """Returns a problem for each key that no field of a model has, at any depth."""
    try:
        model.model_validate(dict(data), extra="forbid")
    except ValidationError as error:
        return [problem for problem in error.errors(include_url=False) if refuses_key(model, problem)]
    return []


def _other_flags(model: type[BaseModel], data: Mapping[str, Any]) -> list[ErrorDetails]:
    """Returns a problem for each true or false that is given for a number, which pydantic takes for 1 or 0, and for each
    number or text that is given for true or false.
    """
    try:
        model.__pydantic_validator__.validate_json(to_json(dict(data), bytes_mode="base64"), strict=True)
    except ValidationError as error:
        return [told for problem in error.errors(include_url=False) if (told := _other_flag(problem))]
    return []


def _other_flag(problem: ErrorDetails) -> ErrorDetails | None:
    """Returns a problem of strict reading in the words of configs; None for one that is not about true or false."""
    if problem["type"] in _NUMBERS and isinstance(problem["input"], bool):
        return {**problem, "msg": NO_BOOL}
    if problem["type"] == "bool_type" and not is_flag(problem["input"]):
        return {**problem, "msg": NO_FLAG}
    return None


def _refused(told: Iterable[tuple[str, ErrorDetails]], file: str, overrides: Sequence[str]) -> UserError:
    return UserError("\n".join(_place(line, file, overrides) for line, _ in told))


def _refusal(
    error: ValidationError,
    model: type[BaseModel],
    file: str,
    prefix: tuple[str, ...],
    overrides: Sequence[str],
    filled_in: Sequence[Interpolation],
) -> UserError:
    return UserError("\n".join(_place(line, file, overrides) for line in explain(error, model, prefix, filled_in)))


def _place(line: str, file: str, overrides: Sequence[str]) -> str:
    """Returns the line of a problem (`field: what is wrong`) behind the last override that has set the field or a part
    of it or the section with it; behind the file if none has.
    """
    field = f"{line.partition(': ')[0]}."
    for override in reversed(overrides):
        name, _, value = override.partition("=")
        if field.startswith(f"{name}.") or f"{name}.".startswith(field):
            return f"{shortened(override)!r}: {line}{remedy(name, value, line)}"
    return f"{file}: {line}"


def explain(
    error: ValidationError,
    model: type[BaseModel],
    prefix: tuple[str, ...] = (),
    filled_in: Sequence[Interpolation] = (),
) -> list[str]:
    """Returns one line for each problem of a validation, with the field's dotted key after `prefix`. For an unknown key
    it suggests the nearest known one. Values of `filled_in` are shown as the file has them, since they may be secret.
    """
    return [line for line, _ in explained(error.errors(include_url=False), model, prefix, filled_in)]


def explained(
    problems: Iterable[ErrorDetails],
    model: type[BaseModel],
    prefix: tuple[str, ...] = (),
    filled_in: Sequence[Interpolation] = (),
) -> Iterator[tuple[str, ErrorDetails]]:
    """Yields the lines of `explain`, each with pydantic's details of the problem."""
    for problem in problems:
        location = problem["loc"]
        field = _dotted(*prefix, *location) or "(top level)"
        if problem["type"] in UNKNOWN_KEY:
            yield f"{field}: unknown key; {_nearest(model, location, prefix)}", problem
        elif problem["type"] == "missing":
            yield _missing(model, problem, prefix), problem
        elif problem["type"] == "value_error":
            yield f"{field}: {unfilled(str(problem['ctx']['error']), filled_in)}", problem
        else:
            found = unfilled(repr(problem["input"]), filled_in, (*prefix, *location))
            told = problem["msg"].replace("valid tuple", "valid list")
            yield f"{field}: {unfilled(told, filled_in)} (found {found:.{LONGEST_FOUND}})", problem


def _missing(model: type[BaseModel], problem: ErrorDetails, prefix: tuple[str, ...]) -> str:
    """Returns the line of a field that is missing. In a section with further keys, a key that is nearly the field's name,
    or that of a key which may stand for it, is told instead.
    """
    *place, field = problem["loc"]
    sections = [kind for kind in kinds_at(model, place) if is_plugin_section(kind)]
    wanted = [str(field), *(key for kind in sections for key in kind.instead)]
    for key in problem["input"] if sections else ():
        if close := difflib.get_close_matches(str(key), wanted, n=1, cutoff=MISSPELT):
            return f"{_dotted(*prefix, *place, key)}: unknown key; did you mean {close[0]!r}?"
    others = f"; {' or '.join(wanted[1:])} may stand for it" if wanted[1:] else ""
    return f"{_dotted(*prefix, *place, field)}: missing{others}"


def _dotted(*parts: Any) -> str:
    """Returns a path to a value, for messages. Keys of data may have any length, and are shortened."""
    return ".".join(shortened(str(part)) for part in parts)


def _nearest(model: type[BaseModel], location: tuple[Any, ...], prefix: tuple[str, ...]) -> str:
    """Returns words for the known key that is nearest to an unknown one, for the place that it has in another section, or
    for all known keys. If the model has the options of a section that `prefix` leads to, the section's own keys are known, too.
    """
    *above, key = location
    sections = kinds_at(RunConfig, prefix) if not above else []
    kinds = [*filter(is_plugin_section, sections), *kinds_at(model, above)]
    known = list(dict.fromkeys(name for kind in kinds for name in fields_of(kind) if name != key))
    places = [_dotted(*prefix, *above, *place) for kind in kinds for place in _inside(kind, key)]
    if prefix or model is RunConfig:
        places += [_dotted(*place) for place in _inside(RunConfig, key)]
    near = nearest_name(str(key), known) or next(iter(places), None)
    if near is not None:
        return f"did you mean {near!r}?"
    return f"known: {', '.join(known)}" if known else "remove it"


def _inside(kind: Any, key: Any) -> Iterator[tuple[str, str]]:
    """Yields the sections of a section, not those of plugins, that have a key, each with the key."""
    for name, annotation in fields_of(kind).items():
        for inner in kinds_of(annotation):
            if key in fields_of(inner) and not is_plugin_section(inner):
                yield name, key


def _nearby(path: Path) -> str:
    """Returns the end of a message that a config is missing: the file beside it whose name is nearest; "" without one."""
    folder = path.parent
    found = {other.stem: other for other in folder.glob("*.y*ml")} if folder.is_dir() else {}
    near = path.stem if path.stem in found else nearest_name(path.stem, found)
    return f"; did you mean {found[near]}?" if near is not None else ""
