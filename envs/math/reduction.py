"""Tells an answer from a problem, which still has a computation to do or a relation to solve.

math-verify reads without evaluating, so a written form differs from its value: `6^2` is a power here, not 36.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import prod
from typing import Any

from sympy import (
    Abs,
    Add,
    Basic,
    Derivative,
    Eq,
    Float,
    I,
    Integral,
    Limit,
    MatrixBase,
    Mul,
    Number,
    NumberSymbol,
    Pow,
    Rational,
    Set,
    Symbol,
    Tuple,
    UnevaluatedExpr,
    factorial,
    preorder_traversal,
)
from sympy.core.function import AppliedUndef
from sympy.core.relational import Relational
from sympy.logic.boolalg import Boolean

PERCENT = UnevaluatedExpr(Rational(1, 100))
"""Factor that math-verify reads for a percent sign."""
_LARGEST_EXPONENT = 100
"""Largest exponent of a power, or number with a factorial, that is carried out to compare the sides of an equation."""
_NAMED = (Derivative, Integral, Limit)
"""Expressions that may say what is to be found, with numbers of their own."""
_MOST_PLACES = 15
_NOTHING = Rational(1, 10**_MOST_PLACES)


def is_left_to_compute(written: Any) -> bool:
    """Says whether an expression has a sum, product, power or function of plain numbers that can be carried out.

    Quotients, irrational roots, percentages and 3.2 * 10^5 count as numbers. An equation is carried out if its last side
    is, or another one that is a number.
    """
    if isinstance(written, MatrixBase):
        return any(is_left_to_compute(entry) for entry in written.flat())
    if not isinstance(written, Basic) or not written.args or written == PERCENT:
        return False
    equations = _chain(written)
    if equations:
        last = equations[-1].rhs
        has_value = _is_quick_number(last) and any(isinstance(equation.lhs, Number) for equation in equations)
        return not has_value and is_left_to_compute(last)
    if isinstance(written, Mul):
        return _is_product_to_compute(written)
    if any(is_left_to_compute(part) for part in written.args):
        return True
    if isinstance(written, Add):
        return _has_twice(_without_numbers(term) for term in _flat(written, Add))
    if isinstance(written, Pow):
        return _is_power_to_compute(written.base, written.exp)
    return not isinstance(written, Set | Tuple | Boolean) and not written.free_symbols


def is_left_to_solve(written: Any, expected: Any) -> bool:
    """Says whether an answer has an unsolved relation, and the expected answer has none.

    A relation between a bare variable and numbers is solved. If the expected answer has no relation at all, an equation
    that says what a name stands for (`y = 2x + 1`) is solved, too.
    """
    wanted = list(_relations(expected))
    if not all(_is_solved(relation) for relation in wanted):
        return False
    return not all(
        _is_solved(relation)
        or (not wanted and isinstance(relation, Eq) and (_is_name(relation.lhs) or _holds_for_i(relation)))
        for relation in _relations(written)
    )


def is_false(written: Any) -> bool:
    """Says whether an equation, or a chain of them, has two numbers as sides that differ (`x = 13 = 12`). A decimal may be
    a rounded one.
    """
    chain = _chain(written)
    if any(one.rhs != other.lhs for one, other in pairwise(chain)):
        return False
    sides = [side for equation in chain for side in (equation.lhs, equation.rhs) if _is_quick_number(side)]
    return any(
        abs((to_exact(one) - to_exact(other)).evalf()) > max(_rounding(one), _rounding(other))
        for one, other in pairwise(sides)
    )


def to_exact(written: Any) -> Any:
    """Returns an expression with fractions for its decimal numbers, which math-verify would compare to six places, and, if
    it has an i, with one symbol for each letter, of which math-verify makes two, by what is before the i.
    """
    if isinstance(written, Basic | MatrixBase) and any(one.name == "i" for one in written.free_symbols):
        written = equations[-1] if len(equations := _chain(written)) > 1 else written
        written = written.xreplace({one: Symbol(one.name) for one in written.free_symbols})
    return _with_fractions(written)


def _with_fractions(written: Any) -> Any:
    if isinstance(written, Float):
        return Rational(str(written)) if written.is_finite else written
    if isinstance(written, MatrixBase):
        return written.applyfunc(_with_fractions)
    if not isinstance(written, Basic) or not written.has(Float):
        return written
    if len(equations := _chain(written)) > 1:
        return _with_fractions(equations[-1])
    parts = [_with_fractions(part) for part in in_order(written)]
    return written.func(*parts, evaluate=False) if isinstance(written, Eq) else written.func(*parts)


def _holds_for_i(equation: Eq) -> bool:
    """Says whether i is the only letter of an equation, and it holds for the imaginary unit: `|3+4i| = 5`."""
    if {one.name for one in equation.free_symbols} != {"i"}:
        return False
    sides = (equation.lhs, equation.rhs)
    exponents = [part.args[-1] for part in preorder_traversal(equation) if isinstance(part, Pow | factorial)]
    if not all(_is_quick_number(side, also=Symbol) for side in sides) or prod(map(abs, exponents)) > _LARGEST_EXPONENT:
        return False
    one, other = (side.xreplace(dict.fromkeys(side.free_symbols, I)) for side in map(to_exact, sides))
    number = abs(one - other).evalf()
    return isinstance(number, Number) and number.is_finite is True and number < _NOTHING


def _is_quick_number(side: Basic, also: type[Basic] = Number) -> bool:
    """Says whether a side has only numbers, sums, products and powers with small exponents, and what it may have `also`."""
    parts = list(preorder_traversal(side))
    bounded = [part.args[-1] for part in parts if isinstance(part, Pow | factorial)]
    return all(
        isinstance(part, Number | NumberSymbol | Add | Mul | Pow | Abs | factorial | also) for part in parts
    ) and all(isinstance(one, Number) and abs(one) <= _LARGEST_EXPONENT for one in bounded)


def _rounding(side: Basic) -> Rational:
    """Returns 1.5 units in the last place of a decimal number; hardly anything for other expressions."""
    if not isinstance(side, Float):
        return _NOTHING
    exact = to_exact(side)
    places = (place for place in range(1, _MOST_PLACES) if (exact * 10**place).is_integer)
    return Rational(3, 2 * 10 ** next(places, _MOST_PLACES))


def _is_product_to_compute(product: Mul) -> bool:
    """Says whether factors of a product can be multiplied, or a factor has something left to compute.

    One number and one root above the fraction line and one number below it can't be multiplied; nor can one number and
    a power of ten, as in 3.2 * 10^5.
    """
    numbers = [factor for factor in _flat(product, Mul) if isinstance(factor, Number) and factor != -1]
    if len(numbers) > 1 and 1 in numbers:
        return True
    factors = [factor for factor in _flat(product, Mul) if factor not in (1, -1, PERCENT)]
    above = [factor for factor in factors if _is_constant(factor) and not _is_inverse(factor)]
    below = [factor for factor in factors if _is_constant(factor) and _is_inverse(factor)]
    is_scientific = len(above) == 2 and isinstance(above[0], Number) != isinstance(above[1], Number)
    if is_scientific and any(_is_power_of_ten(factor) for factor in above):
        factors = [factor for factor in factors if not _is_power_of_ten(factor)]
        above = above[:1]
    plain = [factor for factor in above if isinstance(factor, Number)]
    roots = [factor for factor in above if isinstance(factor, Pow)]
    return len(plain) > 1 or len(roots) > 1 or len(below) > 1 or any(is_left_to_compute(one) for one in factors)


def _is_power_to_compute(base: Basic, exponent: Basic) -> bool:
    """Says whether a power of a number can be computed. Quotients and irrational roots can't."""
    if not isinstance(base, Number) or exponent == -1:
        return False
    power = to_exact(exponent).doit()
    if not power.is_Rational:
        return False
    return bool(abs(power) >= 1 or Pow(to_exact(base), power).is_Rational)


def _without_numbers(term: Basic) -> Basic:
    """Returns the part of a term beside its numeric factor; 1 for a plain number. Terms with the same part can be
    added.
    """
    return Mul(*(factor for factor in _flat(term, Mul) if not _is_coefficient(factor)))


def _has_twice(kinds: Iterable[Basic]) -> bool:
    seen = list(kinds)
    return len(set(seen)) < len(seen)


def _is_constant(factor: Basic) -> bool:
    """Says whether a factor is a number or a power of plain numbers, without pi and variables."""
    return all(isinstance(leaf, Number) for leaf in preorder_traversal(factor) if not leaf.args)


def _is_inverse(factor: Basic) -> bool:
    return isinstance(factor, Pow) and factor.exp == -1


def _is_coefficient(factor: Basic) -> bool:
    is_inverse_number = _is_inverse(factor) and isinstance(factor.args[0], Number)
    return isinstance(factor, Number) or is_inverse_number or _is_power_of_ten(factor)


def _is_power_of_ten(factor: Basic) -> bool:
    return isinstance(factor, Pow) and factor.base == 10 and bool(factor.exp.doit().is_integer)


def _is_solved(relation: Relational) -> bool:
    sides = (relation.lhs, relation.rhs)
    return any(_is_variable(one) and not other.free_symbols for one, other in (sides, sides[::-1]))


def _is_variable(side: Basic) -> bool:
    return isinstance(side, Symbol | AppliedUndef)


def _is_name(side: Basic) -> bool:
    """Says whether a side of an equation is a variable, a product of letters (a line from A to B), a derivative, an
    integral or a limit, or has no unknown at all.
    """
    return isinstance(side, _NAMED) or _is_variable(side) or not side.free_symbols or not side.has(Number)


def _relations(written: Any) -> Iterator[Relational]:
    """Yields all relations of an expression. A chain of equations counts as one between its first and its last side."""
    equations = _chain(written)
    if equations:
        yield Eq(equations[0].lhs, equations[-1].rhs, evaluate=False)
    elif isinstance(written, Relational):
        yield written
    elif isinstance(written, Basic):
        for part in written.args:
            yield from _relations(part)


def _chain(written: Any) -> list[Eq]:
    """Returns `a = b` or `a = b = c` as a list of equations; an empty list for anything else."""
    parts = in_order(written) if isinstance(written, Boolean) and not isinstance(written, Relational) else [written]
    return list(parts) if all(isinstance(part, Eq) for part in parts) else []


def in_order(written: Basic) -> Sequence[Any]:
    """Returns the parts of an expression in the order in which they were written. Sets and chains of relations keep
    that order separately.
    """
    parts: Sequence[Any] = getattr(written, "_unsorted_args", written.args)
    return parts


def _flat(written: Basic, kind: type[Basic]) -> Iterator[Basic]:
    if isinstance(written, kind):
        for part in written.args:
            yield from _flat(part, kind)
    else:
        yield written
