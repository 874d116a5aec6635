"""The page as one HTML document: template, styles, scripts and data in one text."""

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
        # Nothing in it can end a script.
        "data": json.dumps(_plain(data), allow_nan=False, separators=(",", ":")).replace(
            "<", "\\u003c"
        ),
        "table": _table(data),
    }
    # In one pass: what a part holds is never taken for a place.
    write_whole(file, PLACE.sub(lambda place: parts[place[1]], _asset("page.html")))
    return place_of(file)


def _asset(name: str) -> str:
    return (files("thriftwood.report.page") / "assets" / name).read_text("utf-8")


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
    before = {"index": data["words"]["was"], "place": 0, "details": data["before"]}
    points = [before, *data["points"]]
    details, was = [one["details"] for one in points], data["before"]["cost"]
    columns = [
        ("Point", [str(one["index"]) for one in points]),
        (
            f"Mean bill ({shown(data['unit'])})" if data["unit"] else "Mean bill",
            [amount(one["cost"]) for one in details],
        ),
        ("Saved", ["", *(_saved(was, one["cost"]) for one in details[1:])]),
        *_error_columns(data, [one["place"] for one in points]),
    ]
    for name, key in (("Splits", "n_splits"), ("Features", "n_features")):
        if data["before"][key] is not None:
            columns.append((name, [f"{one[key]:,}" for one in details]))
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name, _ in columns)
    lines = []
    for first, *cells in zip(*(cells for _, cells in columns), strict=True):
        others = "".join(f"<td>{html.escape(words)}</td>" for words in cells)
        lines.append(f'<tr><th scope="row">{first}</th>{others}</tr>')
    body = "\n".join(lines)
    return f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>"


def _saved(before: float, cost: float) -> str:
    """Return what is saved; what is left of two sums that should be the same is nothing."""
    saved = before - cost
    return amount(0.0 if abs(saved) < ROUNDING * before else saved)


def _error_columns(data: dict[str, Any], places: list[int]) -> list[tuple[str, list[str]]]:
    """Return scores and errors of points, by names of columns; losses where nothing judges."""
    curve, own = data["curve"], data["words"]["own_head"]
    if curve["training"] is None:
        return [("Loss", [amount(curve["loss"][place]) for place in places])]
    is_share = data["error"] == "share"
    name = "Wrong" if is_share else "Squared error"

    def write(error: float) -> str:
        return f"{100 * error:.1f} %" if is_share else amount(error)

    def measured(one: dict[str, Any], where: str) -> list[tuple[str, list[str]]]:
        spread = [write(one["spread"][place]).removesuffix(" %") for place in places]
        errors = [write(one["error"][place]) for place in places]
        found = [(f"{name}, {where}", [f"{e} ± {s}" for e, s in zip(errors, spread, strict=True)])]
        if data["score"] is None:
            return found
        value, spread = (
            [score_amount(one["score"][key][place]) for place in places]
            for key in ("value", "spread")
        )
        score = data["score"]["name"]
        both = [f"{v} ± {s}" for v, s in zip(value, spread, strict=True)]
        scores = [(f"{score[0].upper()}{score[1:]}, {where}", both)]
        return scores if data["error"] == "none" else [*scores, *found]

    if curve["loss"] is None:  # of samples that nothing was fitted to
        return measured(curve["training"], own)
    errors = [(f"{name}, {own}", [write(curve["training"]["error"][place]) for place in places])]
    if curve["validation"] is None:
        return errors
    return [*measured(curve["validation"], "validation set, ± one standard error"), *errors]
