"""From rows to a trained model and the rows to judge it by, in files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import thriftwood as tw
from thriftwood.cli.class_weights import read_class_weight
from thriftwood.cli.fitting import (
    Kind,
    Task,
    check_features,
    check_task,
    fitted,
    held_out_quarter,
    usual_kind,
    usual_task,
)
from thriftwood.cli.inputs import (
    JudgedRows,
    check_prices,
    judged,
    read_costs,
)
from thriftwood.cli.request import Request
from thriftwood.cli.voice import Voice
from thriftwood.cli.words import count
from thriftwood.forest.table import column_names

MODEL, TRAIN, VALIDATION = "model.skops", "train.parquet", "validation.parquet"
TARGET = "y"  # what an .npz file calls it


@dataclass(frozen=True)
class Lesson:
    """What to train.

    Attributes
    ----------
    request : Request
        Where rows and prices are, and where the model will be.
    output : Path
        The folder that all is to be in.
    kind : Kind, optional
    task : Task, optional
        None leaves it to the target.
    seed : int
    """

    request: Request
    output: Path
    kind: Kind | None
    task: Task | None
    seed: int


def write_lesson(lesson: Lesson, folder: Path, voice: Voice) -> tuple[Request, list[str]]:
    """Train, and write the model; where no validation rows are given hold some out, and write both.

    Returns
    -------
    request : Request
        What the frontier is to be computed on.
    lines : list of str
        What was done.
    """
    request = lesson.request
    costs, rows = read_costs(request.costs), _read(request, voice)
    task = lesson.task or usual_task(rows.y)
    kind = lesson.kind or usual_kind(task)
    check_task(rows.y, task, kind)
    check_features(rows, kind)
    check_prices(costs, request.costs, rows.X)
    n_held_out = 0
    if request.validation is None:
        train, valid = held_out_quarter(rows.y, task, lesson.seed)
        request = _named(request, rows)
        for name, some in ((TRAIN, train), (VALIDATION, valid)):
            _write_rows(_taken(rows, some), request, folder / name)
        rows, n_held_out = _taken(rows, train), len(valid)
        request = replace(
            request, data=lesson.output / TRAIN, validation=lesson.output / VALIDATION
        )
    classes = sorted(set(rows.y.tolist())) if task is Task.classification else None
    weights = read_class_weight(request.class_weight, classes)
    with voice.step("Training"):
        model = fitted(rows, kind, task, costs, weights, lesson.seed, request.jobs)
    tw.export.to_skops(model, folder / MODEL)
    return request, _lines(model, rows, request, lesson.task, classes, n_held_out)


def _read(request: Request, voice: Voice) -> JudgedRows:
    from thriftwood.formats.tables import read_table

    with voice.step(f"Reading {request.data}"):
        table = read_table(request.data)
        rows = table.rows_to_learn(target=request.target, weight=request.weight)
        return judged(rows, request.data)


def _taken(rows: JudgedRows, some: Any) -> JudgedRows:
    """Return some of the rows, by number."""
    X = rows.X.iloc[some] if hasattr(rows.X, "iloc") else rows.X[some]
    return rows._replace(
        X=X, y=rows.y[some], weight=None if rows.weight is None else rows.weight[some]
    )


def _named(request: Request, rows: JudgedRows) -> Request:
    """Name the columns of target and weights, which in an .npz file have names by themselves."""
    names = column_names(rows.X) or ()
    target = request.target or _free_name(TARGET, names)
    weight = request.weight
    if weight is None and rows.weight is not None:
        weight = _free_name("weight", (*names, target))
    return replace(request, target=target, weight=weight)


def _free_name(usual: str, taken: Sequence[str]) -> str:
    return usual if usual not in taken else _free_name(f"{usual}_", taken)


def _write_rows(rows: JudgedRows, request: Request, file: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame(rows.X)
    frame.columns = frame.columns.astype(str)
    frame[request.target] = rows.y
    if request.weight is not None:
        frame[request.weight] = rows.weight
    frame.to_parquet(file, index=False)


def _lines(
    model: Any,
    rows: JudgedRows,
    request: Request,
    asked: Task | None,
    classes: list[Any] | None,
    n_held_out: int,
) -> list[str]:
    lines = []
    if asked is None:
        taken = "numbers" if classes is None else f"{len(classes)} classes"
        lines.append(f"Took {request.target or TARGET} for {taken}; --task says otherwise.")
    held_out = f"; {count(n_held_out, 'row')} held out for validation" if n_held_out else ""
    lines.append(f"Trained a {type(model).__name__} on {count(len(rows.y), 'row')}{held_out}.")
    return lines
