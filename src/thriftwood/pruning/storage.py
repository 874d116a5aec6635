"""Paths in files: arrays and one line of JSON in a zip, no pickle, so that reading is harmless."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters import forest_model, read_forest
from thriftwood.costs import price_parts, prices_from
from thriftwood.errors import InputError
from thriftwood.forest import Forest, files
from thriftwood.problem import Figures
from thriftwood.pruning.proof import CRITERIA, Baseline, Optimal, PathProof, Sampled
from thriftwood.support.arrays import read_only

FORMAT = "thriftwood pruning path"
VERSION = 4
PER_POINT = ("tradeoffs", "costs", "losses", "n_splits", "n_features")
OPTIONAL = ("drop_step", "masks")


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
        arrays["sampling_errors"] = path.proof.errors
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
            **{name: read_only(arrays[name]) for name in OPTIONAL if name in arrays},
        }
        if not _fits(about, forest):
            raise ValueError
    except files.DAMAGE:
        raise InputError(f"{file} is damaged.") from None
    if model is not None and not forest.has_same_trees(read_forest(model)):
        raise InputError(f"{file} holds the path of another model than this one.")
    return about


def _about_proof(proof: PathProof) -> dict[str, Any]:
    kind = {"kind": type(proof).__name__}
    if isinstance(proof, Sampled):
        return kind | {"n_drawn": proof.n_drawn, "n_samples": proof.n_samples}
    if isinstance(proof, Baseline):
        return kind | {"criterion": proof.criterion}
    return kind | {
        "resolution": proof.resolution,
        "cost_resolution": proof.cost_resolution,
        "is_exact": proof.is_exact,
    }


def _proof(about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> PathProof:
    kind, numbers = about["kind"], {name: about[name] for name in about if name != "kind"}
    if kind == "Sampled":
        return Sampled(read_only(arrays["sampling_errors"]), **numbers)
    if kind == "Baseline":
        return Baseline(**numbers)
    if kind != "Optimal":
        raise ValueError
    return Optimal(**numbers)


def _fits(about: dict[str, Any], forest: Forest) -> bool:
    """Say whether the arrays fit the forest and each other: kernels trust them."""
    n_points, proof = len(about["costs"]), about["proof"]
    per_point = [about[name] for name in PER_POINT]
    per_point += [proof.errors] if isinstance(proof, Sampled) else []
    if isinstance(proof, Baseline) and proof.criterion not in CRITERIA:
        return False
    if about["prices"].n_features != forest.n_features:
        return False
    if any(array.shape != (n_points,) for array in per_point):
        return False
    if "masks" in about:
        return "drop_step" not in about and _are_prunings(about["masks"], forest, n_points)
    return _are_steps(about["drop_step"], forest, n_points)


def _are_steps(steps: NDArray[Any], forest: Forest, n_points: int) -> bool:
    parent = forest.parent
    return (
        steps.shape == parent.shape
        and steps.dtype == np.int32
        and bool(((steps >= -1) & (steps < n_points)).all())
        and bool(((parent < 0) | (steps <= steps[parent])).all())
    )


def _are_prunings(masks: NDArray[Any], forest: Forest, n_points: int) -> bool:
    if masks.dtype != np.uint8 or masks.shape != (n_points, -(-forest.n_nodes // 8)):
        return False
    parent = forest.parent
    for bits in masks:
        kept = np.unpackbits(bits, count=forest.n_nodes).astype(np.bool_)
        if (kept & ~forest.is_split).any() or (kept & (parent >= 0) & ~kept[parent]).any():
            return False
    return True
