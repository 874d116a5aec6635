"""The page as one HTML document: template, styles, scripts and data in one text."""

from __future__ import annotations

import html
import json
import math
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from thriftwood._version import __version__
from thriftwood.report.amounts import amount, score_amount
from thriftwood.support.files import File, place_of, read_text, write_whole
from thriftwood.support.text import shown

# In the order in which they are joined: the last one uses all others.
SCRIPTS = (
    "words.js",
    "drawing.js",
    "frontier.js",
    "errors.js",
    "calibration.js",
    "details.js",
    "features.js",
    "receipts.js",
    "proof.js",
    "page.js",
)
PLACE = re.compile(r"\{\{(\w+)\}\}")
# By this part may a mean bill measured now differ from that of the path.
ROUNDING = 1e-6
FRAME = "width:100%;height:720px;border:0"  # around the page in a notebook
DIGITS = 7  # more than anybody sees, fewer than a double has


@dataclass(frozen=True)
class Page:
    """A page that was written. A notebook shows it in the cell that ends with it.

    Attributes
    ----------
    point : int, optional
        The point of the path that it begins with; None is the model before pruning.
    why : str
        The reason.
    file : Path
    """

    point: int | None
    why: str
    file: Path

    def _repr_html_(self) -> str:
        page = html.escape(read_text(self.file))
        return f'<iframe srcdoc="{page}" style="{FRAME}"></iframe>'


def write_document(data: dict[str, Any], file: File) -> Path:
    """Write the whole page, in place of a file that is there already; return where it is."""
    parts = {
        "title": html.escape(data["title"]),
        "nouns": html.escape(data["nouns"]),
        "version": __version__,
        "styles": _asset("page.css"),
        "scripts": "\n".join(_asset(name) for name in SCRIPTS),
        "data": _json(data),
        "table": _table(data),
    }
    # In one pass: what a part holds is never taken for a place.
    write_whole(file, PLACE.sub(lambda place: parts[place[1]], _asset("page.html")))
    return place_of(file)


def _asset(name: str) -> str:
    return (files("thriftwood.report.page") / "assets" / name).read_text("utf-8")


def _json(data: dict[str, Any]) -> str:
    """Return data as JSON that can stand in a page: nothing in it can end a script."""
    text = json.dumps(_plain(data), allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def _plain(value: Any) -> Any:
    """Return something as JSON knows it; numbers with few digits, none where not finite."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return _short(value) if isinstance(value, float) else value


def _short(number: float) -> float | int | None:
    if not math.isfinite(number):
        return None
    short = float(f"{number:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def _table(data: dict[str, Any]) -> str:
    """Return the points as a table that needs no scripts."""
    bill = f"Mean bill ({shown(data['unit'])})" if data["unit"] else "Mean bill"
    splits = ["Splits"] if _has_splits(data) else []
    heads = ["Point", bill, "Saved", *_error_heads(data), *splits, "Features"]
    head = "".join(f'<th scope="col">{html.escape(words)}</th>' for words in heads)
    before = {"index": data["words"]["was"], "place": 0, "details": data["before"]}
    body = "\n".join(_table_line(data, one) for one in (before, *data["points"]))
    return f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>"


def _has_splits(data: dict[str, Any]) -> bool:
    return data["before"]["n_splits"] is not None


def _error_heads(data: dict[str, Any]) -> list[str]:
    if data["error"] == "none":
        return ["Loss"]
    words = {"share": "Wrong", "squared": "Squared error"}[data["error"]]
    own = data["words"]["own_head"]
    if data["curve"]["validation"] is None:
        return [f"{one}, {own}" for one in (*_score_name(data), words)]
    measured = [
        f"{one}, validation set, ± one standard error" for one in (*_score_name(data), words)
    ]
    return [*measured, f"{words}, {own}"]


def _score_name(data: dict[str, Any]) -> list[str]:
    name = "" if data["score"] is None else data["score"]["name"]
    return [f"{name[0].upper()}{name[1:]}"] if name else []


def _table_line(data: dict[str, Any], point: dict[str, Any]) -> str:
    details, was = point["details"], data["before"]["cost"]
    saved = was - details["cost"]
    if abs(saved) < ROUNDING * was:
        saved = 0.0  # what is left of two sums that should be the same
    cells = [
        amount(details["cost"]),
        "" if point["place"] == 0 else amount(saved),
        *_errors(data, point["place"]),
        *([f"{details['n_splits']:,}"] if _has_splits(data) else []),
        f"{details['n_features']:,}",
    ]
    others = "".join(f"<td>{html.escape(words)}</td>" for words in cells)
    return f'<tr><th scope="row">{point["index"]}</th>{others}</tr>'


def _errors(data: dict[str, Any], place: int) -> list[str]:
    curve = data["curve"]
    if curve["training"] is None:
        return [amount(curve["loss"][place])]

    def write(error: float) -> str:
        return f"{100 * error:.1f} %" if data["error"] == "share" else amount(error)

    def write_with_spread(measured: dict[str, Any]) -> list[str]:
        scores, spread = measured["score"], write(measured["spread"][place]).removesuffix(" %")
        found = [f"{write(measured['error'][place])} ± {spread}"]
        if data["score"] is None:
            return found
        value, own = (score_amount(scores[name][place]) for name in ("value", "spread"))
        return [f"{value} ± {own}", *found]

    own = write(curve["training"]["error"][place])
    if curve["validation"] is not None:
        return [*write_with_spread(curve["validation"]), own]
    if curve["loss"] is None:  # of samples that nothing was fitted to
        return write_with_spread(curve["training"])
    return [own]
