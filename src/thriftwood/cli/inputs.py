"""What a command works on: the model, rows and prices that files hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import thriftwood as tw
from thriftwood.cli.class_weights import read_class_weight
from thriftwood.cli.request import Request
from thriftwood.cli.voice import Voice
from thriftwood.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from thriftwood.costs import Costs
    from thriftwood.forest import Forest
    from thriftwood.formats.tables import Rows, RowTable
    from thriftwood.support.arrays import FloatArray


class JudgedRows(NamedTuple):
    """Rows of which it is known what is right, and how much each counts."""

    X: Any
    y: NDArray[Any]
    weight: FloatArray | None


@dataclass(frozen=True)
class Inputs:
    """What the files of a request hold.

    Attributes
    ----------
    model
        As its library loads it.
    forest : Forest
        Its trees.
    rows : JudgedRows
        What to count losses and bills on.
    validation : JudgedRows, optional
        What training did not see.
    costs : Costs, optional
        None where every feature costs 1.
    loss : str, optional
    class_weight : "balanced" or mapping from class to weight, optional
    jobs : int, optional
    suffix : str
        What names of files in the model's format end in.
    """

    model: Any
    forest: Forest
    rows: JudgedRows
    validation: JudgedRows | None
    costs: Costs | None
    loss: str | None
    class_weight: Any
    jobs: int | None
    suffix: str

    @property
    def is_judged_by_errors(self) -> bool:
        """Whether errors judge the model; squared ones say nothing about a quantile or a rank."""
        return self.forest.is_classifier or self.forest.aim != "other"

    @property
    def counting(self) -> dict[str, Any]:
        """What says how losses count, as arguments of the package."""
        return {
            "loss": self.loss,
            "class_weight": self.class_weight,
            "sample_weight": self.rows.weight,
            "n_jobs": self.jobs,
        }


def read_inputs(request: Request, voice: Voice) -> Inputs:
    """Read what a request names; small files first, so that a slip shows at once."""
    from thriftwood.adapters import read_forest
    from thriftwood.formats.models import suffix_for

    costs = read_costs(request.costs)
    model = read_one_forest(request.model, request.trust_pickle, voice)
    forest = read_forest(model)
    classes = None if forest.classes is None else forest.classes.tolist()
    class_weight = read_class_weight(request.class_weight, classes)
    rows = judged(read_rows(request.data, model, request, voice), request.data)
    check_prices(costs, request.costs, rows.X)
    _check_classes(rows, classes, request.data)
    validation = None
    if request.validation is not None:
        names = list(rows.X.columns) if hasattr(rows.X, "columns") else None
        held_out = read_rows(request.validation, model, request, voice, names)
        validation = judged(held_out, request.validation)
    return Inputs(
        model=model,
        forest=forest,
        rows=rows,
        validation=validation,
        costs=costs,
        loss=request.loss,
        class_weight=class_weight,
        jobs=request.jobs,
        suffix=suffix_for(request.model),
    )


def judged(rows: Rows, file: Path) -> JudgedRows:
    """Return rows from a file, if it says what is right for them."""
    if rows.y is None:
        raise InputError(
            f"{file} has no array y that says what is right for its rows: name another as --target."
        )
    return JudgedRows(rows.X, rows.y, rows.weight)


def _check_classes(rows: JudgedRows, classes: Sequence[Any] | None, file: Path) -> None:
    if classes is not None and len(set(rows.y.tolist())) == 1:
        raise InputError(
            f"All rows of {file} have the class {rows.y[0]}, so that no split gains anything: pass "
            "rows of several classes, such as those that the model was trained on."
        )


def read_costs(file: Path | None) -> Costs | None:
    """Return the prices in a file, if one is named."""
    if file is None:
        return None
    return tw.Costs.from_file(file)


def check_prices(costs: Costs | None, file: Path | None, X: Any) -> None:
    """Refuse prices that do not fit the columns of rows, in a sentence that names their file."""
    if file is None:
        return
    from thriftwood.costs import read_prices
    from thriftwood.forest.table import column_names

    n_samples, n_columns = X.shape
    try:
        read_prices(costs, n_columns, column_names(X), n_samples)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None


def read_model(file: Path, trust_pickle: bool, voice: Voice) -> Any:
    """Return the model in a file."""
    with voice.step(f"Reading {file}"):
        from thriftwood.formats.models import read_model

        return read_model(file, trust_pickle=trust_pickle)


def read_one_forest(file: Path, trust_pickle: bool, voice: Voice) -> Any:
    """Return the model in a file, unless it is a cascade."""
    model = read_model(file, trust_pickle, voice)
    if isinstance(model, tw.CascadeClassifier):
        raise InputError(
            f"{file} is a cascade: several forests, pruned already. This command takes a single "
            "one, such as the model that the cascade was made of."
        )
    return model


def read_rows(
    file: Path,
    model: Any,
    request: Request,
    voice: Voice,
    like: Sequence[str] | None = None,
    judged: bool = True,
) -> Rows:
    """Return the rows in a file, as the model wants them; `like` and `judged` as in `RowTable`."""
    with voice.step(f"Reading {file}"):
        from thriftwood.formats.tables import read_table

        table = read_table(file)
        rows = table.rows_for(
            model, target=request.target, weight=request.weight, like=like, judged=judged
        )
    for note in rows.notes:
        voice.note(note)
    return _named(rows, table, request, like)


def _named(
    rows: Rows, table: RowTable, request: Request, like: Sequence[str] | None = None
) -> Rows:
    """Give rows names where the model knows none: those of the file, or else numbers from 0.

    Prices go by them.
    """
    if hasattr(rows.X, "columns"):
        return rows
    import pandas as pd

    from thriftwood.formats.tables import numbers_as_names

    own = table.names or numbers_as_names(rows.X.shape[1])
    names = list(like or (name for name in own if name not in (request.target, request.weight)))
    return rows._replace(X=pd.DataFrame(rows.X, columns=names))
