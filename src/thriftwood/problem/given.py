"""What the user gave to prune on: read and checked, before any row goes through a tree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from thriftwood.adapters import read_bootstrap, read_forest
from thriftwood.costs import AnyCosts, PriceList, read_prices
from thriftwood.errors import InputError, RangeError
from thriftwood.forest import Forest
from thriftwood.forest.table import Table, read_rows
from thriftwood.problem.counting import CountArray, once, times_counted
from thriftwood.problem.losses import Loss, loss_named
from thriftwood.problem.recorded_gain import RECORDED_GAIN
from thriftwood.problem.targets import (
    ClassWeight,
    read_loss_weights,
    read_target,
    read_weights,
)
from thriftwood.support.arrays import (
    FloatArray,
    IndexArray,
    IntArray,
    read_only,
)


@dataclass(frozen=True, eq=False)
class GivenRows:
    """A forest, rows, what is right for them and what they pay.

    Attributes
    ----------
    forest : Forest
        With the names of its columns, from the model or else from the table.
    table : Table
    prices : PriceList
    rows : str
        On which rows each tree's loss counts.
    times : shape (n_trees, n_samples)
        How often each row counts in each tree.
    target : shape (n_samples,)
        What is right for each row: the number of its class, or a number.
    weights, loss_weights : shape (n_samples,)
        How much each row counts in the mean bill and in the loss, in whole numbers.
    loss : str or callable, optional
    loss_name : str
    """

    forest: Forest
    table: Table
    prices: PriceList
    rows: str
    times: CountArray
    target: IndexArray | FloatArray
    weights: FloatArray
    loss_weights: FloatArray
    loss: Loss
    loss_name: str

    @property
    def n_samples(self) -> int:
        return self.table.n_samples

    @property
    def adds_up_losses(self) -> bool:
        """Whether the loss is a sum over rows; otherwise the trees recorded gains long ago."""
        return self.forest.is_averaged and self.loss_name != RECORDED_GAIN

    def take(self, rows: IntArray | slice) -> GivenRows:
        """Return some of the rows, where all count alike in all trees and pay the same prices."""
        table = Table(read_only(self.table.values[rows]), self.table.names)
        return replace(
            self,
            table=table,
            times=once(self.forest.n_trees, table.n_samples),
            target=read_only(self.target[rows]),
            weights=read_only(self.weights[rows]),
            loss_weights=read_only(self.loss_weights[rows]),
        )


def read_given(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    costs: AnyCosts,
    loss: Loss,
    class_weight: ClassWeight,
    rows: str,
    sample_weight: ArrayLike | None,
) -> GivenRows:
    """Read what the user gave; parameters as in `prune`."""
    forest = read_forest(model)
    loss_name = loss_named(loss, forest)
    table = read_rows(X, forest)
    forest = replace(forest, feature_names=forest.feature_names or table.names)
    prices = read_prices(costs, forest.n_features, forest.feature_names, table.n_samples)
    target = read_target(y, forest, table.n_samples)
    weights = read_weights(sample_weight, table.n_samples)
    _check_bills(prices, weights)
    samples = None if rows == "all" else read_bootstrap(model)
    given = GivenRows(
        forest=forest,
        table=table,
        prices=prices,
        rows=rows,
        times=times_counted(rows, samples, forest.n_trees, table.n_samples),
        target=target,
        weights=weights,
        loss_weights=read_loss_weights(class_weight, forest, target, weights),
        loss=loss,
        loss_name=loss_name,
    )
    if not given.adds_up_losses:
        _check_gains_count(loss_name, class_weight, rows)
    return given


def _check_gains_count(loss_name: str, class_weight: ClassWeight, rows: str) -> None:
    """Refuse what gains that were recorded long ago cannot know."""
    if rows != "all":
        raise InputError(
            f"The gains of splits are recorded on the rows of the training, so rows={rows!r} has "
            "no meaning for them. Use rows='all'."
        )
    if class_weight is not None and loss_name == RECORDED_GAIN:
        raise InputError(
            "The gains of splits were recorded with the weights of the training, so `class_weight` "
            "changes nothing: leave it out, or train with it."
        )


def _check_bills(prices: PriceList, weights: FloatArray) -> None:
    with np.errstate(over="ignore"):
        everything = (prices.prices * weights.sum() * prices.predictions).sum()
    if not np.isfinite(everything):
        raise RangeError("The prices are so large that bills are infinite. Use a larger unit.")
