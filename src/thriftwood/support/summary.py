"""Summaries of objects in a few lines: as text, and as HTML in a notebook.

Text and HTML show the same cells. Colours are those of the notebook, light or dark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from thriftwood.support.arrays import FloatArray

# The size of a chart, and where its axes begin, in pixels.
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 440, 220, 60, 38, 12
MOST_DOTS = 400
COLOUR = "#1f86c7"  # seen on white and on black
LEFT_CELL, RIGHT_CELL = "text-align:left", "text-align:right"


@dataclass(frozen=True)
class Chart:
    """Points in two dimensions, as a line where they go one way."""

    x: FloatArray
    y: FloatArray
    x_label: str
    y_label: str
    spread: FloatArray | None = None  # a band around y
    mark: tuple[float, float, str] | None = None  # one more point, a square, and what it is

    def to_svg(self) -> str:
        """Return the picture."""
        spread = np.zeros(len(self.x)) if self.spread is None else self.spread
        points = np.column_stack([self.x, self.y, self.y - spread, self.y + spread])
        points = points[np.isfinite(points).all(axis=1)]
        if not len(points):
            return ""
        points = points[np.unique(np.linspace(0, len(points) - 1, MOST_DOTS).astype(int))]
        marked = [] if self.mark is None else [self.mark]
        along = _Axis([*points[:, 0], *(one[0] for one in marked)], LEFT, WIDTH - TOP)
        up = _Axis([*points[:, 1:].flat, *(one[1] for one in marked)], HEIGHT - BOTTOM, TOP)
        x, y, low, high = along(points[:, 0]), *(up(points[:, k]) for k in (1, 2, 3))
        parts = [_frame(along, up, self.x_label, self.y_label)]
        is_line = (np.diff(x) >= 0).all() or (np.diff(x) <= 0).all()
        if is_line and self.spread is not None:
            band = _pairs(np.append(x, x[::-1]), np.append(low, high[::-1]))
            parts.append(f'<polygon points="{band}" fill="{COLOUR}" opacity="0.25"/>')
        if is_line:
            parts.append(f'<polyline points="{_pairs(x, y)}" fill="none" stroke="{COLOUR}"/>')
        parts += [
            f'<circle cx="{one:.1f}" cy="{other:.1f}" r="2" fill="{COLOUR}"/>'
            for one, other in zip(x, y, strict=True)
        ]
        for cost, value, words in marked:
            place = f'x="{along(cost) - 4:.1f}" y="{up(value) - 4:.1f}"'
            parts.append(f'<rect {place} width="8" height="8"/>')
            parts.append(_text(WIDTH - TOP, TOP + 9, "end", f"\N{BLACK SQUARE} {words}"))
        return (
            f'<svg role="img" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'style="max-width:100%;font-size:12px" fill="currentColor">{"".join(parts)}</svg>'
        )


class _Axis:
    """Places of numbers along an axis, in pixels; its ends are the least and the largest."""

    def __init__(self, values: list[float], begin: float, end: float) -> None:
        self.low, self.high = min(values), max(values)
        self._begin, self._length = begin, end - begin

    def __call__(self, values: Any) -> Any:
        """Return the place of numbers, or of one number."""
        return self._begin + self._length * (values - self.low) / ((self.high - self.low) or 1.0)


def _frame(along: _Axis, up: _Axis, x_label: str, y_label: str) -> str:
    """Return the lines of the axes, with their ends and labels."""
    right, floor = WIDTH - TOP, HEIGHT - BOTTOM
    line = f'<path d="M{LEFT} {TOP}V{floor}H{right}" fill="none" stroke="currentColor"/>'
    middle, height = (LEFT + right) / 2, (TOP + floor) / 2
    return "".join(
        [
            line,
            _text(LEFT, floor + 15, "middle", f"{along.low:.4g}"),
            _text(right, floor + 15, "end", f"{along.high:.4g}"),
            _text(middle, floor + 30, "middle", x_label),
            _text(LEFT - 5, floor, "end", f"{up.low:.4g}"),
            _text(LEFT - 5, TOP + 9, "end", f"{up.high:.4g}"),
            _text(14, height, "middle", y_label, f' transform="rotate(-90 14 {height:g})"'),
        ]
    )


def _text(x: float, y: float, anchor: str, words: str, turn: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{turn}>{escape(words)}</text>'


def _pairs(x: FloatArray, y: FloatArray) -> str:
    return " ".join(f"{one:.1f},{other:.1f}" for one, other in zip(x, y, strict=True))


@dataclass(frozen=True)
class Summary:
    """A title, rows of cells, notes and maybe a chart, which is for notebooks only."""

    title: str
    # How the cells of a row become a line of text: a format with a field for each. Fields that are
    # flush right (">") are so in HTML, too.
    layout: str = ""
    rows: Sequence[Sequence[str]] = ()
    head: Sequence[str] = ()  # the cells above all rows, if there are such
    notes: Sequence[str] = ()  # lines below the rows
    chart: Chart | None = None

    def __str__(self) -> str:
        rows = [self.head, *self.rows] if self.head else self.rows
        lines = [self.layout.format(*row).rstrip() for row in rows]
        return "\n".join([self.title, *lines, *(f"  {note}" for note in self.notes)])

    def to_html(self) -> str:
        """Return the same as HTML; names of users are text there, never tags."""
        parts = [f"<strong>{escape(self.title)}</strong>"]
        if self.rows:
            head = self._row("th", self.head) if self.head else ""
            body = "".join(self._row("td", row) for row in self.rows)
            parts.append(f"<table><tbody>{head}{body}</tbody></table>")
        parts += [f"<div>{escape(note)}</div>" for note in self.notes]
        if self.chart is not None:
            parts.append(self.chart.to_svg())
        return f"<div>{''.join(parts)}</div>"

    def _row(self, tag: str, cells: Iterable[str]) -> str:
        fields = re.findall(r"\{(.*?)\}", self.layout)
        styles = (RIGHT_CELL if ">" in field else LEFT_CELL for field in fields)
        written = zip(cells, styles, strict=True)
        inside = (f'<{tag} style="{style}">{escape(cell)}</{tag}>' for cell, style in written)
        return f"<tr>{''.join(inside)}</tr>"


class Summarised:
    """Objects that print as their summary, and show it as HTML in a notebook."""

    def _summary(self) -> Summary:
        raise NotImplementedError

    def __repr__(self) -> str:
        return str(self._summary())

    def _repr_html_(self) -> str:
        return self._summary().to_html()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return both, for notebooks that ask estimators of scikit-learn in this way."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}
