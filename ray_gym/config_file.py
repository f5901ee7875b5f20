"""Reads a config: YAML, then dotted overrides, then pydantic. Every mistake is a `UserError` that names file, field and fix."""

from __future__ import annotations

import difflib
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel, ValidationError

from ray_gym.config import RunConfig
from ray_gym.errors import UserError

ModelT = TypeVar("ModelT", bound=BaseModel)


def read_config(path: Path, overrides: Sequence[str] = ()) -> RunConfig:
    """Errors: UserError for a file that isn't there or isn't YAML, a bad override, an unknown key, a wrong type."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        raise UserError(f"{path}: there is no such config file{_nearby(path)}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: can't be read: {error}") from None
    return read_config_text(text, str(path), overrides)


def read_config_text(text: str, file: str, overrides: Sequence[str] = ()) -> RunConfig:
    """`file` is what messages call it. Errors: UserError."""
    return validate(RunConfig, merged(text, file, overrides), file)


def as_yaml(data: Mapping[str, Any]) -> str:
    """A resolved config as a file that `read_config` gives back: a literal ${ in it stays one."""

    def escaped(node: Any) -> Any:
        if isinstance(node, str):
            return node.replace("${", "\\${")
        if isinstance(node, Mapping):
            return {key: escaped(value) for key, value in node.items()}
        return [escaped(item) for item in node] if isinstance(node, list | tuple) else node

    return yaml.safe_dump(escaped(data), sort_keys=False, allow_unicode=True, width=120)


def merged(text: str, file: str, overrides: Sequence[str]) -> dict[str, Any]:
    """A mapping in YAML under dotted overrides, as plain data. Errors: UserError."""
    try:
        if not isinstance(yaml.safe_load(text) or {}, dict):
            raise UserError(f"{file}: expected a mapping with the keys {', '.join(RunConfig.model_fields)}")
        config = OmegaConf.create(text)
    except (yaml.YAMLError, OmegaConfBaseException, ValueError) as error:
        raise UserError(f"{file}: not valid YAML: {_one_line(error)}") from None
    for override in overrides:
        key, equals, _ = override.partition("=")
        if not equals or not key or key.startswith("-"):
            raise UserError(f"{override!r} is not an override; write key=value, e.g. tasks.limit=8")
    try:
        merged = OmegaConf.merge(config, OmegaConf.from_dotlist(list(overrides)))
        plain = OmegaConf.to_container(merged, resolve=True)
    except (OmegaConfBaseException, yaml.YAMLError, ValueError, TypeError) as error:
        raise UserError(f"{file}: {_one_line(error)}") from None
    return {str(key): value for key, value in dict(plain).items()}  # type: ignore[arg-type]


def validate(model: type[ModelT], data: Mapping[str, Any], file: str, prefix: tuple[str, ...] = ()) -> ModelT:
    """`data` as `model`; `prefix` is where in the file it stands.

    Errors: UserError with one line a problem, each naming the field and what to do.
    """
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        raise UserError("\n".join(f"{file}: {line}" for line in explain(error, model, prefix))) from None


def explain(error: ValidationError, model: type[BaseModel], prefix: tuple[str, ...] = ()) -> list[str]:
    """One line for each problem. An unknown key is told the nearest known one."""
    lines = []
    for problem in error.errors(include_url=False):
        location = problem["loc"]
        field = ".".join([*prefix, *map(str, location)]) or "(top level)"
        if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
            lines.append(f"{field}: unknown key; {_nearest(model, location)}")
        elif problem["type"] == "missing":
            lines.append(f"{field}: missing")
        elif problem["type"] == "value_error":
            lines.append(f"{field}: {problem['ctx']['error']}")
        else:
            lines.append(f"{field}: {problem['msg']} (found {problem['input']!r:.60})")
    return lines


def _nearest(model: type[BaseModel], location: tuple[Any, ...]) -> str:
    known = _keys_at(model, location[:-1])
    close = difflib.get_close_matches(str(location[-1]), known, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"known: {', '.join(known)}" if known else "remove it"


def _keys_at(annotation: Any, location: tuple[Any, ...]) -> list[str]:
    """The keys that are known where an error was found, by walking the models' fields."""
    for part in location:
        annotation = _unwrapped(annotation)
        fields = _fields(annotation)
        if fields is not None and part in fields:
            annotation = fields[part]
        elif get_origin(annotation) in (dict, list, tuple, Mapping):
            annotation = get_args(annotation)[-1]
            annotation = get_args(annotation)[0] if annotation is Ellipsis else annotation
    return list(_fields(_unwrapped(annotation)) or [])


def _unwrapped(annotation: Any) -> Any:
    """`X | None` without the None, `Annotated[X, ...]` without its notes."""
    if get_origin(annotation) in (Union, types.UnionType):
        return next(a for a in get_args(annotation) if a is not type(None))
    if hasattr(annotation, "__metadata__"):
        return _unwrapped(annotation.__origin__)
    return annotation


def _fields(annotation: Any) -> dict[str, Any] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {name: field.annotation for name, field in annotation.model_fields.items()}
    if hasattr(annotation, "__dataclass_fields__"):
        return {name: field.type for name, field in annotation.__dataclass_fields__.items()}
    return None


def _nearby(path: Path) -> str:
    folder = path.parent
    names = [str(other) for other in folder.glob("*.y*ml")] if folder.is_dir() else []
    close = difflib.get_close_matches(str(path), names, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
