"""The page as one HTML document: template, styles, scripts and data in one text."""

from __future__ import annotations

import html
import json
import math
import re
from dataclasses import fields, is_dataclass
from importlib.resources import files
from typing import Any

import numpy as np

from thriftwood._version import __version__
from thriftwood.report.amounts import amount
from thriftwood.report.page.contents import ROUNDING, PageContents, Point
from thriftwood.report.page.wording import percent

# In the order in which they are joined: the last one uses all others.
SCRIPTS = (
    "words.js",
    "drawing.js",
    "frontier.js",
    "details.js",
    "features.js",
    "receipts.js",
    "proof.js",
    "page.js",
)
PLACE = re.compile(r"\{\{(\w+)\}\}")
DIGITS = 7  # more than anybody sees, fewer than a double has


def document_of(contents: PageContents) -> str:
    """Return the whole page."""
    parts = {
        "title": html.escape(contents.title),
        "version": __version__,
        "styles": _asset("page.css"),
        "scripts": "\n".join(_asset(name) for name in SCRIPTS),
        "data": data_of(contents),
        "table": _table(contents),
    }
    # In one pass: what a part holds is never taken for a place.
    return PLACE.sub(lambda place: parts[place[1]], _asset("page.html"))


def _asset(name: str) -> str:
    return (files("thriftwood.report.page") / "assets" / name).read_text("utf-8")


def data_of(contents: PageContents) -> str:
    """Return the contents as JSON that can stand in a page: nothing in it can end a script."""
    text = json.dumps(_plain(contents), allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _plain(value: Any) -> Any:
    """Return something as JSON knows it; numbers with few digits, none where not finite."""
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, np.ndarray):
        return [_plain(one) for one in value.tolist()]
    return _short(value) if isinstance(value, float) else value


def _short(number: float) -> float | int | None:
    if not math.isfinite(number):
        return None
    short = float(f"{number:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def _table(contents: PageContents) -> str:
    """Return the points as a table that needs no scripts."""
    bill = f"Mean bill ({contents.unit})" if contents.unit else "Mean bill"
    heads = ["Point", bill, "Saved", *_error_heads(contents), "Splits", "Features"]
    head = "".join(f'<th scope="col">{html.escape(words)}</th>' for words in heads)
    lines = [_table_line(contents, None), *(_table_line(contents, one) for one in contents.points)]
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>"


def _error_heads(contents: PageContents) -> list[str]:
    if contents.error == "none":
        return ["Loss"]
    words = {"share": "Wrong", "squared": "Squared error"}[contents.error]
    heads = [f"{words}, rows pruned on"]
    if contents.curve.validation is not None:
        heads.append(f"{words}, validation rows, ± one standard error")
    return heads


def _table_line(contents: PageContents, point: Point | None) -> str:
    details = contents.before if point is None else point.details
    place = 0 if point is None else point.place
    saved = contents.before.cost - details.cost
    cells = [
        amount(details.cost),
        "" if point is None else amount(_rounded(saved, contents)),
        *_errors(contents, place),
        f"{details.n_splits:,}",
        f"{details.n_features:,}",
    ]
    name = "before" if point is None else str(point.index)
    return f'<th scope="row">{name}</th>' + "".join(
        f"<td>{html.escape(words)}</td>" for words in cells
    )


def _rounded(saved: float, contents: PageContents) -> float:
    """Return a difference of two costs, without what is left where they should be the same."""
    return 0.0 if abs(saved) < ROUNDING * contents.before.cost else saved


def _errors(contents: PageContents, place: int) -> list[str]:
    curve = contents.curve
    if curve.rows is None:
        return [amount(curve.loss[place])]
    write = percent if contents.error == "share" else amount
    cells = [write(float(curve.rows.error[place]))]
    if curve.validation is not None:
        spread = write(float(curve.validation.spread[place])).removesuffix(" %")
        cells.append(f"{write(float(curve.validation.error[place]))} ± {spread}")
    return cells
