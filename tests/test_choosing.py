"""Scores along a path, how surely they differ, and the point that they choose."""

import warnings

import numpy as np
import pytest
from library_versions import IS_BEFORE_1_9
from paths import HEART, NHANES, PATH
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import get_scorer, log_loss, make_scorer, roc_auc_score
from sklearn.utils.class_weight import compute_sample_weight

import thriftwood as tw
from thriftwood.adapters import ABOUT_ONE, read_class_weight, read_forest
from thriftwood.adapters.scoring import FixedPredictions as Scored
from thriftwood.errors import ConstantPredictionWarning, InputError
from thriftwood.evaluation.confusion import FORMULAS
from thriftwood.evaluation.scores import KNOWN, Predicted, ScoredSamples

TRAIN, OTHERS = np.arange(0, 600), np.arange(600, 900)
ALL = np.nan_to_num(NHANES.X, nan=-1.0)
X, X_NEW = ALL[TRAIN], ALL[OTHERS]
TARGETS = {
    "two": (NHANES.y == NHANES.y.max()).astype(int),
    "three": np.array(["a", "b", "c"])[NHANES.y],
    "numbers": ALL[:, 0].astype(float),
}
FEW = {"n_estimators": 7, "min_samples_leaf": 3, "random_state": 0}
MODELS = {
    "two": [RandomForestClassifier(**FEW), GradientBoostingClassifier(**FEW)],
    "three": [RandomForestClassifier(**FEW), GradientBoostingClassifier(**FEW)],
    "numbers": [RandomForestRegressor(**FEW), GradientBoostingRegressor(**FEW)],
}
SCORES = {
    "two": [
        *("accuracy", "balanced_accuracy", "neg_log_loss", "neg_brier_score", "roc_auc"),
        *("roc_auc_ovr", "average_precision", "f1", "matthews_corrcoef", "recall", "precision"),
        *("jaccard", "recall_macro"),
    ],
    "three": [
        *("accuracy", "balanced_accuracy", "neg_log_loss", "roc_auc_ovr", "f1_macro"),
        *("roc_auc_ovo", "average_precision", "f1_weighted", "matthews_corrcoef"),
        *("precision_macro", "recall_weighted", "jaccard_micro", "jaccard_macro"),
    ],
    "numbers": [
        *("neg_mean_squared_error", "neg_mean_absolute_error", "r2", "explained_variance"),
        "neg_root_mean_squared_error",
    ],
}
CASES = [(kind, model) for kind, models in MODELS.items() for model in models]


@pytest.fixture(
    scope="module", params=CASES, ids=lambda case: f"{case[0]}-{type(case[1]).__name__}"
)
def case(request):
    """A kind of target, a path, and the targets of other samples."""
    kind, model = request.param
    columns = slice(1, None) if kind == "numbers" else slice(None)
    y = TARGETS[kind]
    costs = NHANES.costs[columns]
    path = tw.prune_path(model.fit(X[:, columns], y[TRAIN]), X[:, columns], y[TRAIN], costs=costs)
    return kind, path, X_NEW[:, columns], y[OTHERS]


# --- scores


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("weighed", [False, True])
def test_scores_are_those_of_scikit_learn_on_each_written_model(case, weighed):
    kind, path, X, y = case
    weights = np.random.default_rng(0).integers(0, 4, len(y)) if weighed else None
    points = [0, len(path) // 2, len(path) - 1]
    for name in SCORES[kind]:
        if weighed and name == "roc_auc_ovo":
            continue  # scikit-learn has none
        is_of_three = name == "average_precision" and kind == "three"
        if is_of_three and (IS_BEFORE_1_9 or not path.forest.is_averaged):
            continue  # scikit-learn ranks by scores, which probabilities of three classes do not
        measured = path.evaluate(X, y, scoring=name, points=points, sample_weight=weights)
        assert measured.scoring == name
        models = [path.model, *(path[index].model for index in points)]
        found = [measured.original.score, *measured.score]
        for model, score in zip(models, found, strict=True):
            weighed_by = {} if weights is None else {"sample_weight": weights}
            by_hand = get_scorer(name)(model, X, y, **weighed_by)
            assert score == pytest.approx(by_hand, abs=1e-9 + 10 * share_of_ties(model, X)), name


def share_of_ties(model, X):
    """Samples whose classes are equal but for rounding, or ranked so: either may come first."""
    if not hasattr(model, "predict_proba"):
        return 0.0
    probability = model.predict_proba(X)
    tied = np.diff(np.sort(probability, axis=1)[:, -2:], axis=1)[:, 0] < 1e-9
    ranked = np.sort(probability, axis=0)
    apart = np.diff(ranked, axis=0)
    near = ((apart > 0) & (apart < 1e-9)).any(axis=1)
    return tied.mean() + near.mean() / len(X)


def test_class_weights_weigh_scores_and_errors_but_no_bills(case):
    kind, path, X, y = case
    if kind == "numbers":
        with pytest.raises(InputError, match="`class_weight` is for classifiers"):
            path.evaluate(X, y, class_weight="balanced")
        return
    weights = compute_sample_weight("balanced", y)
    measured = path.evaluate(X, y, scoring="neg_log_loss", class_weight="balanced")
    by_hand = get_scorer("neg_log_loss")(path[0].model, X, y, sample_weight=weights)
    assert measured.score[0] == pytest.approx(by_hand)
    assert measured.log_loss[0] == pytest.approx(-by_hand)
    np.testing.assert_array_equal(measured.cost, path.evaluate(X, y).cost)


def test_a_function_of_the_user_sees_the_model_and_the_samples(case):
    _, path, X, y = case

    def own(model, X, y):
        return float(np.mean((model.predict(X) == y) * X[:, 2]))

    points = [0, len(path) - 1]
    measured = path.evaluate(X, y, scoring=own, points=points)
    assert measured.scoring == "own"
    for index, score in zip(points, measured.score, strict=True):
        assert score == pytest.approx(own(path[index].model, X, y), abs=1e-2)


def test_a_scorer_that_was_made_is_taken():
    scorer = make_scorer(log_loss, response_method="predict_proba", greater_is_better=False)
    made, named = (PATH.evaluate(HEART.X, HEART.y, scoring=one) for one in (scorer, "neg_log_loss"))
    np.testing.assert_allclose(made.score, named.score)
    np.testing.assert_allclose(made.score_error, named.score_error, rtol=0.6, atol=1e-12)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("two", "roc_auc"), ("three", "roc_auc_ovr"), ("numbers", "neg_mean_squared_error")],
)
def test_the_usual_score(kind, name, case):
    if case[0] != kind:
        return
    _, path, X, y = case
    assert path.evaluate(X, y).scoring == name
    if kind != "numbers":
        rows = y != y[0]
        rows[:2] = True
        rows[1:] &= y[1:] != np.unique(y[y != y[0]])[0]  # a class is missing
        assert path.evaluate(X[rows], y[rows]).scoring == "neg_brier_score"


# --- how surely scores differ


def test_the_error_of_a_difference_is_that_of_pairs():
    X, y = HEART.X[::2], HEART.y[::2]  # every sample is a group of its own
    measured = PATH.evaluate(X, y, scoring="neg_log_loss")
    one, other = (
        np.log(np.clip(PATH[i].model.predict_proba(X)[np.arange(len(y)), y], 1e-15, 1))
        for i in (3, 9)
    )
    error = np.linalg.norm(measured.deviations[4] - measured.deviations[10])
    assert error == pytest.approx(np.std(one - other, ddof=1) / np.sqrt(len(y)), rel=1e-3)


def test_the_error_of_an_area_is_delongs():
    X, y = HEART.X[1::2], HEART.y[1::2]
    measured = PATH.evaluate(X, y)
    own, others = [], []
    for index in (9, 12):
        p = PATH[index].model.predict_proba(X)[:, 1]
        above = np.sign(np.round(p[y == 1][:, None] - p[y == 0], 9)) / 2 + 0.5
        assert measured.score[index] == pytest.approx(above.mean())
        own.append(above.mean(axis=1))
        others.append(above.mean(axis=0))
    variance = sum(np.var(a - b, ddof=1) / len(a) for a, b in (own, others))
    error = np.linalg.norm(measured.deviations[10] - measured.deviations[13])
    assert error == pytest.approx(np.sqrt(variance), rel=0.01)


@pytest.mark.parametrize("name", ["average_precision", "roc_auc", *FORMULAS])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_what_a_sample_adds_to_a_score_is_its_derivative(name, n_classes):
    if n_classes == 3 and name in (*ABOUT_ONE, "roc_auc") and name != "average_precision":
        return
    random = np.random.default_rng(0)
    target = random.integers(0, n_classes, 40)
    weights = random.integers(1, 4, 40).astype(float)
    outputs = np.round(random.dirichlet(np.ones(n_classes), 40) + np.eye(n_classes)[target] / 3, 1)
    outputs /= outputs.sum(axis=1, keepdims=True)  # many are equally likely
    labels = outputs.argmax(axis=1)
    one = {"own_class": 1} if n_classes == 2 and name in ABOUT_ONE else {}
    samples = ScoredSamples(target, weights / weights.sum(), n_classes, {})
    score, adds = KNOWN[name](samples, Predicted((labels != target)[None], outputs, labels), **one)

    def by_hand(weights):
        model = Scored(outputs, np.arange(n_classes))
        return get_scorer(name)(model, np.empty((40, 1)), target, sample_weight=weights)

    assert score == pytest.approx(by_hand(weights))
    for k, step in enumerate(1e-6 * np.eye(40)):
        slope = (by_hand(weights + step) - by_hand(weights - step)) / 2e-6
        assert adds[k] == pytest.approx(slope * weights[k], abs=1e-7)


def test_errors_of_numbers_follow_from_squared_errors():
    """R2 is a ratio and its variance is estimated, too; the root is as sure as what is below it."""
    X, y = X_NEW[:, 1:], TARGETS["numbers"][OTHERS]
    forest = RandomForestRegressor(n_estimators=7, random_state=0).fit(X[:150], y[:150])
    path = tw.prune_path(forest, X[:150], y[:150])
    plain, share, root = (
        path.evaluate(X[150:], y[150:], scoring=name)
        for name in ("neg_mean_squared_error", "r2", "neg_root_mean_squared_error")
    )
    np.testing.assert_allclose(share.score, 1 + plain.score / y[150:].var())
    np.testing.assert_allclose(root.score_error, plain.score_error / (-2 * root.score))
    spread, losses = (
        (y[150:] - y[150:].mean()) ** 2,
        (path[0].model.predict(X[150:]) - y[150:]) ** 2,
    )
    by_hand = np.std(losses - (1 - share.score[0]) * spread, ddof=1) / spread.mean() / np.sqrt(150)
    assert share.score_error[0] == pytest.approx(by_hand, rel=1e-3)


@pytest.mark.parametrize("name", FORMULAS)
def test_scores_of_classes_that_are_never_predicted_are_those_of_scikit_learn(name):
    target = np.array([0, 0, 0, 1, 1, 2])
    for labels in (np.zeros(6, int), np.array([0, 2, 0, 2, 2, 2]), np.array([0, 0, 3, 1, 1, 1])):
        if name in ABOUT_ONE:
            continue
        samples = ScoredSamples(target, np.full(6, 1 / 6), 4, {})
        found, adds = KNOWN[name](samples, Predicted(None, None, labels))
        model = Scored(np.eye(4)[labels], np.arange(4))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert found == pytest.approx(get_scorer(name)(model, np.empty((6, 1)), target))
        assert np.isfinite(adds).all()


def test_groups_of_samples_give_about_the_same_error():
    many = np.random.default_rng(0).integers(0, len(HEART.y), 3000)
    measured = PATH.evaluate(HEART.X[many], HEART.y[many], scoring="accuracy")
    share = measured.error[9]
    plain = np.sqrt(share * (1 - share) / len(many))
    assert measured.score_error[9] == pytest.approx(plain, rel=0.25)


# --- the point that is chosen


def test_the_cheapest_point_that_is_not_clearly_worse_is_chosen(case):
    _, path, X, y = case
    measured = path.evaluate(X, y)
    score = np.array([measured.original.score, *measured.score])
    best = score.argmax()
    apart = np.linalg.norm(measured.deviations - measured.deviations[best], axis=1)
    good = np.flatnonzero(score[1:] >= (score[best] - apart)[1:])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantPredictionWarning)  # of one class
        chosen = path.choose(X, y)
    assert chosen.index == good[measured.cost[good] <= measured.cost[good].min() + 1e-9][-1]
    choice = chosen.choice
    assert choice.score == measured.score[chosen.index]
    assert choice.given_up == pytest.approx(measured.original.score - choice.score)
    assert f"instead of {choice.cost_before:.6g}" in str(chosen)


def rare(seed, share=0.14):
    """Rows of NHANES with so many of diabetes: to train, to choose, and new ones."""
    rng = np.random.default_rng(seed)
    y = TARGETS["two"]
    sick, well = (rng.permutation(np.flatnonzero(y == k)) for k in (1, 0))
    n_sick = [round(n * share) for n in (350, 155, 2000)]
    train = np.concatenate([sick[: n_sick[0]], well[: 350 - n_sick[0]]])
    ends = sum(n_sick[:2]), 505 - sum(n_sick[:2])
    rows = slice(n_sick[0], ends[0]), slice(350 - n_sick[0], ends[1])
    choose = np.concatenate([sick[rows[0]], well[rows[1]]])
    n_well = 2000 - n_sick[2]
    new = np.concatenate([sick[ends[0] :][: n_sick[2]], well[ends[1] :][:n_well]])
    return NHANES.X[train], y[train], NHANES.X[choose], y[choose], NHANES.X[new], y[new]


@pytest.mark.filterwarnings("ignore:.*Only its probabilities tell:UserWarning")
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_few_samples_of_a_rare_class_do_not_throw_the_model_away(seed, class_weight):
    X, y, X_val, y_val, X_new, y_new = rare(seed)
    forest = RandomForestClassifier(
        30, min_samples_leaf=3, class_weight=class_weight, random_state=seed
    ).fit(X, y)
    chosen = tw.prune_path(forest, X, y, costs=NHANES.costs).choose(X_val, y_val)
    before = roc_auc_score(y_new, forest.predict_proba(X_new)[:, 1])
    after = roc_auc_score(y_new, chosen.model.predict_proba(X_new)[:, 1])
    assert before - after < 0.1
    assert after > 0.55


@pytest.mark.parametrize("cv", [None, 5, "out_of_bag"])
def test_where_every_point_is_clearly_worse_the_model_stays_as_it_is(cv):
    X, y, X_val, y_val, *_ = rare(0)
    # No leaf says that anybody is ill, so that by errors no split gains anything.
    forest = RandomForestClassifier(30, min_samples_leaf=40, random_state=0).fit(X, y)
    path = tw.prune_path(forest, X, y, costs=NHANES.costs)
    assert path[0].n_splits == 0
    if cv is None:
        chosen = path.choose(X_val, y_val)
        assert chosen.model is forest
    else:
        options = {"costs": NHANES.costs, "cv": cv}
        model = tw.PrunedEnsembleClassifier(forest, **options).fit(X, y)
        chosen = model.pruned_
        assert chosen.model is model.estimator_
    assert chosen.choice.point is None
    assert chosen.n_splits == path.original.n_splits
    assert "the model stays as it was: roc_auc" in str(chosen.choice)


@pytest.mark.filterwarnings("ignore:.*Only its probabilities tell:UserWarning")
@pytest.mark.parametrize("cv", [5, "out_of_bag"])
def test_nor_does_the_estimator(cv):
    X, y, X_val, y_val, *_ = rare(0)
    forest = RandomForestClassifier(30, min_samples_leaf=3, random_state=0)
    model = tw.PrunedEnsembleClassifier(forest, costs=NHANES.costs, cv=cv).fit(X, y)
    assert model.evaluation_.scoring == "roc_auc"
    assert model.pruned_.choice.score > 0.6
    assert roc_auc_score(y_val, model.predict_proba(X_val)[:, 1]) > 0.6


def test_who_gives_up_everything_is_told():
    match = "predicts the same for every sample"
    with pytest.warns(ConstantPredictionWarning, match=match) as told:
        chosen = PATH.choose(HEART.X, HEART.y, rule="max_error_increase", limit=0.5)
    assert [one.filename for one in told] == [__file__]
    assert chosen.choice.is_constant
    assert len(set(chosen.model.predict(HEART.X))) == 1


def test_so_is_who_pays_for_no_test_because_none_is_worth_it():
    with pytest.warns(ConstantPredictionWarning, match="no test is worth its price"):
        chosen = PATH.choose(HEART.X, HEART.y, error_costs=0.01)
    assert (chosen.cost, chosen.choice.is_constant) == (0, True)


def test_few_samples_of_a_class_are_told():
    rows = np.concatenate([np.flatnonzero(HEART.y == 0)[:30], np.flatnonzero(HEART.y == 1)[:10]])
    enough = PATH.choose(HEART.X[rows], HEART.y[rows], rule="best_score").choice
    few = PATH.choose(HEART.X[rows[:-1]], HEART.y[rows[:-1]], rule="best_score").choice
    assert (enough.fewest, few.fewest) == (10, 9)
    assert "Of one class there are only 9, which tell little." in str(few)
    assert "there are only" not in str(enough)


def test_a_point_of_one_class_is_told_from_a_constant():
    X, y, X_val, y_val, *_ = rare(1)
    forest = RandomForestClassifier(30, min_samples_leaf=3, random_state=1).fit(X, y)
    path = tw.prune_path(forest, X, y, costs=NHANES.costs)
    with pytest.warns(ConstantPredictionWarning, match="Only its probabilities tell"):
        chosen = path.choose(X_val, y_val)
    assert len(set(chosen.model.predict(X_val))) == 1
    assert np.ptp(chosen.model.predict_proba(X_val)[:, 1]) > 0


def test_estimators_choose_by_any_score():
    forest = RandomForestClassifier(10, random_state=0)
    for scoring in ("f1", "neg_log_loss"):
        model = tw.PrunedEnsembleClassifier(forest, cv=3, scoring=scoring, rule="best_score")
        measured = model.fit(HEART.X, HEART.y).evaluation_
        assert measured.scoring == scoring
        assert measured.score[model.pruned_.index] == measured.score.max()


# --- what is refused


@pytest.mark.parametrize(
    ("scoring", "words"),
    [
        ("roc_au", "no score of scikit-learn. Did you mean 'roc_auc'"),
        (3, "`scoring` is 3: pass the name of a score"),
        ("neg_mean_squared_error", "judges numbers, and this model predicts classes"),
        ("r2", "judges numbers, and this model predicts classes"),
        (lambda model, X, _: model.predict_proba(X[:5]).sum(), "of other samples"),
        (lambda *_: np.nan, "not defined on these samples"),
        (lambda *_: 1 / 0, "cannot be computed on these samples: division by zero"),
        (roc_auc_score, "roc_auc_score, a metric, which takes true and predicted values"),
        (roc_auc_score, r"wrap it, `sklearn.metrics.make_scorer\(roc_auc_score\)`"),
        (lambda model, X, y: model.score(X, y), "for `score`. What judges gets predictions in"),
    ],
)
def test_scores_that_make_no_sense_are_refused(scoring, words):
    with pytest.raises(InputError, match=words) as found:
        PATH.evaluate(HEART.X, HEART.y, scoring=scoring)
    assert found.value.argument == "scoring"


def test_samples_of_one_class_have_no_curve():
    one = HEART.y == 1
    with pytest.raises(InputError, match="none of these is of class 0"):
        PATH.evaluate(HEART.X[one], HEART.y[one], scoring="roc_auc")
    assert PATH.evaluate(HEART.X[one], HEART.y[one]).scoring == "neg_brier_score"


@pytest.mark.parametrize(
    "options", [{}, {"scoring": "balanced_accuracy"}, {"error_costs": 100}, {"scoring": "f1"}]
)
def test_samples_of_one_class_choose_nothing(options):
    one = HEART.y == 1
    for choose in (PATH.choose, PATH.cascade):
        with pytest.raises(InputError, match="139 samples that are to choose are of one class"):
            choose(HEART.X[one], HEART.y[one], **options)


def test_models_without_probabilities_have_no_log_loss(case):
    kind, path, X, y = case
    if kind == "three":
        with pytest.raises(InputError, match="judges two classes, and this model has 3"):
            path.evaluate(X, y, scoring="roc_auc")
        with pytest.raises(InputError, match="this model has 3 classes: pass 'f1_macro'"):
            path.evaluate(X, y, scoring="f1")
    if kind == "numbers":
        with pytest.raises(InputError, match="this model predicts numbers"):
            path.evaluate(X, y, scoring="neg_log_loss")
        with pytest.raises(InputError, match="'average_precision', which judges classes"):
            path.evaluate(X, y, scoring="average_precision")


# --- class weights of the model


def weighed():
    from catboost import CatBoostClassifier
    from lightgbm import LGBMClassifier
    from sklearn.ensemble import BaggingClassifier, HistGradientBoostingClassifier
    from sklearn.tree import DecisionTreeClassifier
    from xgboost import XGBClassifier

    few = {"n_estimators": 3, "random_state": 0}
    tree = DecisionTreeClassifier(max_depth=3, class_weight={1: 4})
    quiet = {"iterations": 3, "verbose": 0, "random_state": 0, "allow_writing_files": False}
    return [
        (RandomForestClassifier(**few, class_weight="balanced_subsample"), "balanced"),
        (tree, {0: 1.0, 1: 4.0}),
        (BaggingClassifier(tree, **few), {0: 1.0, 1: 4.0}),
        (HistGradientBoostingClassifier(max_iter=3, class_weight="balanced"), "balanced"),
        (LGBMClassifier(**few, verbose=-1, scale_pos_weight=3), {0: 1.0, 1: 3.0}),
        (LGBMClassifier(**few, verbose=-1, is_unbalance=True), "balanced"),
        (XGBClassifier(**few, scale_pos_weight=5), {0: 1.0, 1: 5.0}),
        (CatBoostClassifier(**quiet, class_weights=[1, 6]), {0: 1.0, 1: 6.0}),
        (CatBoostClassifier(**quiet, auto_class_weights="Balanced"), "balanced"),
        (RandomForestClassifier(**few), None),
    ]


@pytest.mark.parametrize("number", range(10))
def test_a_model_is_pruned_by_the_weights_it_was_trained_with(number):
    y = TARGETS["two"][TRAIN]
    model, expected = weighed()[number]
    model.fit(X, y)
    forest = read_forest(model)
    assert read_class_weight(model, forest) == expected
    if not forest.is_averaged:
        return  # gains were recorded with the weights of the training
    usual = tw.prune_path(model, X, y, costs=NHANES.costs)
    given = "uniform" if expected is None else expected
    named = tw.prune_path(model, X, y, costs=NHANES.costs, class_weight=given)
    np.testing.assert_array_equal(usual.drop_step, named.drop_step)
    plain = tw.prune_path(model, X, y, costs=NHANES.costs, class_weight="uniform")
    assert (plain.original.loss == usual.original.loss) == (expected is None)


def test_weights_of_a_boosted_model_count_in_its_descent():
    from xgboost import XGBClassifier

    y = TARGETS["two"][TRAIN]
    model = XGBClassifier(n_estimators=5, max_depth=2, scale_pos_weight=5, random_state=0).fit(X, y)
    options = {"costs": NHANES.costs, "loss": "log_loss", "tradeoff": 1e-4}
    usual = tw.prune(model, X, y, **options)
    named = tw.prune(model, X, y, class_weight={1: 5}, **options)
    assert (usual.loss, usual.cost) == (named.loss, named.cost)


# --- probabilities, where order decides


def near(score, deviations):
    """Mark what is not below the best by more than the standard error of the difference."""
    best = score.argmax()
    return score >= score[best] - np.linalg.norm(deviations - deviations[best], axis=1) - 1e-12


def test_probabilities_must_not_get_clearly_worse_where_order_decides(case):
    kind, path, X, y = case
    if kind == "numbers":
        return
    measured = path.evaluate(X, y)
    order = near(np.append(measured.original.score, measured.score), measured.deviations)[1:]
    brier = -np.append(measured.original.brier, measured.brier)
    assert brier[0] == pytest.approx(get_scorer("neg_brier_score")(path.model, X, y))
    both = order & near(brier, measured.brier_deviations)[1:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantPredictionWarning)
        chosen = path.choose(X, y).index
        by_order = path.choose(X, y, scoring="roc_auc_ovr").index
    assert by_order == chosen
    if both.any():
        assert both[chosen]
        cheaper = measured.cost < measured.cost[chosen] - 1e-9
        assert not (both & cheaper).any()
    else:
        assert brier[1:][chosen] == pytest.approx(brier[1:][order].max())


@pytest.mark.filterwarnings("ignore:.*Only its probabilities tell:UserWarning")
def test_probabilities_are_judged_by_the_weights_of_the_model_and_told_without_them():
    X, y, X_val, y_val, *_ = rare(2)
    forest = RandomForestClassifier(
        30, max_features=None, class_weight="balanced", random_state=2
    ).fit(X, y)
    path = tw.prune_path(forest, X, y, costs=NHANES.costs)
    measured = path.evaluate(X_val, y_val)
    weights = compute_sample_weight("balanced", y_val)
    by_hand = get_scorer("neg_brier_score")(forest, X_val, y_val, sample_weight=weights)
    assert measured.original.own_brier == pytest.approx(-by_hand)
    chosen = path.choose(X_val, y_val)
    own = -np.append(measured.original.own_brier, measured.own_brier)
    assert near(own, measured.own_brier_deviations)[1 + chosen.index]
    choice = chosen.choice
    assert choice.brier - choice.brier_before > 2 * choice.brier_error
    assert f"clearly worse: Brier score {choice.brier:.3g}" in str(choice)


# --- models of another statistic


def test_squared_errors_do_not_judge_a_quantile():
    X, y = X_NEW[:, 1:], TARGETS["numbers"][OTHERS]
    model = GradientBoostingRegressor(loss="quantile", n_estimators=5).fit(X, y)
    path = tw.prune_path(model, X, y)
    for measure in (path.evaluate, path.choose):
        with pytest.raises(InputError, match="which squared errors do not judge: pass a `scoring`"):
            measure(X, y)
    assert path.evaluate(X, y, scoring="neg_mean_absolute_error").score.max() < 0
