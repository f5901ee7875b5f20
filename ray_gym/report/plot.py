"""Draws plots as SVG: a frame with axes, in which bars, dots, lines and bands lie. Colours are classes of the page's style."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ray_gym.report.markup import Content, Markup, element
from ray_gym.report.numbers import plain

WIDTH, HEIGHT = 360, 210
"""Size of a plot in units of its own; on the page it is as wide as its column."""
LEFT, RIGHT, TOP, BOTTOM = 58, 10, 10, 42
LARGEST = 1e300
"""Largest value of an axis."""
TICKS = 5
"""Number of steps of an axis, about."""
Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Axis:
    """Maps values onto a length of the plot."""

    low: float
    high: float
    start: float
    end: float
    title: str

    def at(self, value: float) -> float:
        """Returns the place of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, *, whole: bool = False) -> list[float]:
        """Returns round values on the axis; with `whole`, only whole ones."""
        rough = (self.high - self.low) / TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(one * power for one in (1, 2, 5, 10) if one * power >= rough * (1 - 1e-9))
        step = max(1.0, step) if whole else step
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [one * step for one in range(first, last + 1)]


def across(low: float, high: float, title: str) -> Axis:
    """Returns the axis along the bottom of a plot."""
    return Axis(*_wide(low, high), LEFT, WIDTH - RIGHT, title)


def upward(low: float, high: float, title: str) -> Axis:
    """Returns the axis along the left side of a plot."""
    return Axis(*_wide(low, high), HEIGHT - BOTTOM, TOP, title)


def plot(label: str, x: Axis, y: Axis, *content: Content, whole: tuple[bool, bool] = (False, False)) -> Markup:
    """Returns a plot. `label`: what it shows, for who can't see it. `whole`: whether x, and y, count whole things."""
    lines: list[Content] = []
    for value in y.ticks(whole=whole[1]):
        lines.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=_at(y, value), y2=_at(y, value), class_="rule"))
        lines.append(element("text", plain(value), x=LEFT - 6, y=_at(y, value) + 4, text_anchor="end"))
    for value in x.ticks(whole=whole[0]):
        lines.append(element("text", plain(value), x=_at(x, value), y=HEIGHT - BOTTOM + 15, text_anchor="middle"))
    base = element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=HEIGHT - BOTTOM, y2=HEIGHT - BOTTOM, class_="axis")
    middle = (LEFT + WIDTH - RIGHT) / 2
    titles = [element("text", x.title, x=middle, y=HEIGHT - 8, text_anchor="middle", class_="title")]
    up = f"translate(11 {(TOP + HEIGHT - BOTTOM) / 2:g}) rotate(-90)"
    titles.append(element("text", y.title, transform=up, text_anchor="middle", class_="title"))
    frame = f"0 0 {WIDTH} {HEIGHT}"
    return element("svg", lines, content, base, titles, viewBox=frame, role="img", aria_label=label, class_="plot")


def bar(x: Axis, y: Axis, start: float, end: float, value: float, title: str) -> Markup:
    """Returns a bar over a part of the x axis, which has a gap of a unit beside it."""
    left, right, top = x.at(start), x.at(end), y.at(value)
    wide, high = max(1.0, right - left - 1), max(0.0, y.at(y.low) - top)
    return element(
        "rect", element("title", title), x=_r(left), y=_r(top), width=_r(wide), height=_r(high), class_="bar"
    )


def cell(left: float, top: float, wide: float, high: float, strength: float, title: str) -> Markup:
    """Returns a cell of a map of counts. `strength`: 0 to 1."""
    given = {"x": _r(left), "y": _r(top), "width": _r(wide), "height": _r(high), "fill_opacity": _r(strength)}
    return element("rect", element("title", title), class_="cell", **given)


def dot(x: Axis, y: Axis, point: tuple[float, float], title: str = "", class_: str = "dot") -> Markup:
    """Returns a dot."""
    said = element("title", title) if title else None
    return element("circle", said, cx=_at(x, point[0]), cy=_at(y, point[1]), r=2.5, class_=class_)


def upright(x: Axis, y: Axis, at: float, low: float, high: float) -> Markup:
    """Returns an upright line from one value to another."""
    return element("line", x1=_at(x, at), x2=_at(x, at), y1=_at(y, low), y2=_at(y, high), class_="range")


def line(x: Axis, y: Axis, points: Points) -> Markup:
    """Returns a line through points."""
    return element("path", d=f"M{_path(x, y, points)}", class_="line")


def band(x: Axis, y: Axis, lows: Points, highs: Points) -> Markup | None:
    """Returns the area between two lines; None without points."""
    if not lows:
        return None
    return element("path", d=f"M{_path(x, y, lows)}L{_path(x, y, list(reversed(highs)))}Z", class_="band")


def share_bar(value: float) -> Markup:
    """Returns a small bar of a share, for a cell of a table that says the share beside it."""
    inside = (
        element("rect", width=100, height=8, class_="ground"),
        element("rect", width=_r(100 * min(1.0, max(0.0, value))), height=8, class_="bar"),
    )
    return element("svg", *inside, viewBox="0 0 100 8", preserveAspectRatio="none", aria_hidden="true", class_="share")


def _path(x: Axis, y: Axis, points: Iterable[tuple[float, float]]) -> str:
    return "L".join(f"{_at(x, one):g} {_at(y, other):g}" for one, other in points)


def _at(axis: Axis, value: float) -> float:
    return _r(axis.at(value))


def _r(value: float) -> float:
    return round(value, 1) if value >= 1 else round(value, 2)


def _wide(low: float, high: float) -> tuple[float, float]:
    """Returns bounds that are apart, and that floats can be between."""
    low, high = max(low, -LARGEST), min(high, LARGEST)
    return (low, high) if high > low else (low - 0.5, high + 0.5)
