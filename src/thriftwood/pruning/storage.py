"""Paths in files: arrays and one line of JSON in a zip, no pickle, so that reading is harmless."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from math import inf, isfinite
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters import forest_model, read_forest
from thriftwood.costs import price_parts, prices_from
from thriftwood.errors import InputError
from thriftwood.forest import Forest, files
from thriftwood.problem import (
    CLASSIFIER_LOSSES,
    RECORDED_GAIN,
    REGRESSOR_LOSSES,
    Figures,
    nested_figures,
)
from thriftwood.problem.targets import SAMPLES
from thriftwood.pruning.proof import CRITERIA, Baseline, Optimal, PathProof, Sampled
from thriftwood.support.arrays import BoolArray, read_only

FORMAT = "thriftwood pruning path"
VERSION = 7
PER_POINT = ("tradeoffs", "costs", "losses", "n_splits", "n_features")
OPTIONAL = ("drop_step", "masks", "error_costs")
# What the header of a file says of each kind of proof.
PROOFS: dict[type, tuple[str, ...]] = {
    Optimal: ("gap", "cost_gap", "is_exact"),
    Sampled: ("n_drawn", "n_samples", "is_finished"),
    Baseline: ("criterion",),
}
NEVER_BELOW_0 = {*CLASSIFIER_LOSSES, *REGRESSOR_LOSSES}
ROUNDING = 1e-9  # of sums of doubles, as a part of the largest


def save_path(path: Any, file: str | os.PathLike[str]) -> None:
    """Write a path, all of it or nothing."""
    about_forest, arrays = files.forest_parts(path.forest)
    about_prices, of_prices = price_parts(path.prices)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "proof": _about_proof(path.proof),
        "loss": path.loss_name,
        "original": vars(path.original),
        "samples": path.samples,
        "prices": about_prices,
        "forest": about_forest,
    }
    arrays |= of_prices | {name: getattr(path, name) for name in PER_POINT}
    optional = {name: getattr(path, name) for name in OPTIONAL}
    arrays |= {name: array for name, array in optional.items() if array is not None}
    if isinstance(path.proof, Sampled):
        arrays["gaps"] = path.proof.gaps
    files.save_arrays(file, header, arrays)


def load_path(file: str | os.PathLike[str], model: Any = None) -> dict[str, Any]:
    """Read the attributes of a path; parameters as in `PruningPath.load`."""
    otherwise = "no path that `PruningPath.save` wrote"
    header, arrays = files.load_arrays(file, FORMAT, VERSION, otherwise)
    try:
        forest = files.forest_from(header["forest"], arrays)
        about: dict[str, Any] = {
            "model": forest_model(forest) if model is None else model,
            "forest": forest,
            "samples": header["samples"],
            "prices": prices_from(header["prices"], arrays),
            "loss_name": header["loss"],
            "original": Figures(**header["original"]),
            "proof": _proof(header["proof"], arrays),
            **{name: read_only(arrays[name]) for name in PER_POINT},
            **{name: read_only(arrays[name]) if name in arrays else None for name in OPTIONAL},
        }
        laws = _laws(SimpleNamespace(**about), forest, about["proof"], len(about["costs"]))
        broken = next((words for is_right, words in laws if not is_right), None)
    except files.DAMAGE:
        raise InputError(f"{file} is damaged: copy it again.") from None
    if broken is not None:
        raise InputError(f"{file} is damaged: {broken}.")
    own = None if model is None else read_forest(model)
    if own is not None and not forest.has_same_trees(own):
        raise InputError(f"{file} holds the path of another model than this one.")
    inputs = files.inputs_from(header["forest"], own, file)
    return {**about, "forest": replace(forest, inputs=inputs)}


def _about_proof(proof: PathProof) -> dict[str, Any]:
    kind = type(proof)
    return {"kind": kind.__name__} | {name: getattr(proof, name) for name in PROOFS[kind]}


def _proof(about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> PathProof:
    facts = {name: about[name] for name in about if name != "kind"}
    kind = {one.__name__: one for one in PROOFS}[about["kind"]]
    return kind(read_only(arrays["gaps"]), **facts) if kind is Sampled else kind(**facts)


def _laws(
    path: SimpleNamespace, forest: Forest, proof: PathProof, n_points: int
) -> Iterator[tuple[Any, str]]:
    """Yield what must be so for kernels and proofs, and words for where it is not.

    What comes later may rely on what came before.
    """
    per_point = {name: getattr(path, name) for name in PER_POINT}
    if isinstance(proof, Sampled):
        per_point["gaps"] = proof.gaps
    for name, array in per_point.items():
        kind = np.dtype(np.int64 if name.startswith("n_") else np.float64)
        fits = n_points > 0 and array.shape == (n_points,) and array.dtype == kind
        yield fits, f"`{name}` must have a number for each point"
    is_by_size = proof == Baseline("dynamic_programming")
    for name, array in per_point.items():
        is_unknown = name == "tradeoffs" and is_by_size
        yield is_unknown or np.isfinite(array).all(), f"`{name}` has a number that is not finite"
        may_be_less = is_unknown or (name == "losses" and path.loss_name not in NEVER_BELOW_0)
        yield may_be_less or (array >= 0).all(), f"`{name}` has a number below 0"
    yield path.samples in SAMPLES, "it does not say which samples count"
    yield _is_loss(path.loss_name, forest), "its loss is none of its model"
    yield _are_error_costs(path.error_costs, forest), "its costs of errors are none of its model"
    yield path.prices.n_features == forest.n_features, "its prices are those of another model"
    yield from _laws_of_proof(proof)
    yield (path.drop_step is None) != (path.masks is None), "it does not say what points keep"
    if path.masks is None:
        yield _are_steps(path.drop_step, forest, n_points), "its points are not nested"
        kept: Any = nested_figures(
            forest, path.prices, np.zeros(forest.n_nodes), path.drop_step, n_points
        )[1:]
    else:
        shape = n_points, -(-forest.n_nodes // 8)
        are_bits = path.masks.dtype == np.uint8 and path.masks.shape == shape
        yield are_bits, "a point is no pruning of its model"
        masks = [np.unpackbits(one, count=forest.n_nodes).astype(bool) for one in path.masks]
        yield all(_is_pruning(one, forest) for one in masks), "a point is no pruning of its model"
        columns = [path.prices.n_columns_of(forest.feature[one]) for one in masks]
        kept = [int(one.sum()) for one in masks], columns
    for name, counted in zip(("n_splits", "n_features"), kept, strict=True):
        yield (getattr(path, name) == counted).all(), f"`{name}` is not what its points keep"
    own, n_used = path.original, path.prices.n_columns_of(forest.feature[forest.is_split])
    figures = (own.cost, own.loss)
    yield all(type(one) is float and isfinite(one) for one in figures), "`original` is no number"
    sizes = (own.n_splits, own.n_features) == (forest.n_splits, n_used)
    yield sizes and own.cost >= 0, "`original` has not the figures of its model"
    if not is_by_size:
        yield from _laws_of_order(path, proof)


def _is_loss(name: Any, forest: Forest) -> bool:
    """Say whether a path of such a model can have this loss; a user's own has a function's name."""
    if name == RECORDED_GAIN or not forest.is_averaged:
        return name == RECORDED_GAIN and forest.gains is not None
    return isinstance(name, str) and (name.isidentifier() or name == "<lambda>")


def _are_error_costs(matrix: NDArray[Any] | None, forest: Forest) -> bool:
    if matrix is None:
        return True
    n_classes = 0 if forest.classes is None else len(forest.classes)
    shape = n_classes, n_classes
    return matrix.shape == shape and bool((np.isfinite(matrix) & (matrix >= 0)).all())


def _laws_of_proof(proof: PathProof) -> Iterator[tuple[Any, str]]:
    if isinstance(proof, Optimal):
        numbers = (proof.gap, proof.cost_gap)
        right = all(type(one) is float and 0 <= one < inf for one in numbers)
        yield right and type(proof.is_exact) is bool, "its gap is no number of at least 0"
    elif isinstance(proof, Sampled):
        counts = (proof.n_drawn, proof.n_samples)
        right = all(type(one) is int for one in counts)
        yield right and 0 < proof.n_drawn <= proof.n_samples, "it has no number of samples"
        yield type(proof.is_finished) is bool, "it does not say whether its path is complete"
    else:
        yield proof.criterion in CRITERIA, "it names no criterion"


def _laws_of_order(path: SimpleNamespace, proof: PathProof) -> Iterator[tuple[Any, str]]:
    """Yield the monotonicity of costs, losses and tradeoffs along points, but for rounding."""
    costs, losses, tradeoffs = path.costs, path.losses, path.tradeoffs
    saved, lost, since = -np.diff(costs), np.diff(losses), tradeoffs[1:]
    yield (np.diff(tradeoffs) > 0).all() and tradeoffs[0] == 0, "`tradeoffs` must rise from 0"
    cost_noise = ROUNDING * max(path.original.cost, costs.max())
    yield (saved >= -cost_noise).all(), "`costs` must fall"
    yield path.original.cost >= costs[0] - cost_noise, "`costs` are above those of the model"
    if isinstance(proof, Baseline):
        return
    loss_noise = ROUNDING * np.abs(losses).max()
    if isinstance(proof, Optimal):
        loss_noise = loss_noise + 2 * proof.gap_at(since)
    yield (lost >= -loss_noise).all(), "`losses` must rise"
    if isinstance(proof, Optimal):
        most = path.original.loss + ROUNDING * np.abs(losses).max() + proof.gap
        yield losses[0] <= most, "`losses` are above that of the model"
    if isinstance(proof, Optimal) and proof.is_exact:
        apart = np.abs(lost - since * saved)
        noise = loss_noise + since * cost_noise
        yield (apart <= noise).all(), "`tradeoffs`, `costs` and `losses` contradict each other"


def _are_steps(steps: NDArray[Any], forest: Forest, n_points: int) -> bool:
    parent = forest.parent
    return (
        steps.shape == parent.shape
        and steps.dtype == np.int32
        and bool(((steps >= -1) & (steps < n_points)).all())
        and bool(((parent < 0) | (steps <= steps[parent])).all())
    )


def _is_pruning(kept: BoolArray, forest: Forest) -> bool:
    parent = forest.parent
    orphans = kept & (parent >= 0) & ~kept[parent]
    return not ((kept & ~forest.is_split) | orphans).any()
