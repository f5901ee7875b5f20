"""Describes packages that find ways on a map of squares."""

from __future__ import annotations

import random

from ray_gym.envs.code_repair.packages.blueprint import Blueprint, Names, Probe, joined, pick


def draw(rng: random.Random) -> dict[str, str]:
    return {
        "package": joined(rng, "stone forest island cave", "maps walks paths trails"),
        "wall": rng.choice(("#", "x", "@")),
        "steps": pick(rng, "steps_between distance path_length"),
        "regions": pick(rng, "regions areas rooms"),
    }


FILES = {
    "__init__.py": '''
"""Finds ways on a map: a list of texts of equal length, in which "$wall" is a wall. Places are (row, column)."""

from .grid import at, neighbours, places
from .ways import $regions, $steps, reachable

__all__ = ["$regions", "$steps", "at", "neighbours", "places", "reachable"]
''',
    "grid.py": '''
"""Looks at a map."""

WALL = "$wall"


def at(grid, place):
    """Returns the character at a place; a wall for a place that is outside of the map."""
    row, column = place
    if row < 0 or row >= len(grid):
        return WALL
    if column < 0 or column >= len(grid[row]):
        return WALL
    return grid[row][column]


def neighbours(grid, place):
    """Returns the places above, below, left and right of a place that are no walls, in this order."""
    row, column = place
    around = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
    return [one for one in around if at(grid, one) != WALL]


def places(grid, character):
    """Returns all places with a character, row by row."""
    found = []
    for row in range(len(grid)):
        for column in range(len(grid[row])):
            if grid[row][column] == character:
                found.append((row, column))
    return found
''',
    "ways.py": '''
"""Walks on a map."""

from .grid import WALL, at, neighbours


def $steps(grid, start, goal):
    """Returns the least number of steps from one place to another; 0 if they are the same, None if there is no way or one
    of them is a wall.
    """
    if at(grid, start) == WALL or at(grid, goal) == WALL:
        return None
    seen, edge, steps = {start}, [start], 0
    while edge:
        if goal in edge:
            return steps
        following = []
        for place in edge:
            for other in neighbours(grid, place):
                if other not in seen:
                    seen.add(other)
                    following.append(other)
        edge, steps = following, steps + 1
    return None


def reachable(grid, start, most=None):
    """Returns the number of places that can be reached from one, itself included, in at most `most` steps, or in any
    number. From a wall, it is 0.
    """
    if at(grid, start) == WALL:
        return 0
    seen, edge, steps = {start}, [start], 0
    while edge and (most is None or steps < most):
        following = []
        for place in edge:
            for other in neighbours(grid, place):
                if other not in seen:
                    seen.add(other)
                    following.append(other)
        edge, steps = following, steps + 1
    return len(seen)


def $regions(grid):
    """Returns the sizes of the parts of the map between which there is no way, the largest first."""
    left = [(row, column) for row in range(len(grid)) for column in range(len(grid[row])) if at(grid, (row, column)) != WALL]
    sizes = []
    while left:
        start = left[0]
        sizes.append(reachable(grid, start))
        left = [place for place in left if $steps(grid, start, place) is None]
    return sorted(sizes, reverse=True)
''',
}


def probe(rng: random.Random, names: Names) -> Probe:
    height, width = rng.randint(2, 4), rng.randint(2, 5)
    squares = [names["wall"]] * 3 + ["."] * 5 + ["o"]
    grid = ["".join(rng.choice(squares) for _ in range(width)) for _ in range(height)]
    lines = (f"grid = {grid!r}",)

    def place() -> str:
        return repr((rng.randrange(height), rng.randrange(width)))

    kind = rng.randrange(6)
    if kind == 0:
        return Probe(
            lines, f"at(grid, ({rng.choice((-1, 0, height - 1, height))}, {rng.choice((-1, 0, width - 1, width))}))"
        )
    if kind == 1:
        return Probe(lines, f"neighbours(grid, {place()})")
    if kind == 2:
        return Probe(lines, f"places(grid, {rng.choice(('o', '.'))!r})")
    if kind == 3:
        return Probe(lines, f"{names['steps']}(grid, {place()}, {place()})")
    if kind == 4:
        return Probe(lines, f"reachable(grid, {place()}{rng.choice(('', f', {rng.randint(0, 3)}'))})")
    return Probe(lines, f"{names['regions']}(grid)")


GRIDWALK = Blueprint(
    "gridwalk", "It finds ways and rooms on a map of squares.", draw, FILES,
    "from $package import $regions, $steps, at, neighbours, places, reachable", probe,
)  # fmt: skip
