"""Reads the text of a config as YAML, and tells the line of a mistake."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import GrammarParseError, OmegaConfBaseException

from ray_gym.config.comments import lost_texts
from ray_gym.config.unresolved import unread_interpolation
from ray_gym.errors import UserError

_OCTAL = re.compile(r"[-+]?0[0-9_]+")
_OLD_BOOLEANS = ("yes", "no", "on", "off")
"""Booleans of YAML 1.1 that are texts in YAML 1.2."""
_CHOICES = (("durability", "off"),)
"""Keys with a choice that YAML takes for a boolean, and that the key's field reads as it is written."""
_ODD_INDENT = re.compile(r" *([^\S \t\r\n])")
_BEGUN = ("while scanning a quoted scalar", "while scanning a simple key")
"""Contexts of errors that are noticed behind the line with the mistake."""
_COLLECTIONS = (
    yaml.BlockMappingStartToken,
    yaml.BlockSequenceStartToken,
    yaml.FlowMappingStartToken,
    yaml.FlowSequenceStartToken,
)
_WHOLE_INTERPOLATION = re.compile(r"""\$\{[^\s{}"'\\]{1,80}\}""")
"""An interpolation without another one or quotes in it."""
_OF_BARE_TEXTS = (
    "cannot start any token",
    "expected alphabetic or numeric",
    "expected ' ', but found",  # a tag that a bracket or a comma ends
    "'<scalar>'",
    "got ':'",
    "mapping values are not allowed",
    "could not determine a constructor for the tag '!",
)
"""Parts of PyYAML's messages about a text that needs quotes."""
NO_TAB = "a tab, which is no space for YAML; put spaces there"
_BRACKETS = ("while parsing a flow mapping", "while parsing a flow sequence")


def parse(text: str, file: str, top_keys: list[str]) -> Any:
    """Returns a mapping in YAML as OmegaConf's config. `file` names the text in messages; `top_keys` are the keys that
    the mapping should have.

    Errors: UserError, with the line, for a text that is no YAML, loses a text as a comment, is no mapping, or has a
    value that YAML or OmegaConf can't read, or reads otherwise than it is written.
    """
    for lost in lost_texts(text):
        raise UserError(f"{file}:{lost.line}: {lost.complaint}")
    root = None
    try:
        tokens = list(yaml.scan(text, Loader=yaml.SafeLoader))
        for token in tokens:
            if isinstance(token, yaml.ScalarToken) and token.plain:
                _refuse_indent(text, file, token.start_mark.line)
        for line, name in _unused_anchors(tokens):
            raise UserError(f"{file}:{line}: YAML takes &{name} for the name of what follows; put the text in quotes")
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        if not (root is None or isinstance(root, yaml.MappingNode) or root.tag.endswith(":null")):
            raise UserError(f"{file}: expected a mapping with the keys {', '.join(top_keys)}")
        for line, key, problem in misread(root):
            raise UserError(f"{file}:{line}: {key and f'{key}: '}{problem}")
        return OmegaConf.create(text)
    except UserError:
        raise
    except yaml.MarkedYAMLError as error:
        _refuse_indent(text, file)
        at, told = _place(error, text)
        raise UserError(f"{file}{at}: not valid YAML: {told}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        told = f"the character U+{error.character:04X} may not be in it; write it as an escape in double quotes"
        raise UserError(f"{file}:{line}: not valid YAML: {told}") from None
    except RecursionError:
        raise UserError(f"{file}: its lists or mappings are nested too deeply") from None
    except Exception as error:  # PyYAML lets through what int() and the like raise
        for line, key, told in _unreadable(root):
            raise UserError(f"{file}:{line}: {key and f'{key}: '}{told}") from None
        raise UserError(f"{file}: not valid YAML: {one_line(error)}") from None


def misread(root: yaml.Node | None, key: str = "") -> Iterator[tuple[int, str, str]]:
    """Yields the line, from 1, the nearest key and the problem of each value that YAML reads otherwise than it is
    written (a number, yes and no, bytes), and of each such key. `key` is the one of the root.
    """
    for above, node in _nodes(root, key):
        if isinstance(node, yaml.MappingNode):
            for name, value in node.value:
                if (problem := _misread_key(name, value, in_braces=bool(node.flow_style))) is not None:
                    yield name.start_mark.line + 1, above, problem
        if (problem := _misread(node, above)) is not None:
            yield node.start_mark.line + 1, above, problem


def _misread_key(name: yaml.Node, value: yaml.Node, in_braces: bool) -> str | None:
    """Returns why YAML reads a key otherwise than it is written: for null, a boolean, or (`in_braces`: as in JSON) with
    its value as a part of it; None if it does not.
    """
    if name.tag.endswith(":null"):
        return "YAML takes a key for null; put it in quotes, or add it"
    if name.tag.endswith(":bool"):
        return f"YAML takes the key {name.value} for a boolean; put it in quotes"
    is_plain = isinstance(name, yaml.ScalarNode) and name.style not in ("'", '"')
    if in_braces and is_plain and ":" in name.value and value.tag.endswith(":null") and value.value == "":
        return f"YAML takes {name.value} for a key without a value; write a space behind its colon, or put it in quotes"
    return None


def _misread(node: yaml.Node, key: str) -> str | None:
    """Returns why YAML reads a value below a key otherwise than it is written; None if it does not. What is inside of
    a list or a mapping does not count.
    """
    kind, written = node.tag.rpartition(":")[2], node.value
    if isinstance(node, yaml.CollectionNode):
        return None if kind in ("map", "seq") else f"a config has no {kind}; write a list or a mapping"
    if kind == "binary":
        return "a config has no bytes; write a text"
    if kind == "bool" and written.lower() in _OLD_BOOLEANS and (key, written) not in _CHOICES:
        return f"YAML takes {written} for a boolean; write true or false, or put it in quotes"
    if kind == "int" and _OCTAL.fullmatch(written):
        return f"YAML takes {written} for an octal number; leave out its leading zero, or put it in quotes"
    if kind in ("int", "float") and ":" in written:
        return f"YAML takes {written} for a number in base 60; write another number, or put it in quotes"
    return None


def one_line(error: Exception) -> str:
    """Returns the text of an error as one line."""
    return " ".join(str(error).split())


def _nodes(root: yaml.Node | None, key: str = "") -> Iterator[tuple[str, yaml.Node]]:
    """Yields a node of YAML, and all keys and values below it, each once, with the nearest key above it: `key` for the
    root.
    """
    nodes, seen = [(key, root)], set[int]()
    while nodes:
        above, node = nodes.pop()
        if node is None or id(node) in seen:  # an alias
            continue
        seen.add(id(node))
        yield above, node
        if isinstance(node, yaml.SequenceNode):
            nodes += [(above, value) for value in reversed(node.value)]
        elif isinstance(node, yaml.MappingNode):
            for name, value in reversed(node.value):
                nodes += [(str(name.value), value), (above, name)]


def _refuse_indent(text: str, file: str, only: int | None = None) -> None:
    """Refuses the first line with an indentation by something else than spaces, such as no-break spaces, which YAML takes
    for letters. `only`: number of the one line to look at, from 0. Errors: UserError.
    """
    for number, line in enumerate(text.splitlines()):
        if (found := _ODD_INDENT.match(line)) and only in (None, number):
            odd = f"U+{ord(found[1]):04X}"
            raise UserError(
                f"{file}:{number + 1}: {odd} in its indentation, which is no space for YAML; put spaces there"
            )


def _unused_anchors(tokens: list[yaml.Token]) -> Iterator[tuple[int, str]]:
    """Yields the line, from 1, and the name of each anchor before a text, or before nothing, that no alias refers to: it is
    left out of the text.
    """
    used = {token.value for token in tokens if isinstance(token, yaml.AliasToken)}
    for token, following in pairwise(tokens):
        if not isinstance(token, yaml.AnchorToken) or token.value in used:
            continue
        if not isinstance(following, _COLLECTIONS):
            yield token.start_mark.line + 1, token.value


def _place(error: yaml.MarkedYAMLError, text: str) -> tuple[str, str]:
    """Returns where a mistake is, as `:LINE` ("" if nothing says so), and the mistake. Quotes and brackets that nothing
    closes are told where they are opened, since YAML goes on to the end, or to the next quote.
    """
    mark, opened = error.problem_mark or error.context_mark, error.context_mark
    told = error.problem or error.context or ""
    if mark is None:
        return "", told
    if text[max(mark.index - 1, 0) : mark.index + 1] == "${":
        return f":{mark.line + 1}", unquoted_interpolation(text, mark.index - 1)
    if (quoted := _long_quote(text, mark)) is not None:
        return f":{quoted + 1}", f"{told} in line {mark.line + 1}, where the text in quotes ends that begins here"
    context = error.context or ""
    if opened is not None and (context in _BEGUN or (context in _BRACKETS and told.endswith("'<stream end>'"))):
        return f":{opened.line + 1}", told
    if opened is not None and context in _BRACKETS and opened.line != mark.line:
        told += f" in the brackets that line {opened.line + 1} opens"
    if is_tab(text, mark):
        told = NO_TAB
    elif any(words in told for words in _OF_BARE_TEXTS):
        told += "; a text with such signs goes into quotes, 'as here'"
    return f":{mark.line + 1}", told


def is_tab(text: str, mark: yaml.Mark) -> bool:
    """Says whether YAML stops at a tab: none may stand between the parts of a text."""
    return text[mark.index : mark.index + 1] == "\t"


def unquoted_interpolation(text: str, index: int) -> str:
    """Returns a message about a ${...} that begins at an index of a text, within brackets of YAML, which takes its braces
    for a mapping.
    """
    whole = _WHOLE_INTERPOLATION.match(text, index)
    example = f': "{whole[0]}"' if whole else ""
    return f"${{...}} within {{...}} or [...] has to be in quotes{example}"


def _long_quote(text: str, mark: yaml.Mark) -> int | None:
    """Returns the line, from 0, where a text in quotes begins that ends in the line of a mistake, before it; None if
    there is none, or it has one line.
    """
    found = None
    try:
        for token in yaml.scan(text, Loader=yaml.SafeLoader):
            if token.end_mark.index > mark.index:
                break
            if isinstance(token, yaml.ScalarToken) and token.style in ("'", '"') and token.end_mark.line == mark.line:
                found = token.start_mark.line
    except yaml.YAMLError:
        pass
    return found if found != mark.line else None


def _unreadable(root: yaml.Node | None) -> Iterator[tuple[int, str, str]]:
    """Yields the line, from 1, the nearest key and the problem of each value that can't be read by itself."""
    for key, node in _nodes(root):
        line = node.start_mark.line + 1
        if isinstance(node, yaml.CollectionNode):
            continue
        try:
            OmegaConf.create(yaml.serialize(yaml.SequenceNode("tag:yaml.org,2002:seq", [node]), Dumper=yaml.SafeDumper))
        except GrammarParseError:
            yield line, key, unread_interpolation(str(node.value))
        except (OmegaConfBaseException, yaml.YAMLError) as error:
            yield line, key, one_line(error)
        except Exception:
            yield line, key, f"not valid YAML: {node.value!r:.60} is no {node.tag.rpartition(':')[2]}"
