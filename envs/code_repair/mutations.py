"""Makes modules that have a fault, by edits of their text that a tired programmer might make."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal[
    "comparison",
    "operator",
    "off_by_one",
    "swapped_arguments",
    "dropped_branch",
    "wrong_default",
    "logic",
    "shared_state",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.GtE, ast.NotEq: ast.Lt,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mod, ast.Mod: ast.FloorDiv,
}  # fmt: skip
FUNCTIONS = {"min": "max", "max": "min", "any": "all", "all": "any"}
COPIES = ("list", "dict", "set")
KEEPS_ORDER = frozenset(
    {"range", "isinstance", "enumerate", "zip", "print", "sorted", "int", "str", *COPIES, *FUNCTIONS}
)
"""Functions whose arguments nobody swaps by mistake."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """Holds a module with a fault."""

    kind: Kind
    function: str
    """Function in which it is: `name`, or `Class.name`."""
    source: str


@dataclass(frozen=True, slots=True)
class _Edit:
    """Replaces the text of a node."""

    node: ast.AST
    text: str


def mutations_of(source: str) -> Iterator[Mutation]:
    """Yields the module with each fault that can be planted in its functions, in the order of the text."""
    for owner, function in _functions(ast.parse(source)):
        name = f"{owner}.{function.name}" if owner else function.name
        for kind, edits in _faults_of(function):
            yield Mutation(kind, name, _edited(source, edits))


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield "", node
        elif isinstance(node, ast.ClassDef):
            yield from ((node.name, inner) for inner in node.body if isinstance(inner, ast.FunctionDef))


def _faults_of(function: ast.FunctionDef) -> Iterator[tuple[Kind, list[_Edit]]]:
    for default in function.args.defaults:
        if isinstance(default, ast.Constant) and isinstance(default.value, int):
            wrong = not default.value if isinstance(default.value, bool) else default.value + 1
            yield "wrong_default", [_Edit(default, repr(wrong))]
    yield from _shared_default(function)
    for statement in function.body:
        for node in ast.walk(statement):
            yield from _of_branch(node)
            if isinstance(node, ast.expr):
                yield from ((kind, [_Edit(node, ast.unparse(new))]) for kind, new in _of_expression(node))
    yield from _of_branch(function)


def _of_expression(node: ast.expr) -> Iterator[tuple[Kind, ast.expr]]:
    """Yields the expressions that might stand wrongly in the place of one."""
    new: ast.expr = copy.deepcopy(node)
    match new:
        case ast.Compare(ops=[operator]) if type(operator) in COMPARISONS:
            new.ops = [COMPARISONS[type(operator)]()]
            yield "comparison", new
        case ast.BinOp(op=operation) if type(operation) in OPERATORS:
            new.op = OPERATORS[type(operation)]()
            yield "operator", new
        case ast.BoolOp():
            new.op = ast.Or() if isinstance(new.op, ast.And) else ast.And()
            yield "logic", new
        case ast.UnaryOp(op=ast.Not()):
            yield "logic", new.operand
        case ast.Constant(value=int() as number) if not isinstance(number, bool):
            yield "off_by_one", ast.Constant(number + 1)
            if number > 0:
                yield "off_by_one", ast.Constant(number - 1)
        case ast.Call():
            yield from _of_call(new)


def _of_call(call: ast.Call) -> Iterator[tuple[Kind, ast.expr]]:
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    if name in FUNCTIONS:
        call.func = ast.Name(FUNCTIONS[name])
        yield "operator", call
    elif name in COPIES and len(call.args) == 1 and isinstance(call.args[0], ast.Name | ast.Attribute):
        yield "shared_state", call.args[0]
    elif len(call.args) == 2 and name not in KEEPS_ORDER and not any(isinstance(one, ast.Starred) for one in call.args):
        call.args.reverse()
        yield "swapped_arguments", call


def _of_branch(node: ast.AST) -> Iterator[tuple[Kind, list[_Edit]]]:
    """Yields the removal of each branch of a block that leaves it early."""
    block = getattr(node, "body", None)
    if not isinstance(block, list) or len(block) < 2:
        return
    for one in block:
        if (
            isinstance(one, ast.If)
            and not one.orelse
            and isinstance(one.body[-1], ast.Return | ast.Raise | ast.Continue)
        ):
            yield "dropped_branch", [_Edit(one, "")]


def _shared_default(function: ast.FunctionDef) -> Iterator[tuple[Kind, list[_Edit]]]:
    """Yields a default that all calls share, in the place of None and of the branch that makes a new one."""
    named = dict(zip([one.arg for one in function.args.args[::-1]], function.args.defaults[::-1], strict=False))
    for one in function.body:
        match one:
            case ast.If(
                test=ast.Compare(left=ast.Name(id=name), ops=[ast.Is()]), body=[ast.Assign(value=new)], orelse=[]
            ) if name in named and isinstance(new, ast.List | ast.Dict):
                yield "shared_state", [_Edit(named[name], ast.unparse(new)), _Edit(one, "")]


def _edited(source: str, edits: list[_Edit]) -> str:
    """Returns a text with edits; a statement that is left out leaves no empty line."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    places = []
    for edit in edits:
        node = edit.node
        assert isinstance(node, ast.expr | ast.stmt) and node.end_lineno is not None and node.end_col_offset is not None
        begin, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        if not edit.text:
            begin, end = starts[node.lineno - 1], starts[node.end_lineno]
        places.append((begin, end, edit.text))
    for begin, end, text in sorted(places, reverse=True):
        source = source[:begin] + text + source[end:]
    return source
