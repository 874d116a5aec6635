"""Losses: named ones and the user's own, with class weights, against plain sums over rows."""

from functools import partial

import numpy as np
import pytest
from builders import (
    NUMBERS,
    THREE_CLASSES,
    TRADEOFFS,
    TWO_CLASSES,
    forest_of,
    leaf,
    losses_of,
    pruning_cases,
    routes_of,
    split,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from models import numbers as targets
from models import plain_rows, words
from paths import FOREST, HEART, assert_same_path, heart_path
from prunings import LOSSES, NUMBER_LOSSES, all_masks, cost_and_loss
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import balanced_accuracy_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.class_weight import compute_class_weight

import thriftwood as tw
from thriftwood import paper
from thriftwood.errors import InputError

X = plain_rows()
WORDS, TARGETS = words(X), targets(X)
PRICES = np.array([5.0, 1.0, 2.0, 8.0])
WEIGHTS = np.random.default_rng(0).integers(0, 4, len(X))
CLASSES = ("healthy", "ill", "unsure")
CLASSIFIER = RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, WORDS)
REGRESSOR = RandomForestRegressor(5, max_depth=4, random_state=0).fit(X, TARGETS)
BY_CLASS = {"healthy": 0.5, "ill": 4, "unsure": 2.5}


# --- losses of the user's own, and the same row by row


def own_brier(values):
    distance = (values**2).sum(axis=1, keepdims=True) - 2.0 * values + 1.0
    return distance / 2.0 if values.shape[1] == 2 else distance


def false_alarms(values):
    """Predicting the first class is never wrong, the others cost 1, 2, ... on any other row."""
    predicted = values.argmax(axis=1)[:, None]
    return predicted * (predicted != np.arange(values.shape[1]))


def pinball(prediction, target):
    return np.where(prediction < target, 0.9, 0.1) * np.abs(prediction - target)


ROW_BY_ROW = {
    own_brier: LOSSES["brier"],
    false_alarms: lambda p, label: float(p.argmax() * (p.argmax() != label)),
    pinball: lambda value, target: (0.9 if value[0] < target else 0.1) * abs(value[0] - target),
}
KINDS = {
    "two": (TWO_CLASSES, (0, 1), [*LOSSES, own_brier, false_alarms]),
    "three": (THREE_CLASSES, CLASSES, [*LOSSES, own_brier, false_alarms]),
    "numbers": (NUMBERS, None, [*NUMBER_LOSSES, pinball]),
}


@st.composite
def cases(draw, **most):
    """Draw a case of `pruning_cases`, a loss, and weights of the classes."""
    values, classes, losses = KINDS[draw(st.sampled_from(list(KINDS)))]
    case = draw(pruning_cases(values=values, classes=classes, **most))
    weight = st.sampled_from([0, 1, 3, 0.7, 1 / 3])
    by_class = st.none() if classes is None else st.dictionaries(st.sampled_from(classes), weight)
    class_weight = draw(by_class)
    if class_weight is not None:
        assume(any(class_weight.get(label, 1) for label in case[2]))
    return case, draw(st.sampled_from(losses)), class_weight


@settings(max_examples=150)
@given(cases(), TRADEOFFS)
def test_no_pruning_is_better_by_plain_sums_over_rows(drawn, tradeoff):
    (forest, X, y, prices, weights), loss, class_weight = drawn
    pruned = tw.prune(
        forest,
        X,
        y,
        costs=prices,
        sample_weight=weights,
        loss=loss,
        class_weight=class_weight,
        tradeoff=tradeoff,
    )
    by_row = ROW_BY_ROW.get(loss, loss)
    points = [
        cost_and_loss(forest, X, y, weights, prices, mask, by_row, class_weight)
        for mask in all_masks(forest)
    ]
    best = min(loss + tradeoff * cost for cost, loss in points)
    assert pruned.objective == pytest.approx(best, rel=1e-6, abs=1e-9)
    close = [np.allclose((pruned.cost, pruned.loss), point, rtol=1e-6) for point in points]
    assert any(close)
    whole = cost_and_loss(forest, X, y, weights, prices, forest.is_split, by_row, class_weight)
    assert (pruned.original.cost, pruned.original.loss) == pytest.approx(whole)


@settings(max_examples=60)
@given(cases(most_trees=2))
def test_every_point_of_a_path_says_what_its_forest_costs_and_loses(drawn):
    (forest, X, y, prices, weights), loss, class_weight = drawn
    options = {
        "costs": prices,
        "sample_weight": weights,
        "loss": loss,
        "class_weight": class_weight,
    }
    for path in all_paths(forest, X, y, **options):
        for index in range(len(path)):
            kept = path.kept_nodes(index)
            by_row = ROW_BY_ROW.get(loss, loss)
            figures = cost_and_loss(forest, X, y, weights, prices, kept, by_row, class_weight)
            assert (path.costs[index], path.losses[index]) == pytest.approx(figures, abs=1e-9)


def all_paths(model, X, y, **options):
    """Return the paths of every method."""
    return [
        tw.prune_path(model, X, y, **options),
        tw.each_tree_path(tw.pruning_problem(model, X, y, **options)),
        tw.cost_complexity_path(tw.pruning_problem(model, X, y, **options)),
        tw.dynamic_programming_path(tw.pruning_problem(model, X, y, **options)),
    ]


@settings(max_examples=60)
@given(cases(), TRADEOFFS)
def test_the_programs_of_the_paper_count_the_same(drawn, tradeoff):
    (forest, X, y, prices, weights), loss, class_weight = drawn
    assume(tradeoff < 1e3)
    options = {
        "costs": prices,
        "sample_weight": weights,
        "loss": loss,
        "class_weight": class_weight,
    }
    program = paper.ip3(paper.read_instance(forest, X, y, **options), tradeoff=tradeoff)
    pruned = tw.prune(forest, X, y, tradeoff=tradeoff, **options)
    assert paper.solve(program).objective == pytest.approx(pruned.objective, rel=1e-6, abs=1e-7)


# --- regressors


@pytest.mark.parametrize("loss", [*NUMBER_LOSSES, pinball])
@pytest.mark.parametrize("rows", ["all", "in_bag", "out_of_bag"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_losses_of_regressors_are_what_their_trees_lose(loss, rows, weights):
    path = tw.prune_path(REGRESSOR, X, TARGETS, loss=loss, samples=rows, sample_weight=weights)
    by_hand = {
        "squared_error": lambda p, y: (p - y) ** 2,
        "absolute_error": lambda p, y: abs(p - y),
    }.get(loss, loss)
    for index in (0, len(path) // 2, -1):
        point = path[index]
        total = counted = 0.0
        for tree, sample in zip(
            point.model.estimators_, REGRESSOR.estimators_samples_, strict=True
        ):
            drawn = np.bincount(sample, minlength=len(X))
            times = {"all": np.ones(len(X)), "in_bag": drawn, "out_of_bag": drawn == 0}[rows]
            times = times * (1 if weights is None else weights)
            total += (times * by_hand(tree.predict(X), TARGETS)).sum()
            counted += times.sum()
        assert point.loss == pytest.approx(total / counted)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_absolute_error_of_trees_that_predict_medians_is_the_impurity_of_scikit_learn(weights):
    tree = DecisionTreeRegressor(criterion="absolute_error", min_samples_leaf=4, random_state=0)
    theirs = tree.fit(X, TARGETS, sample_weight=weights).cost_complexity_pruning_path(
        X, TARGETS, sample_weight=weights
    )
    path = tw.cost_complexity_path(
        tw.pruning_problem(tree, X, TARGETS, loss="absolute_error", sample_weight=weights)
    )
    assert path.losses[0] == pytest.approx(theirs.impurities[0])
    assert path.losses[-1] == pytest.approx(theirs.impurities[-1])
    assert path.tradeoffs[-1] == pytest.approx(theirs.ccp_alphas[-1])


def test_a_loss_of_regressors_is_never_called_with_more_than_the_rows_of_a_tree():
    lengths = []

    def watched(prediction, target):
        assert prediction.shape == target.shape
        lengths.append(len(target))
        target[:] = 0  # arrays are for the function to use
        return abs(prediction)

    path = tw.prune_path(REGRESSOR, X, TARGETS, loss=watched)
    assert max(lengths) == len(X)
    assert len(lengths) <= 5 * (4 + 1)
    assert path.loss_name == "watched"


def test_absolute_error_is_the_distance_from_the_value_of_the_node():
    tree = split(0, 0.5, leaf((1.0,)), leaf((4.0,)), value=(2.0,))
    forest = forest_of(tree, tree, n_features=1, classes=None)
    rows, y, weights = np.array([[1.0], [0.0]]), np.array([4.5, 1.0]), np.array([2.0, 3.0])
    losses = losses_of(forest, routes_of(forest, rows), y, weights, "absolute_error")
    np.testing.assert_array_equal(losses, [2 * 2.5 + 3 * 1.0, 0.0, 2 * 0.5] * 2)


# --- class weights


@pytest.mark.parametrize("loss", ["error", "brier", "log_loss", false_alarms])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_class_weights_are_rows_that_count_more_often_but_pay_once(loss, weights):
    times = {"healthy": 1, "ill": 3, "unsure": 2}
    per_row = np.array([times[label] for label in WORDS])
    options = {"costs": PRICES, "loss": loss, "sample_weight": weights}
    for path in all_paths(CLASSIFIER, X, WORDS, class_weight=times, **options):
        for index in (0, len(path) // 2, -1):
            point = path[index]
            again = np.repeat(np.arange(len(X)), per_row)
            often = tw.prune_path(
                point.model,
                X[again],
                WORDS[again],
                loss=loss,
                sample_weight=None if weights is None else weights[again],
            )
            assert point.loss == pytest.approx(often.original.loss)
            paying = X if weights is None else X[weights > 0]
            assert point.cost == pytest.approx(tw.feature_bill(point.model, paying, PRICES).mean)


@pytest.mark.parametrize("loss", ["error", "expected_error", "brier"])
def test_where_no_bill_counts_class_weights_are_sample_weights(loss):
    per_row = np.array([BY_CLASS[label] for label in WORDS])
    free = partial(tw.pruning_problem, CLASSIFIER, X, WORDS, costs=[0] * 4, loss=loss)
    for make in (tw.cost_complexity_path, tw.prune_path):
        by_class = make(free(class_weight=BY_CLASS))
        by_row = make(free(sample_weight=per_row))
        np.testing.assert_array_equal(by_class.drop_values, by_row.drop_values)
        np.testing.assert_array_equal(by_class.losses, by_row.losses)


@pytest.mark.parametrize("class_weight", ["balanced", BY_CLASS], ids=["balanced", "mapping"])
def test_one_tree_has_the_path_of_scikit_learn_with_class_weights(class_weight):
    tree = DecisionTreeClassifier(class_weight=class_weight, min_samples_leaf=3, random_state=0)
    theirs = tree.fit(X, WORDS).cost_complexity_pruning_path(X, WORDS)
    path = tw.cost_complexity_path(
        tw.pruning_problem(tree, X, WORDS, loss="expected_error", class_weight=class_weight)
    )
    steps = theirs.ccp_alphas[1:][np.diff(theirs.ccp_alphas) > 1e-12]
    np.testing.assert_allclose(path.tradeoffs[1:], steps, rtol=1e-7)
    assert path.losses[0] == pytest.approx(theirs.impurities[0])


def test_balanced_errors_are_those_of_balanced_accuracy():
    path = tw.prune_path(CLASSIFIER, X, WORDS, costs=PRICES, class_weight="balanced")
    assert path.proof.gap == 0
    for index in (0, len(path) // 2, -1):
        point = path[index]
        by_tree = [tree.predict(X).astype(int) for tree in point.model.estimators_]
        right = np.searchsorted(CLASSES, WORDS)
        accuracies = [balanced_accuracy_score(right, predicted) for predicted in by_tree]
        assert point.loss == pytest.approx(1 - np.mean(accuracies))


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_balanced_weights_are_those_of_scikit_learn(weights):
    each = np.ones(len(X)) if weights is None else weights
    counts = [each[label == WORDS].sum() for label in CLASSES]
    if weights is None:
        expected = compute_class_weight("balanced", classes=np.array(CLASSES), y=WORDS)
        np.testing.assert_allclose(each.sum() / (3 * np.array(counts)), expected)
    by_hand = {label: 1 / count for label, count in zip(CLASSES, counts, strict=True)}
    paths = [
        tw.prune_path(CLASSIFIER, X, WORDS, class_weight=given, sample_weight=weights)
        for given in ("balanced", by_hand)
    ]
    np.testing.assert_allclose(paths[0].losses, paths[1].losses)
    np.testing.assert_allclose(paths[0].drop_values, paths[1].drop_values)


def test_balanced_counts_only_classes_with_rows():
    some = WORDS != "unsure"
    path = tw.prune_path(CLASSIFIER, X[some], WORDS[some], class_weight="balanced")
    weights = np.where(WORDS == "unsure", 0, 1)
    same = tw.prune_path(CLASSIFIER, X, WORDS, class_weight="balanced", sample_weight=weights)
    assert_same_path(path, same)


@pytest.mark.parametrize("factor", [1e-200, 0.1, 7, 1e200])
def test_only_ratios_of_class_weights_matter(factor):
    given = {label: factor * weight for label, weight in BY_CLASS.items()}
    path = tw.prune_path(CLASSIFIER, X, WORDS, costs=PRICES, class_weight=given)
    usual = tw.prune_path(CLASSIFIER, X, WORDS, costs=PRICES, class_weight=BY_CLASS)
    np.testing.assert_allclose(path.losses, usual.losses)
    np.testing.assert_allclose(path.drop_values, usual.drop_values)


def test_class_weights_work_in_bags_and_for_labels_of_bagged_trees():
    bagged = BaggingClassifier(DecisionTreeClassifier(max_depth=3), 4, random_state=0)
    bagged.fit(X, WORDS)
    path = tw.prune_path(bagged, X, WORDS, samples="in_bag", class_weight=BY_CLASS)
    point = path[len(path) // 2]
    wrong = counted = 0.0
    for tree, sample in zip(point.model.estimators_, bagged.estimators_samples_, strict=True):
        weights = np.array([BY_CLASS[label] for label in WORDS[sample]])
        right = np.searchsorted(CLASSES, WORDS[sample])
        wrong += weights[tree.predict(X[sample]) != right].sum()
        counted += weights.sum()
    assert point.loss == pytest.approx(wrong / counted)


# --- losses of the user's own


def test_a_loss_written_anew_gives_the_same_paths():
    for data in ((FOREST, HEART.X, HEART.y), (CLASSIFIER, X, WORDS)):
        both = [all_paths(*data, loss=loss) for loss in ("brier", own_brier)]
        for path, own in zip(*both, strict=True):
            np.testing.assert_allclose(own.losses, path.losses, rtol=1e-14)
            np.testing.assert_array_equal(own.costs, path.costs)
            assert (path.loss_name, own.loss_name) == ("brier", "own_brier")


def test_the_estimators_take_losses_and_class_weights():
    fitted = tw.PrunedEnsembleClassifier(
        RandomForestClassifier(5, random_state=0),
        loss=own_brier,
        class_weight=BY_CLASS,
        tradeoff=0.01,
    ).fit(X, WORDS)
    by_hand = tw.prune(
        fitted.estimator_, X, WORDS, loss="brier", class_weight=BY_CLASS, tradeoff=0.01
    )
    assert fitted.pruned_.objective == pytest.approx(by_hand.objective)
    assert fitted.pruned_.n_splits == by_hand.n_splits
    regressor = tw.PrunedEnsembleRegressor(REGRESSOR, loss="absolute_error", cv=2).fit(X, TARGETS)
    assert regressor.path_.loss_name == "absolute_error"


@pytest.mark.filterwarnings("ignore::thriftwood.errors.ConstantPredictionWarning")
def test_a_fold_may_lack_a_class_that_has_a_weight():
    some = np.flatnonzero(WORDS != "unsure")
    model = tw.PrunedEnsembleClassifier(
        DecisionTreeClassifier(max_depth=3), class_weight=BY_CLASS, cv=[(some[::2], some[1::2])]
    )
    assert model.fit(X, WORDS).evaluation_.n_samples == len(some[1::2])
    with pytest.raises(InputError, match="`class_weight` holds the label 'dead'"):
        model.set_params(class_weight={"dead": 2}).fit(X, WORDS)


def test_what_does_not_depend_on_the_prediction_changes_no_pruning():
    def shifted(values):
        return own_brier(values) - 3.0

    usual, below = (tw.prune_path(CLASSIFIER, X, WORDS, loss=loss) for loss in ("brier", shifted))
    np.testing.assert_array_equal(below.drop_step, usual.drop_step)
    np.testing.assert_allclose(below.losses, usual.losses - 3.0)
    assert below.at(max_loss_increase=0.05).index == usual.at(max_loss_increase=0.05).index


@pytest.mark.parametrize("path", all_paths(FOREST, HEART.X, HEART.y, loss=own_brier)[::3])
def test_paths_of_an_own_loss_come_back_from_files(path, tmp_path):
    path.save(tmp_path / "path")
    loaded = type(path).load(tmp_path / "path", FOREST)
    assert loaded.loss_name == "own_brier"
    np.testing.assert_array_equal(loaded.losses, path.losses)


def test_losses_without_a_name_are_called_by_their_type():
    assert heart_path(loss=partial(np.power, 2.0)).loss_name == "partial"
    assert heart_path(loss=lambda values: 1 - values).loss_name == "<lambda>"


# --- bad input


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (lambda values: values.missing, "The loss '<lambda>' raised AttributeError: .*missing"),
        (lambda values: values[0], r"`<lambda>\(...\)` has shape \(3,\), but .* has \(\d+, 3\)"),
        (lambda _: None, r"`<lambda>\(...\)` has shape \(\)"),
        (lambda values: values.astype(str), "holds something that is not a number"),
        (lambda values: np.where(values == 0, np.inf, 0), "holds NaN or infinity"),
        (lambda values: np.where(values == 0, np.nan, 0), "holds NaN or infinity"),
        (lambda values: np.full_like(values, 1e308), "is beyond doubles: scale"),
        (lambda values: -4e306 * values, "is beyond doubles: scale"),
        (lambda values, target: values - target, "raised TypeError: .*'target'"),
        (
            "hinge",
            "There is no loss 'hinge' for a classifier: choose .*; in Python a function",
        ),
        (["error"], r"There is no loss \['error'\]"),
    ],
)
def test_losses_of_classifiers_that_are_none_are_refused(loss, said):
    with pytest.raises(InputError, match=said):
        tw.prune_path(CLASSIFIER, X, WORDS, loss=loss)


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (lambda values: values, "raised TypeError"),
        (lambda *_: 1 / 0, "raised ZeroDivisionError: division by zero"),
        (lambda *_: 0.0, r"has shape \(\), but .* has \(90,\)"),
        (lambda prediction, target: prediction + target * np.nan, "holds NaN or infinity"),
        ("expected_error", "for a regressor: choose 'squared_error', 'absolute_error'; in"),
    ],
)
def test_losses_of_regressors_that_are_none_are_refused(loss, said):
    with pytest.raises(InputError, match=said):
        tw.prune_path(REGRESSOR, X, TARGETS, loss=loss)


def test_the_error_of_a_loss_is_the_cause_of_ours():
    with pytest.raises(InputError) as refused:
        tw.prune_path(CLASSIFIER, X, WORDS, loss=lambda values: values.missing)
    assert isinstance(refused.value.__cause__, AttributeError)


@pytest.mark.parametrize(
    ("class_weight", "said"),
    [
        ({"dead": 1}, "`class_weight` holds the label 'dead', .* its classes are 'healthy', 'ill'"),
        ({"ill": -1}, r"`class_weight\['ill'\]` is -1: it must be one finite number"),
        ({"ill": np.nan}, r"`class_weight\['ill'\]` is nan"),
        ({"ill": "much"}, r"`class_weight\['ill'\]` is 'much'"),
        (dict.fromkeys(CLASSES, 0), "`class_weight` is 0 for every sample that counts"),
        ("balanced_subsample", "`class_weight` is 'balanced_subsample': pass 'balanced'"),
        ([1, 2, 3], r"`class_weight` is \[1, 2, 3\]: pass 'balanced', a mapping"),
    ],
)
def test_class_weights_that_are_none_are_refused(class_weight, said):
    with pytest.raises(InputError, match=said):
        tw.prune(CLASSIFIER, X, WORDS, class_weight=class_weight, tradeoff=0.1)


def test_regressors_have_no_class_weights():
    with pytest.raises(InputError, match="`class_weight` is for classifiers"):
        tw.prune(REGRESSOR, X, TARGETS, class_weight="balanced", tradeoff=0.1)
    with pytest.raises(InputError, match="`class_weight` is for classifiers"):
        tw.PrunedEnsembleRegressor(REGRESSOR, class_weight={1: 2}).fit(X, TARGETS)
