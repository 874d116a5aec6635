"""Models of a stage: boosters and forests, or a learner of the user's."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.pipeline import Pipeline
from threadpoolctl import ThreadpoolController

from thriftwood.adapters import fit_ranker, read_forest
from thriftwood.errors import UnsupportedModelError
from thriftwood.forest import Forest, predict_member
from thriftwood.support.arrays import FloatArray, IndexArray
from thriftwood.thrifty.data import LabelledData

# Libraries are looked up here, once: threads that do so at the same time may lock each other out.
OPENMP = ThreadpoolController()

# Few samples are learnt better by small trees: a booster has a leaf for so many of them.
SAMPLES_PER_LEAF = 150
FEWEST_LEAVES, MOST_LEAVES = 4, 63
# How far each tree of a booster goes; from so many samples on, larger steps, and fewer of them.
RATE, MANY_SAMPLES, LARGER = 0.1, 8_000, 1.5
# With few samples leaves of a forest hold several; with many, too, since memory grows with leaves.
FEW_SAMPLES, LEAF_OF_FEW = 2_000, 3
SAMPLES_PER_FOREST_LEAF = 10_000
# Documents of a query are alike: so many of them tell as much as a sample.
ALIKE, LEAF_OF_DOCUMENTS = 10, 10
# With few features trees repeat samples by heart unless their leaves are large.
LEAF_OF_ONE_FEATURE = 20


@dataclass(frozen=True)
class Effort:
    """Work to spend on fitting.

    Attributes
    ----------
    n_stages : int
        At most.
    n_trees : int
        Of the forest of a stage; 0 is no forest.
    rounds : tuple of int
        Of the booster of a stage, in usual steps; the best number is taken.
    core : int
        So many features are put in order one by one.
    """

    n_stages: int = 10
    n_trees: int = 40
    rounds: tuple[int, ...] = (25, 50, 100, 200)
    core: int = 9


QUICK = Effort(n_stages=6, n_trees=0, rounds=(25, 50, 100), core=0)


@dataclass(frozen=True, eq=False)
class ColumnModel:
    """A fitted model of some columns, for those whose trees cannot be read."""

    model: Any
    columns: tuple[int, ...]
    n_features: int
    n_classes: int
    scale: float = 1.0

    def predict(self, X: FloatArray) -> FloatArray:
        return self.scale * _outputs(self.model, X[:, list(self.columns)], self.n_classes)

    def scaled(self, factor: float) -> ColumnModel:
        return replace(self, scale=self.scale * factor)


class TrainingJob(NamedTuple):
    """Training of one model; of boosters, `rounds` are how many trees they have."""

    n_classes: int
    n_samples: int
    n_columns: int
    rounds: int
    seed: int
    is_ranking: bool = False

    @property
    def least_leaf(self) -> int:
        """So many samples a leaf of a booster has at least."""
        return max(2, min(20, self.n_samples // 50))


@dataclass(frozen=True)
class Learner:
    """Way to train one member of a stage.

    Attributes
    ----------
    make : callable
        Returns an untrained model for a `TrainingJob`.
    rounds : tuple of int
        Of a booster; cross-fitting takes the best. Else a single 0.
    """

    make: Callable[[TrainingJob], Any]
    rounds: tuple[int, ...] = (0,)

    def train(self, data: LabelledData, features: list[int], rounds: int, seed: int) -> Any:
        """Return a model of some columns."""
        is_ranking = data.query is not None
        job = TrainingJob(data.n_classes, len(data.y), len(features), rounds, seed, is_ranking)
        model, rows = self.make(job), data.columns(features)
        with OPENMP.limit(limits=1, user_api="openmp"):  # stages are trained side by side
            if data.query is not None:
                weights = data.weights if data.has_weights else None
                return fit_ranker(model, rows, data.y, data.query, weights)
            if not data.has_weights:  # not every learner of a user's takes them
                return model.fit(rows, data.y)
            return model.fit(rows, data.y, **{str(weight_parameter(model)): data.weights})

    def cross_fit(
        self, data: LabelledData, features: list[int], X: FloatArray, seed: int
    ) -> list[FloatArray]:
        """Train on some samples; return what is predicted for others, for each of `rounds`."""
        if data.is_constant or not features:
            return [np.tile(data.constant(), (len(X), 1)) for _ in self.rounds]
        model = self.train(data, features, self.rounds[-1], seed)
        found = self._outputs(model, np.ascontiguousarray(X[:, features]), data.n_classes)
        if data.query is None:
            return found
        seen = self._outputs(model, data.columns(features), 0)
        return [
            output / spread_within(own[:, 0], data.query)
            for output, own in zip(found, seen, strict=True)
        ]

    def member(self, data: LabelledData, features: list[int], rounds: int, seed: int) -> Any:
        """Train on all samples; return a member of the stage."""
        if data.is_constant or not features:
            return constant_forest(data)
        model = as_member(self.train(data, features, rounds, seed), data, features)
        if data.query is None:
            return model
        spread = spread_within(predict_member(model, data.X)[:, 0], data.query)
        return model.scaled(1.0 / spread)

    def _outputs(self, model: Any, X: FloatArray, n_classes: int) -> list[FloatArray]:
        if len(self.rounds) == 1:
            return [_outputs(model, X, n_classes)]
        if not hasattr(model, "staged_predict"):  # LightGBM
            return [_outputs(model, X, n_classes, num_iteration=rounds) for rounds in self.rounds]
        staged = model.staged_predict_proba(X) if n_classes else model.staged_predict(X)
        return [
            _all_classes(model, output, n_classes)
            for rounds, output in enumerate(staged, 1)
            if rounds in self.rounds
        ]


def lightgbm_booster(leaves: int, rate: float = RATE) -> Callable[[TrainingJob], Any]:
    """Return what makes boosters of LightGBM: the same model whatever the number of threads."""
    import lightgbm

    def make(job: TrainingJob) -> Any:
        # Not `lightgbm.Booster` by itself: several threads of it at once ended the process.
        kind = lightgbm.LGBMClassifier if job.n_classes else lightgbm.LGBMRegressor
        return (lightgbm.LGBMRanker if job.is_ranking else kind)(
            n_estimators=job.rounds,
            learning_rate=rate,
            num_leaves=leaves,
            min_child_samples=job.least_leaf,
            random_state=job.seed,
            n_jobs=1,
            verbose=-1,
            deterministic=True,
            force_col_wise=True,
        )

    return make


def histogram_booster(leaves: int, rate: float = RATE) -> Callable[[TrainingJob], Any]:
    """Return what makes boosters of scikit-learn, for where LightGBM is not installed."""

    def make(job: TrainingJob) -> Any:
        is_class = job.n_classes > 0
        kind = HistGradientBoostingClassifier if is_class else HistGradientBoostingRegressor
        return kind(
            max_iter=job.rounds,
            learning_rate=rate,
            max_leaf_nodes=leaves,
            min_samples_leaf=job.least_leaf,
            early_stopping=False,
            random_state=job.seed,
        )

    return make


def extra_trees(n_trees: int) -> Callable[[TrainingJob], Any]:
    """Return what makes extremely randomised trees (Geurts, Ernst and Wehenkel, 2006)."""

    def make(job: TrainingJob) -> Any:
        kind = ExtraTreesClassifier if job.n_classes else ExtraTreesRegressor
        by_heart = LEAF_OF_ONE_FEATURE // job.n_columns**2
        by_number = job.n_samples // SAMPLES_PER_FOREST_LEAF
        least = LEAF_OF_DOCUMENTS if job.is_ranking else 1
        leaf = max(by_heart, LEAF_OF_FEW if job.n_samples < FEW_SAMPLES else by_number, least)
        return kind(n_trees, max_features=0.5, min_samples_leaf=leaf, random_state=job.seed)

    return make


def own_learner(estimator: Any) -> Learner:
    """Return a learner that clones an estimator of the user's."""

    def make(job: TrainingJob) -> Any:
        model = clone(estimator)
        is_drawn = "random_state" in model.get_params()
        return model.set_params(**({"random_state": job.seed} if is_drawn else {}))

    return Learner(make)


def weight_parameter(model: Any) -> str | None:
    """Return under which name a model's `fit` takes weights of samples; None where it does not.

    Pipelines take them for their last step.
    """
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        own = weight_parameter(last)
        return None if own is None else f"{name}__{own}"
    parameters = signature(model.fit).parameters.values()
    takes = any(one.name == "sample_weight" or one.kind is one.VAR_KEYWORD for one in parameters)
    return "sample_weight" if takes else None


def auto_learners(effort: Effort, data: LabelledData) -> list[Learner]:
    """Return a booster and a forest, which together predict better than either."""
    booster = best_booster(effort.rounds, data)
    return [booster, Learner(extra_trees(effort.n_trees))] if effort.n_trees else [booster]


def best_booster(
    rounds: tuple[int, ...], data: LabelledData, most_leaves: int = MOST_LEAVES
) -> Learner:
    """Return LightGBM where it is installed, and scikit-learn's booster elsewhere."""
    n_samples = len(data.y) if data.query is None else len(data.y) // ALIKE
    leaves = max(FEWEST_LEAVES, min(most_leaves, n_samples // SAMPLES_PER_LEAF))
    larger = LARGER if n_samples >= MANY_SAMPLES else 1.0
    has_lightgbm = importlib.util.find_spec("lightgbm") is not None
    make = lightgbm_booster if has_lightgbm else histogram_booster
    return Learner(make(leaves, larger * RATE), tuple(round(own / larger) for own in rounds))


def as_member(model: Any, data: LabelledData, features: list[int]) -> Any:
    """Return the trees of a model that was trained on some columns, as trees of all columns."""
    n_features = data.X.shape[1]
    try:
        forest = read_forest(model)
    except UnsupportedModelError:
        return ColumnModel(model, tuple(features), n_features, data.n_classes)
    column = np.append(features, -1)[forest.feature]
    classes = np.arange(data.n_classes) if data.n_classes else None
    return replace(
        forest,
        feature=column,
        n_features=n_features,
        classes=classes,
        feature_names=None,
        gains=None,
    )


def constant_forest(data: LabelledData) -> Forest:
    """Return a forest that predicts the same for all samples."""
    return Forest(
        tree_start=np.array([0, 1]),
        feature=np.array([-1], dtype=np.int32),
        threshold=np.zeros(1),
        left=np.array([-1], dtype=np.int32),
        right=np.array([-1], dtype=np.int32),
        missing_left=np.zeros(1, dtype=np.bool_),
        values=data.constant()[None, :],
        n_features=data.X.shape[1],
        classes=np.arange(data.n_classes) if data.n_classes else None,
        input_dtype=np.dtype(np.float64),
    ).check()


def spread_within(values: FloatArray, query: IndexArray) -> float:
    """Return the standard deviation of values within queries, or 1 where there is none.

    Members of a stage are divided by it: rankers know no unit.
    """
    number = np.unique(query, return_inverse=True)[1]
    mean = (np.bincount(number, values) / np.bincount(number))[number]
    return float(np.sqrt(np.mean((values - mean) ** 2))) or 1.0


def feature_gains(model: Any, n_columns: int) -> FloatArray:
    """Return by how much each column lowered the loss of a booster that was just trained."""
    forest = read_forest(model)
    split = np.flatnonzero(forest.is_split)
    gains = np.zeros(n_columns)
    if forest.gains is not None:
        np.add.at(gains, forest.feature[split], forest.gains[split])
    return gains


def _outputs(model: Any, X: FloatArray, n_classes: int, **options: Any) -> FloatArray:
    method = model.predict_proba if n_classes else model.predict
    return _all_classes(model, method(X, **options), n_classes)


def _all_classes(model: Any, found: NDArray[Any], n_classes: int) -> FloatArray:
    """Return a column for each class, those included that a fold did not see."""
    if not n_classes:
        return np.asarray(found, dtype=np.float64).reshape(-1, 1)
    outputs = np.zeros((len(found), n_classes))
    outputs[:, np.asarray(model.classes_, dtype=np.int64)] = found
    return outputs
