"""Says how an override (key=value) is written whose value does not fit its field, or whose key is read as another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

NO_NUMBER = "is no number that a run can keep"
"""Words of a message about an infinite number, such as YAML makes of `12e34567`."""
LONGEST_SHOWN = 80
"""Characters of an override that a message shows at most."""
_QUOTES = ("'", '"')


def shortened(text: str) -> str:
    """Returns a text as messages show it."""
    return text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}..."


def remedy(name: str, value: str, line: str) -> str:
    """Returns the end of a message about the override `name=value`, behind the line of its problem (`field: what is
    wrong`): the override with the quotes or the brackets that the field wants; "" if it wants none.
    """
    wants_text = "should be a valid string" in line or (NO_NUMBER in line and any(map(str.isdigit, value)))
    if not wants_text and "should be a valid list" not in line:
        return ""
    try:
        node = yaml.compose(value, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        return ""
    field = line.partition(": ")[0]
    inside = field.removeprefix(f"{name}.").split(".") if field.startswith(f"{name}.") else []
    if wants_text and not inside:
        is_bare = value.lstrip()[:1] not in (*_QUOTES, "")
        return f'; a text is in quotes: "{shortened(f"{name}={_quoted(value.strip())}")}"' if is_bare else ""
    if wants_text and node is not None:
        return f'; a text is in quotes: "{shortened(f"{name}={_with_quotes(value, node, inside)}")}"'
    if field == name and isinstance(node, yaml.ScalarNode):
        is_cut = node.style is None and " #" in value and "\n" not in value  # by YAML, for which it is a comment
        item = "" if node.tag.endswith(":null") else _quoted(value.strip()) if is_cut else _written(node)
        return f'; a list is in brackets: "{shortened(f"{name}=[{item}]")}"'
    return ""


def bracketed_key(config: Any, key: str) -> str | None:
    """Returns an override's key with brackets around the one of a config's keys in it that has a dot, which would part
    it; None if it has no such key.
    """
    node, above, rest = config, "", key
    while isinstance(node, Mapping) and rest:
        part, _, below = rest.partition(".")
        for name in map(str, node):
            if above and part not in node and "." in name and f"{rest}.".startswith(f"{name}."):
                return f"{above}[{name}]{rest[len(name) :]}"
        node, above, rest = node.get(part), f"{above}.{part}" if above else part, below
    return None


def _with_quotes(value: str, node: yaml.Node, place: Sequence[str] | None) -> str:
    """Returns a part of a value, a node of its YAML, with quotes around the text at a place, keys and indices within it;
    so are the items beside it in its list. None is a place somewhere else.
    """
    if place is None:
        return _written(node)
    if place and isinstance(node, yaml.SequenceNode):
        return f"[{', '.join(_with_quotes(value, item, place[1:]) for item in node.value)}]"
    if place and isinstance(node, yaml.MappingNode):
        items = ((name, item, place[1:] if name.value == place[0] else None) for name, item in node.value)
        return f"{{{', '.join(f'{_written(name)}: {_with_quotes(value, item, at)}' for name, item, at in items)}}}"
    is_scalar = isinstance(node, yaml.ScalarNode)
    return _quoted(node.value if is_scalar else value[node.start_mark.index : node.end_mark.index])


def _written(node: yaml.Node) -> str:
    """Returns a part of a value as it stands in a list: texts in quotes, numbers and the like as they are."""
    if isinstance(node, yaml.SequenceNode):
        return f"[{', '.join(map(_written, node.value))}]"
    if isinstance(node, yaml.MappingNode):
        return f"{{{', '.join(f'{_written(name)}: {_written(item)}' for name, item in node.value)}}}"
    return _quoted(node.value) if node.tag.endswith(":str") else str(node.value)


def _quoted(text: str) -> str:
    """Returns a text in single quotes."""
    return "'{}'".format(text.replace("'", "''"))
