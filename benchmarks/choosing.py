"""Choosing a point on few samples, or of a rare class: how the choice does on new ones.

Small sets are split at random into samples to train, to choose and to tell. Each way to choose
takes a point of the same path; shown are means over splits, on the samples that tell.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from held_out import Rows, Split, draw_split
from measure import arguments, local_dataset
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss, roc_auc_score

import thriftwood as tw
from thriftwood.evaluation import choose_point

N_TREES = 50
MOST_TO_TELL = 3000
SMALLEST = 1e-2  # so that no probability of 0 decides a mean of log losses


class Setting(NamedTuple):
    """A data set, samples to train and to choose, and the share of the rarer class."""

    name: str
    n_train: int
    n_choose: int
    share: float | None = None
    class_weight: str | None = None


SETTINGS = (
    Setting("heart", 150, 75),
    Setting("nhanes", 350, 155, 0.14),
    Setting("nhanes", 350, 155, 0.14, "balanced"),
    Setting("pima_diabetes", 350, 155),
    Setting("pima_diabetes", 250, 100, 0.14),
    Setting("thyroid_ann", 500, 250),
    Setting("sonar", 100, 50),
)


def main() -> None:
    options = arguments(__doc__.splitlines()[0])
    n_splits = 2 if options.quick else 20
    for setting in SETTINGS[:2] if options.quick else SETTINGS:
        found = rows_of(setting.name, options.data)
        if found is not None:
            report(setting, *found, n_splits)


def rows_of(name: str, folder) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return samples, labels of 0 and 1, and prices."""
    loaders = {"heart": tw.datasets.load_heart, "nhanes": tw.datasets.load_nhanes}
    data = loaders[name]() if name in loaders else local_dataset(name, folder)
    if data is None:
        return None
    ill = {"nhanes": data.y == 2, "thyroid_ann": data.y != 2}.get(name, data.y > 0)
    return data.X, ill.astype(int), data.costs


def report(setting: Setting, X: np.ndarray, y: np.ndarray, costs: np.ndarray, n: int) -> None:
    results = [one_split(setting, X, y, costs, seed) for seed in range(n)]
    rare = f", {setting.share:.0%} of them ill" if setting.share else ""
    weighed = f", class_weight={setting.class_weight!r}" if setting.class_weight else ""
    print(
        f"\n{setting.name}: {setting.n_train} samples to train, {setting.n_choose} to "
        f"choose{rare}; {N_TREES} trees{weighed}; {n} splits"
    )
    print(f"  {'':28s}{'bill':>8s}{'AUC':>8s}{'lowest':>8s}{'log loss':>10s}{'constant':>10s}")
    for way in results[0]:
        bill, area, loss = np.array([one[way] for one in results]).T
        constant = int((area == 0.5).sum())
        print(
            f"  {way:28s}{bill.mean():8.1f}{area.mean():8.3f}{area.min():8.3f}{loss.mean():10.3f}"
            f"{constant:7d}/{n}"
        )


def one_split(
    setting: Setting, X: np.ndarray, y: np.ndarray, costs: np.ndarray, seed: int
) -> dict[str, tuple[float, float, float]]:
    """Return bill, area and log loss on new samples, of every way to choose."""
    train, choose, tell = drawn(setting, X, y, seed)
    forest = RandomForestClassifier(
        N_TREES, max_features=None, class_weight=setting.class_weight, random_state=seed
    )
    path = tw.prune_path(forest.fit(*train), *train, costs=costs, progress=False)
    told = {"the model": figures(forest, tell, costs)}
    for way, rule in WAYS.items():
        told[way] = figures(path[rule(path, choose)].model, tell, costs)
    in_hindsight = paired("roc_auc", "best_score")(path, tell)
    told["best AUC in hindsight"] = figures(path[in_hindsight].model, tell, costs)
    return told


def drawn(setting: Setting, X: np.ndarray, y: np.ndarray, seed: int) -> Split:
    """Draw the three parts, with the ill made as rare as wanted."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))
    if setting.share is not None:
        ill, well = rows[y[rows] == 1], rows[y[rows] == 0]
        n_ill = int(len(well) * setting.share / (1 - setting.share))
        rows = np.concatenate([well, ill[:n_ill]])
    n_tell = min(MOST_TO_TELL, len(rows) - setting.n_train - setting.n_choose)
    return draw_split(X[rows], y[rows], (setting.n_train, setting.n_choose, n_tell), seed)


def figures(model, rows: Rows, costs: np.ndarray) -> tuple[float, float, float]:
    probability = model.predict_proba(rows.X)[:, 1]
    return (
        tw.feature_bill(model, rows.X, costs).mean,
        float(roc_auc_score(rows.y, probability)),
        float(log_loss(rows.y, np.clip(probability, SMALLEST, 1 - SMALLEST))),
    )


def level_of_error(path: tw.PruningPath, rows: Rows) -> int:
    """The cheapest point within one standard error of the lowest error, as CART has it."""
    measured = path.evaluate(*rows, quantiles=())
    best = measured.error.argmin()
    near = measured.error <= measured.error[best] + measured.standard_error[best] + 1e-12
    return int(np.flatnonzero(near)[-1])


def paired(scoring: str, rule: str = "one_standard_error") -> Callable[[tw.PruningPath, Rows], int]:
    def choose(path: tw.PruningPath, rows: Rows) -> int:
        measured = path.evaluate(*rows, scoring=scoring, quantiles=())
        return choose_point(measured, rule).point

    return choose


WAYS = {
    "error, one s.e. of its level": level_of_error,
    "accuracy, paired": paired("accuracy"),
    "log loss, paired": paired("neg_log_loss"),
    "Brier score, paired": paired("neg_brier_score"),
    "AUC, paired: the default": paired("roc_auc"),
    "best AUC": paired("roc_auc", "best_score"),
}


if __name__ == "__main__":
    main()
