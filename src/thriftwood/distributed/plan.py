"""What the user gave to prune on where rows come in pieces: read once, and then piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from thriftwood.adapters import read_forest
from thriftwood.costs import (
    AnyCosts,
    Costs,
    PriceList,
    read_prices,
)
from thriftwood.distributed.crew import Crew
from thriftwood.distributed.hiring import hire, is_chunked, is_dask
from thriftwood.distributed.pieces import Piece
from thriftwood.distributed.shards import read_piece_weights
from thriftwood.errors import InputError
from thriftwood.forest import Forest
from thriftwood.forest.table import column_names, read_rows
from thriftwood.problem.counting import once
from thriftwood.problem.given import GivenRows
from thriftwood.problem.losses import Loss, loss_named
from thriftwood.problem.recorded_gain import RECORDED_GAIN
from thriftwood.problem.targets import (
    ClassWeight,
    in_whole_numbers,
    read_class_weights,
    read_target,
)
from thriftwood.support.arrays import FloatArray
from thriftwood.support.progress import progress_line

State = TypeVar("State")


@dataclass(frozen=True, eq=False)
class PiecePlan:
    """What every worker must know to read its piece of the rows.

    Attributes
    ----------
    forest : Forest
    prices : PriceList
    loss : Loss
    loss_name : str
    class_weights : shape (n_classes,), optional
        How much the loss of a row counts by its class, in whole numbers.
    """

    forest: Forest
    prices: PriceList
    loss: Loss
    loss_name: str
    class_weights: FloatArray | None

    def read(self, piece: Piece) -> GivenRows:
        """Read a piece of the rows."""
        table = read_rows(piece.X, self.forest)
        target = read_target(piece.y, self.forest, table.n_samples)
        weights = read_piece_weights(piece.weight, table.n_samples)
        by_class = self.class_weights
        return GivenRows(
            forest=self.forest,
            table=table,
            prices=self.prices,
            rows="all",
            times=once(self.forest.n_trees, table.n_samples),
            target=target,
            weights=weights,
            loss_weights=weights if by_class is None else weights * by_class[target],
            loss=self.loss,
            loss_name=self.loss_name,
        )


def comes_in_pieces(
    X: Any, shards: Any, model: Any, needs_all: bool, options: dict[str, Any]
) -> bool:
    """Say whether rows are to be pruned in pieces.

    A memory map is read as a whole where something needs all rows at once: joblib hands arrays to
    its processes as memory maps, and what works on arrays must work there.

    Parameters
    ----------
    X, shards, model
        As in `prune`.
    needs_all : bool
        Whether something else than the options needs all rows.
    options : dict
        Costs, loss, class weight and rows, as in `prune`.
    """
    if shards is not None or not isinstance(X, np.memmap):
        return shards is not None or is_chunked(X)
    costs, loss = options["costs"], options["loss"]
    return not (
        needs_all
        or options["rows"] != "all"
        or isinstance(options["class_weight"], str)
        or (isinstance(costs, Costs) and costs.is_tied_to_samples)
        or (loss is not None and not read_forest(model).is_averaged)
    )


def read_plan(
    model: Any, X: Any, costs: AnyCosts, loss: Loss, class_weight: ClassWeight, rows: str
) -> PiecePlan:
    """Read what is the same for all rows; parameters as in `prune`."""
    if rows != "all":
        raise InputError(
            f"rows={rows!r} needs the rows in the order of the training, which pieces do not have. "
            "Use rows='all'."
        )
    forest = read_forest(model)
    forest = replace(forest, feature_names=forest.feature_names or column_names(X))
    loss_name = loss_named(loss, forest)
    if not forest.is_averaged and loss_name != RECORDED_GAIN:
        raise InputError(
            f"The {loss_name.replace('_', ' ')} of a boosted model is descended on rows in memory, "
            "not in pieces: leave `loss` out."
        )
    class_weights = _class_weights(class_weight, forest, loss_name)
    return PiecePlan(forest, _prices(costs, forest), loss, loss_name, class_weights)


@contextmanager
def hired(
    build: Callable[..., State],
    plan: PiecePlan,
    X: Any,
    y: Any,
    sample_weight: Any,
    n_jobs: int | None,
    progress: bool | None,
) -> Iterator[Crew]:
    """Build the state `build(plan, piece)` of all pieces, and yield the crew that holds them.

    In this process a line says how far it has come; a cluster has its own ways to show that.
    """
    if is_dask(X):
        with hire(partial(build, plan), X, y, sample_weight, n_jobs) as crew:
            yield crew
        return
    with ExitStack() as until_the_end:
        with progress_line("Reading rows:", progress) as line:

            def build_and_tell(piece: Piece) -> State:
                state = build(plan, piece)
                line(f"{piece.number + 1} pieces")
                return state

            crew = until_the_end.enter_context(hire(build_and_tell, X, y, sample_weight, n_jobs))
        yield crew


def _prices(costs: AnyCosts, forest: Forest) -> PriceList:
    if isinstance(costs, Costs) and costs.is_tied_to_samples:
        raise InputError(
            "`costs` belong to certain rows (`per_sample`, `known` or `shared_by`), which is not "
            "possible where rows come in pieces: give prices that are the same for all rows."
        )
    return read_prices(costs, forest.n_features, forest.feature_names, n_samples=1)


def _class_weights(class_weight: ClassWeight, forest: Forest, loss_name: str) -> FloatArray | None:
    if class_weight is None:
        return None
    if loss_name == RECORDED_GAIN:
        raise InputError(
            "The gains of splits were recorded with the weights of the training, so `class_weight` "
            "changes nothing: leave it out, or train with it."
        )
    if isinstance(class_weight, str) and class_weight == "balanced":
        raise InputError(
            "class_weight='balanced' needs all labels before the first loss is counted, which "
            "pieces do not give: pass a mapping from class to weight."
        )
    return in_whole_numbers(read_class_weights(class_weight, forest))
