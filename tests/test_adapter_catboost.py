"""CatBoost: a forest says what the model says, and a written model is a true one."""

import pickle
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import catboost as cb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from adapter_laws import (
    awkward_rows,
    check_predictions,
    check_reading,
    check_same,
    check_writing,
    pruned_pair,
    rows_of,
)
from models import NAMES, Fitted, random_kept
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost_models import latent, positive, rows, three, two

import thriftwood as tw
from thriftwood.adapters import read_forest, write_model
from thriftwood.errors import ForestError, InputError, UnfittedModelError, UnsupportedModelError
from thriftwood.forest import Forest, collapse, leaves

FEW: dict[str, Any] = {
    "iterations": 4,
    "depth": 3,
    "verbose": 0,
    "thread_count": 1,
    "allow_writing_files": False,
    "random_seed": 0,
}
UNEVEN = {"grow_policy": "Depthwise", **FEW}


def words(X: np.ndarray) -> np.ndarray:
    return np.array(["healthy", "ill", "unsure"])[three(X)]


def _on(X: Any, model: Any, target: Callable[[Any], Any], **fit: Any) -> Fitted:
    y = target(np.asarray(X))
    return Fitted(model.fit(X, y, **fit), X, y)


def _classifier(target: Callable[[Any], Any], **params: Any) -> Fitted:
    return _on(rows(), cb.CatBoostClassifier(**{**UNEVEN, **params}), target)


def _regressor(loss: str, target: Callable[[Any], Any] = latent, **params: Any) -> Fitted:
    return _on(rows(), cb.CatBoostRegressor(loss_function=loss, **{**UNEVEN, **params}), target)


def _stopped_early() -> Fitted:
    X, other = rows(), rows(120, seed=5)
    model = cb.CatBoostClassifier(**{**UNEVEN, "iterations": 30, "learning_rate": 0.9})
    wrong = np.random.default_rng(0).permutation(two(other))
    model.fit(X, two(X), eval_set=(other, wrong), early_stopping_rounds=3)
    assert 0 < model.tree_count_ < 27
    return Fitted(model, X, two(X))


def _scaled() -> Fitted:
    case = _regressor("RMSE")
    case.model.set_scale_and_bias(2.5, -1.25)
    return case


def full_rows() -> np.ndarray:
    return np.nan_to_num(rows(), nan=0.3)


def words_frame() -> pd.DataFrame:
    return pd.DataFrame(rows(), columns=NAMES)


_MAKERS: dict[str, Callable[[], Fitted]] = {
    "depth_wise": lambda: _classifier(two),
    "leaf_wise": lambda: _classifier(two, grow_policy="Lossguide", max_leaves=7),
    "symmetric": lambda: _classifier(two, grow_policy="SymmetricTree"),
    "symmetric_of_three": lambda: _classifier(words, grow_policy="SymmetricTree"),
    "three_classes": lambda: _classifier(words),
    "one_against_rest": lambda: _classifier(three, loss_function="MultiClassOneVsAll"),
    "cross_entropy": lambda: _classifier(two, loss_function="CrossEntropy"),
    "missing_right": lambda: _classifier(three, nan_mode="Max"),
    "never_missing": lambda: _on(full_rows(), cb.CatBoostClassifier(**UNEVEN), two),
    "regressor": lambda: _regressor("RMSE"),
    "symmetric_regressor": lambda: _regressor("RMSE", grow_policy="SymmetricTree"),
    "absolute": lambda: _regressor("MAE"),
    "quantile": lambda: _regressor("Quantile:alpha=0.7"),
    "poisson": lambda: _regressor("Poisson", positive),
    "tweedie": lambda: _regressor("Tweedie:variance_power=1.4", positive),
    "plain_class": lambda: _on(rows(), cb.CatBoost({**UNEVEN, "loss_function": "Logloss"}), two),
    "ranker": lambda: _on(
        rows(),
        cb.CatBoostRanker(**{**UNEVEN, "loss_function": "QueryRMSE"}),
        two,
        group_id=np.repeat(np.arange(10), 26),
    ),
    "named": lambda: _on(words_frame(), cb.CatBoostClassifier(**UNEVEN), two),
    "stopped_early": _stopped_early,
    "scaled": _scaled,
}
KINDS = tuple(_MAKERS)
SOME = ("depth_wise", "symmetric_of_three", "scaled", "poisson")


@cache
def fitted(kind: str) -> Fitted:
    return _MAKERS[kind]()


def score(model: Any, X: Any) -> np.ndarray:
    if isinstance(model, cb.CatBoostRanker):
        return model.predict(X)
    return model.predict(X, prediction_type="RawFormulaVal")


def leaf(model: Any, X: Any) -> np.ndarray:
    return model.calc_leaf_indexes(X)


@cache
def hard_rows(kind: str) -> Any:
    case = fitted(kind)
    table = awkward_rows(read_forest(case.model), np.asarray(case.X), 400)
    return pd.DataFrame(table, columns=NAMES) if kind == "named" else table


def written(kind: str, share: float = 0.6) -> tuple[Any, Forest]:
    return pruned_pair(fitted(kind).model, share)


# --- reading


@pytest.mark.parametrize("kind", KINDS)
def test_a_forest_gives_every_row_the_score_of_the_model_from_the_same_leaves(kind: str) -> None:
    check_reading(fitted(kind).model, hard_rows(kind), score, leaf)


@pytest.mark.parametrize("kind", KINDS)
def test_a_forest_predicts_what_the_model_predicts(kind: str) -> None:
    def says(model: Any, X: Any) -> np.ndarray:
        if read_forest(model).is_classifier:
            return model.predict(X, prediction_type="Probability")
        return model.predict(X)

    check_predictions(fitted(kind).model, hard_rows(kind), says)


@pytest.mark.parametrize("kind", ["depth_wise", "symmetric_of_three"])
def test_reading_twice_gives_the_same_forest(kind: str) -> None:
    model = fitted(kind).model
    assert read_forest(model).has_same_trees(read_forest(model))


def test_classes_and_names_are_those_of_the_training_data() -> None:
    assert read_forest(fitted("three_classes").model).classes.tolist() == [
        "healthy",
        "ill",
        "unsure",
    ]
    assert read_forest(fitted("named").model).feature_names == tuple(NAMES)
    assert read_forest(fitted("regressor").model).feature_names is None
    assert read_forest(fitted("stopped_early").model).n_trees == (
        fitted("stopped_early").model.tree_count_
    )


def test_a_symmetric_tree_asks_one_question_per_level() -> None:
    forest = read_forest(fitted("symmetric").model)
    assert forest.n_splits == 7 * forest.n_trees
    for tree in range(forest.n_trees):
        nodes = np.arange(*forest.tree_start[tree : tree + 2])
        for depth in range(3):
            level = nodes[forest.depth[nodes] == depth]
            questions = np.stack([forest.feature[level], forest.threshold[level]])
            assert len(np.unique(questions, axis=1).T) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_an_inner_node_says_the_mean_of_what_the_training_rows_get_below_it(kind: str) -> None:
    model, X, _ = fitted(kind)
    forest = read_forest(model)
    reached = leaves(forest, rows_of(forest, X))
    for node in np.flatnonzero(forest.is_split):
        tree = forest.tree_of(np.array([node]))[0]
        below = under(forest, node)
        inside = reached[np.isin(reached[:, tree], below), tree]
        if len(inside):
            expected = forest.values[inside].mean(axis=0)
            np.testing.assert_allclose(forest.values[node], expected, rtol=1e-9, atol=1e-12)


def under(forest: Forest, node: int) -> list[int]:
    if forest.left[node] < 0:
        return [node]
    return under(forest, forest.left[node]) + under(forest, forest.right[node])


@pytest.mark.parametrize("kind", ["depth_wise", "symmetric_of_three", "scaled"])
def test_gains_tell_how_much_nearer_the_leaves_are(kind: str) -> None:
    model, X, _ = fitted(kind)
    forest = read_forest(model)
    reached = leaves(forest, rows_of(forest, X))
    for tree in range(forest.n_trees):
        nodes = slice(*forest.tree_start[tree : tree + 2])
        own = forest.values[reached[:, tree]]
        spread = ((own - forest.values[nodes.start]) ** 2).sum()
        assert forest.gains[nodes].sum() == pytest.approx(spread)
    assert (forest.gains >= 0).all()
    assert (forest.gains[~forest.is_split] == 0).all()


# --- writing


@pytest.mark.parametrize(
    ("kind", "share"),
    [(kind, 0.6) for kind in KINDS] + [(kind, s) for kind in SOME for s in (0, 1)],
)
def test_reading_what_was_written_gives_the_collapsed_forest(kind: str, share: float) -> None:
    pruned = check_writing(fitted(kind).model, hard_rows(kind), score, share=share)
    check_reading(pruned, hard_rows(kind), score, leaf)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_can_be_written_with_new_values(kind: str) -> None:
    """Leaves say what they are told to; CatBoost has no place for what inner nodes would say."""
    model = fitted(kind).model
    forest = read_forest(model)
    kept = random_kept(forest, 3, 0.6)
    values = np.random.default_rng(0).normal(size=forest.values.shape)
    pruned = write_model(model, kept, values)
    found = check_reading(pruned, hard_rows(kind), score, leaf)
    _, origin = collapse(forest, kept)
    at_leaves = ~found.is_split
    np.testing.assert_allclose(found.values[at_leaves], values[origin][at_leaves], rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_written_model_survives_pickling_and_saving(kind: str, tmp_path: Path) -> None:
    pruned, forest = written(kind)
    X = hard_rows(kind)
    again = pickle.loads(pickle.dumps(pruned))
    check_same(read_forest(again), forest)
    np.testing.assert_array_equal(score(again, X), score(pruned, X))
    for form in ("cbm", "json"):
        pruned.save_model(str(tmp_path / "pruned"), format=form)
        loaded = type(pruned)().load_model(str(tmp_path / "pruned"), format=form)
        check_same(read_forest(loaded), forest)
        np.testing.assert_allclose(score(loaded, X), score(pruned, X), rtol=1e-12, atol=1e-12)


# CatBoost itself has no contributions for a model whose scale is not 1.
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "scaled"])
def test_contributions_of_features_add_up_to_the_score(kind: str) -> None:
    pruned, _ = written(kind)
    X = hard_rows(kind)
    shares = pruned.get_feature_importance(cb.Pool(X), type="ShapValues")
    np.testing.assert_allclose(shares.sum(axis=-1), score(pruned, X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_written_model_is_like_the_model(kind: str) -> None:
    model = fitted(kind).model
    pruned, forest = written(kind)
    assert pruned.get_params() == model.get_params()
    assert np.asarray(pruned.classes_).tolist() == np.asarray(model.classes_).tolist()
    assert pruned.feature_names_ == model.feature_names_
    assert pruned.tree_count_ == model.tree_count_ == forest.n_trees
    assert pruned.get_scale_and_bias() == model.get_scale_and_bias()


@pytest.mark.parametrize("kind", ["depth_wise", "symmetric", "regressor"])
def test_importances_are_those_of_the_splits_that_are_left(kind: str) -> None:
    pruned, forest = written(kind, share=0.4)
    used = np.unique(forest.feature[forest.is_split])
    assert (np.delete(pruned.feature_importances_, used) == 0).all()
    assert pruned.feature_importances_.sum() == pytest.approx(100)


def test_a_written_model_can_be_trained_again() -> None:
    model, X, y = fitted("depth_wise")
    pruned, _ = written("depth_wise")
    pruned.fit(X, y)
    assert read_forest(pruned).has_same_trees(read_forest(model))


def test_the_bill_counts_the_features_on_the_way() -> None:
    model, X, _ = fitted("symmetric")
    forest = read_forest(model)
    nothing = write_model(model, np.zeros(forest.n_nodes, dtype=bool))
    assert tw.feature_bill(nothing, X).mean == 0
    pruned, _ = written("symmetric")
    assert (tw.feature_bill(pruned, X).per_sample <= tw.feature_bill(model, X).per_sample).all()


# --- categories, one against all others


def patients(n: int = 300, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "pain": rng.choice(["none", "mild", "strong", "naïve"], n),
            "age": rng.normal(50, 10, n).round(1),
            "code": rng.choice([-5, 3, 17, 40], n),
        }
    )
    y = (X["age"] > 50) ^ (X["pain"] == "mild") ^ (X["code"] == 17)
    return X, y.to_numpy().astype(int) + (X["pain"] == "naïve").to_numpy()


ONE_HOT = {
    "symmetric": {"depth": 4},
    "uneven": {"depth": 4, "grow_policy": "Depthwise"},
    "two classes": {"depth": 3, "grow_policy": "Lossguide"},
}


@pytest.fixture(scope="module", params=ONE_HOT)
def with_categories(request: pytest.FixtureRequest) -> Any:
    X, y = patients()
    model = cb.CatBoostClassifier(
        iterations=8,
        one_hot_max_size=9,
        cat_features=["pain", "code"],
        verbose=False,
        allow_writing_files=False,
        **ONE_HOT[request.param],
    )
    return model.fit(X, y if request.param != "two classes" else y % 2)


def test_categories_are_told_apart_as_catboost_does(with_categories: Any) -> None:
    X, _ = patients(seed=1)
    X.loc[3, "pain"], X.loc[4, "code"] = "unheard-of", 99
    ours = tw.ForestModel(read_forest(with_categories))
    for table in (X, X.astype({"pain": "category"}), X.to_numpy(), pl.from_pandas(X)):
        np.testing.assert_allclose(
            ours.predict_proba(table), with_categories.predict_proba(X), rtol=1e-6
        )
    gap = X.assign(pain=X["pain"].mask(X["pain"] == "none", None))
    assert np.isfinite(ours.predict_proba(gap)).all()
    with pytest.raises(InputError, match="CatBoost takes no such category"):
        ours.predict_proba(X.assign(code=1.5))


def test_points_of_models_with_categories_are_catboosts_own(with_categories: Any) -> None:
    X, y = patients()
    y = y % len(with_categories.classes_)
    prices = {"pain": 5.0, "age": 1.0, "code": 2.0}
    path = tw.prune_path(with_categories, X, y, costs=prices)
    for index in sorted({0, len(path) // 3, len(path) // 2, len(path) - 1}):
        pruned = path[index]
        right = np.mean(np.ravel(pruned.model.predict(X)) == y)
        assert 1 - path.evaluate(X, y).error[index] == pytest.approx(right)
        assert tw.feature_bill(pruned, X, prices).mean == pytest.approx(pruned.cost)
        for name in set(X) - set(pruned.required_features):
            moved = X.assign(**{name: X[name].to_numpy()[::-1]})
            np.testing.assert_array_equal(
                pruned.model.predict_proba(moved), pruned.model.predict_proba(X)
            )
    pruned = path[len(path) // 3]
    lazy = tw.LazyPredictor(pruned, acquire=lambda i, name: X.at[i, name], costs=prices)
    answer = lazy.predict(range(40))
    np.testing.assert_array_equal(answer.labels, np.ravel(pruned.model.predict(X.iloc[:40])))
    expected = tw.feature_bill(pruned, X.iloc[:40], prices)
    np.testing.assert_allclose(answer.bill.per_sample, expected.per_sample)
    refitted = pruned.refit(X, y, strength=1.0)
    assert type(refitted.model) is cb.CatBoostClassifier
    with pytest.raises(UnsupportedModelError, match="by its `save_model`"):
        tw.export.to_c(pruned)


def test_categories_behind_transformers() -> None:
    X, y = patients()
    prepare = make_column_transformer(
        ("passthrough", ["code", "pain"]), (StandardScaler(), ["age"])
    )
    booster = cb.CatBoostClassifier(
        iterations=5, one_hot_max_size=9, cat_features=[0, 1], verbose=0, allow_writing_files=False
    )
    pipeline = make_pipeline(prepare, booster).fit(X, y)
    path = tw.prune_path(pipeline, X, y, costs={"pain": 5.0, "age": 1.0, "code": 2.0})
    pruned = path.at(budget=6)
    right = np.mean(np.ravel(pruned.model.predict(X)) == y)
    assert 1 - path.evaluate(X, y).error[pruned.index] == pytest.approx(right)


# --- what is refused


@pytest.mark.parametrize("kind", [cb.CatBoost, cb.CatBoostClassifier, cb.CatBoostRegressor])
def test_a_model_that_is_not_fitted_is_refused(kind: type) -> None:
    for attempt in (read_forest, lambda model: write_model(model, np.zeros(1, dtype=bool))):
        with pytest.raises(UnfittedModelError, match=rf"{kind.__name__} is not fitted: call fit"):
            attempt(kind())


def test_categories_by_statistics_of_the_target_are_refused() -> None:
    X, y = patients()
    model = cb.CatBoostClassifier(**FEW, one_hot_max_size=2, cat_features=["pain", "code"])
    with pytest.raises(UnsupportedModelError, match=r"statistics of the target.*`one_hot_max"):
        read_forest(model.fit(X, y))


def test_text_features_are_refused() -> None:
    frame = pd.DataFrame({"a": latent(rows()), "b": [f"{w} or {w}" for w in words(rows())]})
    model = cb.CatBoostClassifier(**FEW, text_features=["b"])
    with pytest.raises(UnsupportedModelError, match="text features"):
        read_forest(model.fit(frame, two(rows())))


def both(X: np.ndarray) -> np.ndarray:
    return np.column_stack([two(X), 1 - two(X)])


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (cb.CatBoostRegressor(**FEW, loss_function="MultiRMSE"), "2 outputs.*one model per output"),
        (cb.CatBoostClassifier(**FEW, loss_function="MultiLogloss"), "'MultiLogloss'.*Logloss"),
    ],
)
def test_several_outputs_are_refused(model: Any, sentence: str) -> None:
    with pytest.raises(UnsupportedModelError, match=sentence):
        read_forest(model.fit(rows(), both(rows())))


def test_predicted_uncertainty_is_refused() -> None:
    model = cb.CatBoostRegressor(**FEW, loss_function="RMSEWithUncertainty")
    with pytest.raises(UnsupportedModelError, match="2 outputs"):
        read_forest(model.fit(rows(), latent(rows())))


def test_a_sum_of_models_is_read_where_it_says_what_it_predicts() -> None:
    numbers = [
        fitted("symmetric_regressor").model,
        _regressor("RMSE", grow_policy="SymmetricTree")[0],
    ]
    together = cb.sum_models(numbers, weights=[0.5, 2.0])
    check_reading(together, rows(), score)
    classes = cb.sum_models([fitted("symmetric").model] * 2)
    with pytest.raises(UnsupportedModelError, match="no probability of each class"):
        read_forest(classes)


def test_impossible_masks_are_refused() -> None:
    model = fitted("depth_wise").model
    forest = read_forest(model)
    with pytest.raises(ForestError, match="names a leaf"):
        write_model(model, np.ones(forest.n_nodes, dtype=bool))
