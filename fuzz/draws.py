"""Small forests, samples, weights and prices of every kind, drawn at random."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fuzz.exact import decimal
from fuzz.trees import trees_of

CLASS_LOSSES = ("error", "error", "expected_error", "brier", "log_loss")
NUMBER_LOSSES = ("squared_error", "squared_error", "absolute_error")
LABELS = ([0, 1], [0, 1], [0, 1, 2], ["no", "yes"], [-1, 3], [1.0, 2.0])


@dataclass
class Case:
    """A fitted model, samples, and what the user says about loss, weights and prices."""

    model: object
    X: np.ndarray
    y: np.ndarray
    loss: str
    prices: dict  # arguments of `tw.Costs`, and the queries of samples as `qid`
    sample_weight: np.ndarray | None = None
    class_weight: dict | str | None = None
    samples: str = "all"
    chunks: list = field(default_factory=list)  # where to cut samples into partitions
    time_limit: float | None = None
    subsample: int | None = None
    error_costs: dict | None = None
    is_plain: bool = True  # whether all numbers are counts, or decimals of up to six digits

    @property
    def n_features(self):
        return self.X.shape[1]

    @property
    def is_classifier(self):
        return self.loss in CLASS_LOSSES or self.loss == "error_costs"

    @cached_property
    def trees(self):
        return trees_of(self.model, self.X)

    @cached_property
    def labels(self):
        place = {label: number for number, label in enumerate(self.model.classes_.tolist())}
        return [place[label] for label in self.y.tolist()]

    @property
    def weights(self):
        return [1.0] * len(self.y) if self.sample_weight is None else self.sample_weight.tolist()

    @cached_property
    def shares(self):
        """How much the class of each sample counts in the loss."""
        if self.class_weight is None:
            return [Fraction(1)] * len(self.y)
        if self.class_weight == "balanced":
            total = dict.fromkeys(self.labels, Fraction(0))
            for label, weight in zip(self.labels, self.weights, strict=True):
                total[label] += decimal(weight)
            return [1 / total[label] if total[label] else Fraction(0) for label in self.labels]
        return [decimal(self.class_weight.get(label, 1)) for label in self.y.tolist()]

    @cached_property
    def times(self):
        """How often each sample counts in each tree; None is once."""
        if self.samples == "all":
            return None
        drawn = [np.bincount(one, minlength=len(self.y)) for one in self.model.estimators_samples_]
        return drawn if self.samples == "in_bag" else [one == 0 for one in drawn]

    def __repr__(self):
        names = ("loss", "class_weight", "samples", "sample_weight", "chunks", "prices")
        names += ("time_limit", "subsample", "error_costs")
        lines = [f"{self.model}", *(f"{name} = {getattr(self, name)!r}" for name in names)]
        for tree in self.trees:
            lines.append(f"tree: left {tree.left} right {tree.right} feature {tree.feature}")
            lines.append(f"  threshold {tree.threshold} values {tree.values.tolist()}")
        lines += [f"X = {self.X.tolist()!r}", f"y = {self.y.tolist()!r}"]
        return "\n".join(lines)


def draw_case(seed):
    """Draw a case; the same for the same seed."""
    rng = np.random.default_rng(seed)
    X = _draw_samples(rng)
    kind = rng.choice(
        ["tree", "trees", "number", "numbers", "bagging", "lightgbm", "boosting"],
        p=[0.33, 0.34, 0.17, 0.05, 0.05, 0.03, 0.03],
    )
    is_classifier = kind not in ("number", "numbers")
    labels = LABELS[rng.integers(len(LABELS))]
    y, is_plain = (
        (rng.choice(np.array(labels), len(X)), True) if is_classifier else _draw_numbers(rng, X)
    )
    if is_classifier:
        y[: len(labels)] = labels  # every class is there
    is_boosted = kind in ("lightgbm", "boosting")
    if is_boosted:
        y = y == y[0]
        if kind == "boosting":
            X = np.nan_to_num(X)
    model = _fit(kind, X, y, rng)
    losses = CLASS_LOSSES if is_classifier else NUMBER_LOSSES
    loss = "recorded_gain" if is_boosted else str(rng.choice(losses))
    is_plain &= loss == "error"
    prices, is_decimal = draw_prices(rng, X.shape[1], len(X))
    weights, is_whole = _draw_weights(rng, len(X), prices)
    case = Case(model, X, y, loss, prices, weights)
    case.is_plain = bool(is_plain and is_decimal and is_whole)
    if is_classifier and not is_boosted and rng.random() < 0.1:
        case.loss, case.is_plain = "error_costs", False
        case.error_costs = {one: round(float(rng.uniform(0, 10)), 2) for one in labels}
    elif is_classifier and not is_boosted and rng.random() < 0.3:
        case.class_weight = _draw_class_weight(rng, labels)
        case.is_plain &= case.class_weight != "balanced"
    if hasattr(model, "estimators_samples_") and rng.random() < 0.2:
        case.samples = str(rng.choice(["in_bag", "out_of_bag"]))
        if not np.dot(np.sum(case.times, axis=0), case.weights):
            case.samples = "all"
            del case.times
    of_samples = ("known", "per_sample", "shared_by", "qid")
    tied = any(prices.get(name) is not None for name in of_samples)
    can_be_cut = not tied and case.samples == "all" and case.class_weight != "balanced"
    can_be_cut &= case.error_costs is None
    if can_be_cut and rng.random() < 0.25:
        case.chunks = sorted(set(rng.integers(1, len(X), rng.integers(1, 4)).tolist()))
    prices["weigh_bills"] = bool(rng.random() < 0.5)
    if rng.random() < 0.1:
        case.time_limit = float(rng.choice([0, 0, 0.001]))
    if not tied and not case.chunks and case.samples == "all" and rng.random() < 0.15:
        case.subsample = int(rng.integers(2, len(X)))
    return case


def _draw_samples(rng):
    n_samples, n_features = int(rng.integers(4, 25)), int(rng.integers(1, 6))
    if rng.random() < 0.5:
        X = rng.integers(0, 4, (n_samples, n_features)).astype(float)
    else:
        X = rng.normal(size=(n_samples, n_features)).round(3)
    if rng.random() < 0.15:
        X[rng.random(X.shape) < 0.15] = np.nan
    return X


def _draw_numbers(rng, X):
    """Draw targets, from counts to what doubles can hardly tell apart."""
    signal = np.nan_to_num(X).sum(axis=1)
    kind = rng.integers(7)
    if kind == 6:  # small gains below large ones
        y = rng.integers(0, 9, len(X)) * 10.0 ** rng.choice([0, 4, 8], len(X))
        return y + 1e9 * (rng.random(len(X)) < 0.5), False
    if kind == 0:
        return np.round(signal + rng.integers(-2, 3, len(X))), True
    if kind == 1:
        return rng.lognormal(0, 3, len(X)), False
    if kind == 2:  # a far offset
        return 1e8 * (rng.random(len(X)) < 0.5) + rng.integers(0, 5, len(X)), False
    if kind == 3:
        return (signal + rng.normal(size=len(X))) * 10.0 ** rng.integers(-9, 10), False
    if kind == 4:
        return np.round(rng.normal(size=len(X)), 2), False
    return 10.0 ** rng.uniform(-9, 9, len(X)), False


def _fit(kind, X, y, rng):
    most = int(rng.integers(2, 6))
    options = {"max_leaf_nodes": most, "random_state": int(rng.integers(2**31))}
    n_trees = int(rng.integers(2, 5))
    if kind == "tree":
        options["max_leaf_nodes"] = int(rng.integers(2, 11))
        return DecisionTreeClassifier(**options).fit(X, y)
    if kind == "number":
        options["max_leaf_nodes"] = int(rng.integers(2, 11))
        return DecisionTreeRegressor(**options).fit(X, y)
    if kind == "numbers":
        return RandomForestRegressor(n_trees, **options).fit(X, y)
    if kind == "bagging":
        share = float(rng.choice([1.0, 0.7])) if X.shape[1] > 1 else 1.0
        seed = options.pop("random_state")
        tree = DecisionTreeClassifier(**options)
        return BaggingClassifier(tree, n_trees, max_features=share, random_state=seed).fit(X, y)
    if kind == "lightgbm":
        return _fit_lightgbm(X, y, n_trees, most, options["random_state"])
    if kind == "boosting":
        return GradientBoostingClassifier(n_estimators=n_trees, **options).fit(X, y)
    is_extra = rng.random() < 0.3 and not np.isnan(X).any()
    forest = ExtraTreesClassifier if is_extra else RandomForestClassifier
    return forest(n_trees, **options).fit(X, y)


def _fit_lightgbm(X, y, n_trees, most, seed):
    from lightgbm import LGBMClassifier

    options = {"min_child_samples": 1, "min_child_weight": 0.0, "min_data_in_bin": 1, "n_jobs": 1}
    model = LGBMClassifier(
        n_estimators=n_trees, num_leaves=most, random_state=seed, verbose=-1, **options
    )
    return model.fit(X, y)


def _draw_weights(rng, n_samples, prices):
    """Draw weights of samples, equal within batches, and whether they are plain."""
    is_shared = prices.get("shared_by") is not None or "qid" in prices
    kind = 0 if is_shared else rng.integers(8)
    if kind < 3:
        return None, True
    if kind == 3:
        weights, is_plain = rng.integers(0, 5, n_samples).astype(float), True
    elif kind == 4:
        weights, is_plain = rng.uniform(0, 2, n_samples).round(2), True
    elif kind == 5:
        weights, is_plain = rng.uniform(0, 2, n_samples).round(6), True
    elif kind == 6:
        weights, is_plain = rng.exponential(size=n_samples), False
    else:
        weights, is_plain = 10.0 ** rng.uniform(-6, 6, n_samples), False
    weights[0] = weights[0] or 1.0
    return weights, is_plain


def _draw_class_weight(rng, labels):
    if rng.random() < 0.4:
        return "balanced"
    some = [0.5, 1, 2, 5, 0.1, 3.25]
    return {label: float(rng.choice(some)) for label in labels if rng.random() < 0.8}


class Prices:
    """Prices of one style, from whole numbers to what no six decimals can say."""

    def __init__(self, rng):
        self.rng = rng
        styles = ("whole", "cents", "cents", "ones", "six", "twelve", "reals", "wild", "zeros")
        self.style = str(rng.choice(styles))

    @property
    def is_plain(self):
        return self.style in ("whole", "cents", "ones", "six", "zeros")

    def __call__(self):
        draw, style = self.rng, self.style
        if style == "ones":
            return 1.0
        if style == "whole":
            return float(draw.integers(0, 10))
        if style == "zeros":
            return float(draw.integers(0, 2)) * float(draw.integers(1, 4))
        if style == "wild":
            return float(10.0 ** draw.uniform(-9, 9))
        if style == "reals":
            return float(draw.exponential())
        digits = {"cents": 2, "six": 6, "twelve": 12}[style]
        return float(np.round(draw.uniform(0, 10), digits))


def draw_prices(rng, n_features, n_samples):
    """Draw the arguments of `tw.Costs`, and whether all prices have at most six decimals."""
    price = Prices(rng)
    prices = {"per_feature": [price() for _ in range(n_features)]}
    if rng.random() < 0.5:
        return prices, price.is_plain
    features = list(range(n_features))
    if rng.random() < 0.5:
        prices["groups"] = _draw_groups(rng, features)
        prices["group_fee"] = {name: price() for name in prices["groups"] if rng.random() < 0.8}
    if rng.random() < 0.3 and n_features > 1:
        prices["requires"] = _draw_requires(rng, features)
    if rng.random() < 0.2:
        prices["per_split"] = price()
    if rng.random() < 0.2:
        prices["per_node"] = price()
    if rng.random() < 0.2:
        named = [*features, *prices.get("groups", {})]
        prices["per_model"] = {name: price() for name in named if rng.random() < 0.6}
    if prices.get("per_node") is not None or "per_model" in prices:
        prices["predictions"] = float(rng.choice([1, 3, 10, 2.5, 1000]))
    if rng.random() < 0.15:
        prices["known"] = rng.random((n_samples, n_features)) < 0.3
    if rng.random() < 0.15:
        prices["shared_by"] = _draw_shared(rng, n_samples, [*features, *prices.get("groups", {})])
    elif rng.random() < 0.15:
        named = [*features, *prices.get("groups", {})]
        prices["per_query"] = {name: price() for name in named if rng.random() < 0.6}
        prices["qid"] = rng.integers(0, 4, n_samples)
    elif rng.random() < 0.15:
        prices["per_sample"] = np.array([[price() for _ in features] for _ in range(n_samples)])
        prices["per_feature"] = None
    return prices, price.is_plain


def _draw_groups(rng, features):
    """Draw groups that overlap, and contain groups that were drawn before them."""
    groups = {}
    for name in ("blood", "visit", "lab")[: rng.integers(1, 4)]:
        members = [*features, *groups]
        some = rng.permutation(len(members))[: rng.integers(1, 4)]
        groups[name] = [members[one] for one in some]
    return groups


def _draw_requires(rng, features):
    """Draw prerequisites without circles: a feature needs some of those before it."""
    order = rng.permutation(features).tolist()
    needs = {
        feature: [one for one in order[:place] if rng.random() < 0.4]
        for place, feature in enumerate(order)
    }
    return {feature: others for feature, others in needs.items() if others}


def _draw_shared(rng, n_samples, names):
    ids = rng.integers(0, 4, n_samples)
    if rng.random() < 0.5:
        return ids
    some = [name for name in names if rng.random() < 0.6] or names[:1]
    return {name: rng.permutation(ids) for name in some}
