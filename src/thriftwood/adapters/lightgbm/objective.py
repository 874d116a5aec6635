"""What the scores of a LightGBM model mean, and what its columns are called."""

import json
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters.lightgbm.text import ModelText
from thriftwood.errors import UnsupportedModelError
from thriftwood.forest import Aim, Link

SHARES = "cross_entropy"  # of targets between 0 and 1, which need not be classes
NO_OBJECTIVE = "none"  # the user's own: LightGBM then predicts the scores themselves

LINK_OF: dict[str, Link] = {
    NO_OBJECTIVE: "identity",
    "regression": "identity",
    "regression_l1": "identity",
    "huber": "identity",
    "fair": "identity",
    "quantile": "identity",
    "mape": "identity",
    "lambdarank": "identity",
    "rank_xendcg": "identity",
    "poisson": "exp",
    "gamma": "exp",
    "tweedie": "exp",
    "binary": "logistic",
    "cross_entropy": "logistic",
    "multiclassova": "logistic",
    "multiclass": "softmax",
}

# What regressors aim at; those that are not here, at the mean.
AIM_OF: dict[str, Aim] = {
    NO_OBJECTIVE: "other",
    "regression_l1": "median",
    "huber": "median",
    "fair": "median",
    "mape": "median",
    "quantile": "other",
    "lambdarank": "other",
    "rank_xendcg": "other",
}

# Here LightGBM gives the leaves of a grown tree new values, medians and the like.
RENEWS_LEAVES = ("regression_l1", "quantile", "mape")


class Meaning(NamedTuple):
    """What the scores of a model mean.

    Attributes
    ----------
    link
    n_outputs : int
        Scores per row, each the work of its own trees, which take turns.
    is_averaged : bool
        Whether the trees of an output are averaged, as in LightGBM's random forests.
    steepness : float
        What LightGBM multiplies a score by before its link.
    renews_leaves : bool
        Whether inner nodes know nothing of their rows' targets, because only leaves were given
        new values.
    classes : array, optional
    aim : str
        As in `Forest`.
    """

    link: Link
    n_outputs: int
    is_averaged: bool
    steepness: float
    renews_leaves: bool
    classes: NDArray[Any] | None
    aim: Aim


def meaning_of(model: Any, text: ModelText) -> Meaning:
    """Say what the scores of a model mean, or refuse a model that makes something else of them."""
    kind = type(model).__name__
    name, *details = (text.header.get("objective") or NO_OBJECTIVE).split()
    link = LINK_OF.get(name)
    if link is None or "sqrt" in details:
        raise UnsupportedModelError(
            f"This {kind} has the objective {' '.join([name, *details])!r}, which predicts "
            f"something else than Thriftwood can. Train with one of: {', '.join(LINK_OF)}."
        )
    n_outputs = int(text.header["num_tree_per_iteration"] or 1)
    if link == "identity" and n_outputs > 1:
        raise UnsupportedModelError(
            f"This {kind} has an objective of its own and predicts {n_outputs} scores, which are "
            "no probabilities. Train with the objective 'multiclass' or 'multiclassova'."
        )
    steepness = dict(detail.split(":") for detail in details).get("sigmoid", "1")
    return Meaning(
        link,
        n_outputs,
        "average_output" in text.header,
        float(steepness),
        name in RENEWS_LEAVES,
        _classes(model, name, link, n_outputs),
        AIM_OF.get(name, "mean"),
    )


def names_of(text: ModelText) -> tuple[str, ...] | None:
    """Return the names of the columns, unless LightGBM made them up."""
    names = tuple((text.header["feature_names"] or "").split(" "))
    made_up = tuple(f"Column_{number}" for number in range(len(names)))
    return None if names == made_up else names


def labels_of(model: Any, text: ModelText) -> dict[int, tuple[Any, ...]]:
    """Return the labels of the columns that were categorical in a data frame.

    LightGBM keeps the labels without their columns. They are those of the columns that it takes
    for categories, in order, if there are as many; ordered categories, which it takes for numbers,
    leave that open.
    """
    labels = json.loads(text.tail.rpartition("pandas_categorical:")[2] or "null")
    if not labels:
        return {}
    columns = re.search(r"\[categorical_feature: ([\d,]*)\]", text.tail)
    numbers = [int(number) for number in columns[1].split(",") if number] if columns else []
    codes = [_highest_code(text, column) for column in numbers]
    fits = len(numbers) == len(labels)
    if not fits or any(code >= len(own) for code, own in zip(codes, labels, strict=True)):
        raise UnsupportedModelError(
            f"This {type(model).__name__} was trained on a data frame with {len(labels)} "
            f"categorical columns, but takes {len(numbers)} columns for categories and does not "
            "say which labels belong to which. Train it with no ordered categories and no other "
            "`categorical_feature`, or on numbers in place of labels."
        )
    return {column: tuple(own) for column, own in zip(numbers, labels, strict=True)}


def _classes(model: Any, name: str, link: Link, n_outputs: int) -> NDArray[Any] | None:
    n_classes = max(2, n_outputs)
    known = getattr(model, "classes_", None)
    if known is None and name == SHARES:
        return None
    if link in ("identity", "exp"):
        if known is not None and name != NO_OBJECTIVE:
            raise UnsupportedModelError(
                f"This {type(model).__name__} has the objective of a regressor, so that its scores "
                "are no probabilities. Train with 'binary' or 'multiclass'."
            )
        return None
    if known is None:
        return np.arange(n_classes)
    if len(known) != n_classes:
        raise UnsupportedModelError(
            f"This {type(model).__name__} was trained on {len(known)} class(es) but predicts "
            f"{n_classes}: there is nothing to prune with one class."
        )
    return np.asarray(known)


def _highest_code(text: ModelText, column: int) -> int:
    """Return the highest category that a column had in training, -1 where that is not known."""
    about = (text.header.get("feature_infos") or "").split(" ")[column]
    return max(map(int, about.split(":"))) if re.fullmatch(r"-?\d+(:-?\d+)*", about) else -1
