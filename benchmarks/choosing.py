"""Choosing a point on few samples, or of a rare class: how the choice does on new ones.

Sets are split at random into samples to train, to choose and to tell. Each way to choose takes a
point of the same path, but for choosing out of bag, which trains on both of the former. Shown are
means over splits, on the samples that tell: the mean bill that is saved, the score (ROC AUC, of
numbers R2) and which part is kept of what the model has above a constant, the log loss, and how
often a constant was chosen. A cascade of the points is tuned, and its rule taken, on the same
samples. The default was settled on the sets of TRIAL; nothing was settled on those of UNSEEN. At
the end are forests whose class weights are balanced, where one class is rare.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from held_out import Rows
from measure import arguments, local_dataset
from sklearn import datasets
from sklearn.base import is_classifier
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import log_loss, roc_auc_score

import thriftwood as tw
from thriftwood.evaluation import choose_point, near_best

MOST_TO_TELL = 3000
SMALLEST = 1e-2  # so that no probability of 0 decides a mean of log losses
LEAST_SKILL = 0.02  # of less than that no share is kept


class Setting(NamedTuple):
    """A data set, samples to train and to choose, and the share of the rarer class."""

    name: str
    n_train: int
    n_choose: int
    share: float | None = None


TRIAL = (
    Setting("heart", 150, 75),
    Setting("nhanes", 350, 155, 0.14),
    Setting("pima_diabetes", 350, 155),
    Setting("pima_diabetes", 250, 100, 0.14),
    Setting("thyroid_ann", 500, 250),
    Setting("sonar", 100, 50),
)
UNSEEN = (
    Setting("breast_cancer", 200, 100),
    Setting("wine", 80, 40),
    Setting("digits", 600, 300),
    Setting("diabetes", 200, 100),
    Setting("drawn, 50 %", 300, 150),
    Setting("drawn, 20 %", 300, 150),
    Setting("drawn, 5 %", 600, 300),
    Setting("drawn, 5 %", 2000, 1500),
    Setting("thyroid, 3 classes", 1000, 500),
    Setting("covertype, 6 %", 500, 250),
    Setting("covertype, 6 %", 3000, 2000),
    Setting("covertype, 49 %", 500, 250),
    Setting("covertype, 7 classes", 1000, 500),
    Setting("miniboone_tiny", 300, 150),
    Setting("miniboone_tiny", 1000, 500),
)
# Boosted trees of many classes take long, and tell nothing else.
NOT_BOOSTED = ("digits", "covertype, 7 classes")


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    n_splits = 2 if options.quick else 10
    rare = [setting for setting in TRIAL if setting.share is not None]
    groups = {
        "that the default was settled on": (TRIAL, MODELS),
        "that the default was judged on": (UNSEEN, MODELS),
        "balanced forests": (rare, BALANCED),
    }
    if options.quick:
        groups = {title: (of[:1], kinds) for title, (of, kinds) in groups.items()}
        groups["that the default was judged on"] = UNSEEN[1:2], MODELS
    for title, (settings, kinds) in groups.items():
        found = [report(setting, options.data, n_splits, kinds) for setting in settings]
        means = [one for of_setting in found for one in of_setting]
        print(f"\nMeans over all {title}:")
        show({way: np.array([one[way] for one in means if way in one]) for way in means[0]})


def report(
    setting: Setting, folder: Any, n_splits: int, kinds: Iterable[str]
) -> list[dict[str, np.ndarray]]:
    """Print what every way to choose comes to, with several models; return the means of each."""
    found = rows_of(setting.name, folder)
    if found is None:
        return []
    means = []
    for kind in kinds:
        if kind == "boosting" and setting.name in NOT_BOOSTED:
            continue
        splits = [one_split(setting, kind, *found, seed) for seed in range(n_splits)]
        results = {way: np.array([one[way] for one in splits]) for way in splits[0]}
        print(f"\n{setting}, {kind}, {n_splits} splits")
        show(results)
        means.append({way: rows.mean(axis=0) for way, rows in results.items()})
    return means


def show(results: dict[str, np.ndarray]) -> None:
    print(f"  {'':28s}{'saved':>7s}{'score':>7s}{'kept':>7s}{'log loss':>10s}{'constant':>10s}")
    for way, rows in results.items():
        saved, score, kept, loss, constant = np.nanmean(rows, axis=0)  # numbers have no log loss
        print(f"  {way:28s}{saved:7.0%}{score:7.3f}{kept:7.1%}{loss:10.3f}{constant:10.1%}")


def rows_of(name: str, folder: Any) -> tuple[np.ndarray, np.ndarray, Any] | None:
    """Return samples, targets and prices; drawn ones where there are none."""
    name, _, part = name.partition(", ")
    bundled = {"heart": tw.datasets.load_heart, "nhanes": tw.datasets.load_nhanes}
    if name == "drawn":
        share = float(part.removesuffix(" %")) / 100
        X, y = datasets.make_classification(
            *(8000, 20),
            n_informative=6,
            n_redundant=4,
            weights=[1 - share],
            flip_y=0.05,
            class_sep=0.7,
            random_state=int(1000 * share),
        )
        return X, y, drawn_prices(X)
    if hasattr(datasets, f"load_{name}"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        return X, y, drawn_prices(X)
    data = bundled[name]() if name in bundled else local_dataset(NAMES.get(name, name), folder)
    if data is None:
        return None
    target = TARGETS.get((name, part), lambda y: y > 0)(data.y)
    has_prices = len(set(data.costs.tolist())) > 1
    return data.X, target.astype(int), data.costs if has_prices else drawn_prices(data.X)


NAMES = {"thyroid": "thyroid_ann"}
TARGETS: dict[tuple[str, str], Callable[[np.ndarray], np.ndarray]] = {
    ("nhanes", ""): lambda y: y == 2,
    ("thyroid_ann", ""): lambda y: y != 2,
    ("thyroid", "3 classes"): lambda y: y,
    ("covertype", "6 %"): lambda y: y == 2,
    ("covertype", "49 %"): lambda y: y == 1,
    ("covertype", "7 classes"): lambda y: y,
}


def drawn_prices(X: np.ndarray) -> np.ndarray:
    """Return prices from 1 to 100."""
    return np.round(np.exp(np.random.default_rng(0).uniform(0, np.log(100), X.shape[1])), 1)


MODELS: dict[str, Callable[[bool, int], Any]] = {
    "pure leaves": lambda is_class, seed: (
        RandomForestClassifier if is_class else RandomForestRegressor
    )(50, max_features=None, random_state=seed),
    "leaves of 5": lambda is_class, seed: (
        RandomForestClassifier if is_class else RandomForestRegressor
    )(50, min_samples_leaf=5, random_state=seed),
    "boosting": lambda is_class, seed: (
        HistGradientBoostingClassifier if is_class else HistGradientBoostingRegressor
    )(max_iter=30, max_leaf_nodes=8, min_samples_leaf=10, random_state=seed),
}


BALANCED = tuple(f"{kind}, balanced" for kind in MODELS if kind != "boosting")


def untrained(kind: str, y: np.ndarray, seed: int) -> Any:
    kind, _, is_balanced = kind.partition(", ")
    model = MODELS[kind](y.dtype.kind != "f", seed)
    return model.set_params(class_weight="balanced") if is_balanced else model


def one_split(
    setting: Setting, kind: str, X: np.ndarray, y: np.ndarray, costs: Any, seed: int
) -> dict[str, tuple[float, ...]]:
    """Return the figures on new samples of every way to choose."""
    train, choose, tell = drawn(setting, X, y, seed)
    model = untrained(kind, y, seed).fit(*train)
    path = tw.prune_path(model, *train, costs=costs, progress=False)
    constant = figures(path[len(path) - 1].model, tell, costs)
    points = {"the model": model}
    for way, choose_by in WAYS.items():
        if is_classifier(model) or way in OF_NUMBERS:
            points[way] = model_at(path, choose_by(path, choose))
    if is_classifier(model):
        points["a cascade"] = path.cascade(*choose, progress=False)
    if kind != "boosting":
        points["the default, out of bag"] = chosen_out_of_bag(kind, train, choose, costs, seed)
    points["best in hindsight"] = model_at(path, default("best_score")(path, tell))
    told = {way: figures(one, tell, costs) for way, one in points.items()}
    before = told["the model"]
    skill = max(before[1] - constant[1], LEAST_SKILL)
    return {
        way: (
            1 - bill / before[0],
            score,
            (score - constant[1]) / skill,
            loss,
            float(score == constant[1]),
        )
        for way, (bill, score, loss) in told.items()
    }


def model_at(path: tw.PruningPath, point: int | None) -> Any:
    """Return the model of a point; None is the model before pruning."""
    return path.model if point is None else path[point].model


def chosen_out_of_bag(kind: str, train: Rows, choose: Rows, costs: Any, seed: int) -> Any:
    """Train on both parts, and let trees judge what they were not grown on."""
    X, y = (np.concatenate(parts) for parts in zip(train, choose, strict=True))
    model = untrained(kind, y, seed).fit(X, y)
    path = tw.prune_path(model, X, y, costs=costs, samples="in_bag", progress=False)
    return path.choose(X, y, samples="out_of_bag").model


def drawn(setting: Setting, X: np.ndarray, y: np.ndarray, seed: int) -> list[Rows]:
    """Draw the three parts, with a class made as rare as wanted, and classes that all know."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))
    if setting.share is not None:
        ill, well = rows[y[rows] == 1], rows[y[rows] == 0]
        n_ill = int(len(well) * setting.share / (1 - setting.share))
        rows = rng.permutation(np.concatenate([well, ill[:n_ill]]))
    ends = np.cumsum([setting.n_train, setting.n_choose, MOST_TO_TELL])
    parts = np.split(rows[: ends[-1]], ends[:-1])
    if y.dtype.kind != "f":
        parts = [part[np.isin(y[part], y[parts[0]])] for part in parts]
    return [Rows(X[part], y[part]) for part in parts]


def figures(model: Any, rows: Rows, costs: Any) -> tuple[float, float, float]:
    """Return the mean bill, the area under the ROC curve or R2, and the log loss."""
    bill = tw.feature_bill(model, rows.X, costs).mean
    if not is_classifier(model):
        return bill, model.score(*rows), np.nan
    probability = model.predict_proba(rows.X)
    held = np.clip(probability, SMALLEST, 1 - SMALLEST)
    held /= held.sum(axis=1, keepdims=True)
    if len(model.classes_) == 2:
        area = roc_auc_score(rows.y, probability[:, 1])
    else:
        area = roc_auc_score(rows.y, probability, multi_class="ovr", labels=model.classes_)
    return bill, float(area), float(log_loss(rows.y, held, labels=model.classes_))


def level_of_error(path: tw.PruningPath, rows: Rows) -> int:
    """The cheapest point within one standard error of the lowest error, as CART has it."""
    measured = path.evaluate(*rows, quantiles=())
    best = measured.error.argmin()
    near = measured.error <= measured.error[best] + measured.standard_error[best] + 1e-12
    return int(np.flatnonzero(near)[-1])


def area_alone(path: tw.PruningPath, rows: Rows) -> int:
    """The cheapest point whose area under the ROC curve is not clearly below the best."""
    measured = path.evaluate(*rows, quantiles=())
    score = np.append(measured.original.score, measured.score)
    near = np.flatnonzero(near_best(score, measured.deviations)[1:])
    return int(near[-1]) if len(near) else int(measured.score.argmax())


def default(
    rule: str = "one_standard_error", scoring: str | None = None
) -> Callable[[tw.PruningPath, Rows], int | None]:
    def choose(path: tw.PruningPath, rows: Rows) -> int | None:
        measured = path.evaluate(*rows, scoring=scoring, quantiles=())
        return choose_point(measured, rule).point

    return choose


WAYS = {
    "error, one s.e. of its level": level_of_error,
    "accuracy, paired": default(scoring="accuracy"),
    "log loss, paired": default(scoring="neg_log_loss"),
    "Brier score, paired": default(scoring="neg_brier_score"),
    "ROC AUC alone, paired": area_alone,
    "the default": default(),
    "best score": default("best_score"),
}
OF_NUMBERS = ("error, one s.e. of its level", "the default", "best score")


if __name__ == "__main__":
    main()
