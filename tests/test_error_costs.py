"""What wrong answers cost: the objective is money, tests and errors together."""

from itertools import pairwise

import numpy as np
import pytest
from paths import HEART
from prunings import all_masks
from scipy.optimize import Bounds, LinearConstraint, milp
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import thriftwood as tw
from thriftwood.adapters import read_forest
from thriftwood.errors import InputError, UnfittedModelError
from thriftwood.forest import collapse, leaves

MATRICES = {
    "number": (3.0, [[0, 3], [3, 0]]),
    "mapping": ({1: 5, 0: 0.5}, [[0, 0.5], [5, 0]]),
    "matrix": ([[0.1, 2], [7, 0.3]], [[0.1, 2], [7, 0.3]]),
}


def drawn(seed, n_samples=60, n_classes=2):
    X, y = make_classification(
        n_samples, 5, n_informative=4, n_redundant=0, n_classes=n_classes, random_state=seed
    )
    return X, y


def paid(forest, kept, X, y, matrix, prices):
    """Return what tests and errors of one pruned tree cost a sample, one sample at a time."""
    pruned, _ = collapse(forest, kept)
    total = 0.0
    for row, label, leaf in zip(X, y, leaves(pruned, X.astype(np.float32))[:, 0], strict=True):
        answer = int(np.argmin(pruned.values[leaf] @ matrix))
        total += matrix[label][answer]
        node, asked = 0, set()
        while pruned.is_split[node]:
            asked.add(int(pruned.feature[node]))
            goes_left = np.float32(row[pruned.feature[node]]) <= pruned.threshold[node]
            node = int(pruned.left[node] if goes_left else pruned.right[node])
        total += sum(prices[feature] for feature in asked)
    return total / len(X)


@pytest.mark.parametrize("given", MATRICES.values(), ids=MATRICES)
@pytest.mark.parametrize("seed", range(4))
def test_the_pruning_of_a_tree_costs_the_least_of_all(given, seed):
    error_costs, matrix = given
    X, y = drawn(seed)
    prices = np.random.default_rng(seed).integers(1, 40, 5) / 100
    tree = DecisionTreeClassifier(max_leaf_nodes=8, random_state=seed).fit(X, y)
    forest, matrix = read_forest(tree), np.array(matrix, dtype=float)
    pruned = tw.prune(tree, X, y, costs=prices, error_costs=error_costs)
    least = min(paid(forest, kept, X, y, matrix, prices) for kept in all_masks(forest))
    assert pruned.tradeoff == 1
    assert pruned.cost + pruned.loss == pytest.approx(least)
    assert tw.prune_path(tree, X, y, costs=prices, error_costs=error_costs).at(
        tradeoff=1
    ).loss == pytest.approx(pruned.loss)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_program_of_whole_numbers_finds_nothing_cheaper(n_classes):
    X, y = drawn(7, 200, n_classes)
    rng = np.random.default_rng(7)
    matrix = rng.integers(1, 30, (n_classes, n_classes)) * (1.0 - np.eye(n_classes))
    prices = rng.integers(1, 40, 5) / 10
    tree = DecisionTreeClassifier(max_leaf_nodes=25, random_state=0).fit(X, y)
    pruned = tw.prune(tree, X, y, costs=prices, error_costs=matrix)
    assert pruned.cost + pruned.loss == pytest.approx(_by_milp(tree, X, y, matrix, prices))


def _by_milp(tree, X, y, matrix, prices):
    """Least mean cost: which nodes are leaves (one on every way), which values are bought."""
    t, n_samples = tree.tree_, len(X)
    ways = tree.decision_path(X).toarray().astype(bool)
    answers = np.argmin(t.value[:, 0] @ matrix, axis=1)
    lost = [matrix[y[ways[:, node]], answers[node]].sum() for node in range(t.node_count)]
    rows, buys = [], {}
    n_nodes = t.node_count
    parent = np.full(n_nodes, -1)
    for node in range(n_nodes):
        for child in (t.children_left[node], t.children_right[node]):
            if child >= 0:
                parent[child] = node
    for sample in range(n_samples):
        for node in np.flatnonzero(ways[sample] & (t.children_left >= 0)):
            buys.setdefault((int(t.feature[node]), sample), []).append(int(node))
    n_variables = n_nodes + len(buys)
    for leaf in np.flatnonzero(t.children_left < 0):  # one leaf on every way
        row, node = np.zeros(n_variables), leaf
        while node >= 0:
            row[node], node = 1, parent[node]
        rows.append((row, 1, 1))
    for k, nodes in enumerate(buys.values()):
        for node in nodes:  # a value is bought unless the node or one above it is a leaf
            row, above = np.zeros(n_variables), node
            while above >= 0:
                row[above], above = 1, parent[above]
            row[n_nodes + k] = 1
            rows.append((row, 1, np.inf))
    objective = np.concatenate([lost, [prices[feature] for feature, _ in buys]]) / n_samples
    table, low, high = (np.array(part) for part in zip(*rows, strict=True))
    found = milp(
        objective,
        constraints=LinearConstraint(table, low, high),
        bounds=Bounds(0, 1),
        integrality=np.ones(n_variables),
    )
    return found.fun


def test_one_price_for_every_error_is_the_error_times_that_price():
    forest = RandomForestClassifier(10, random_state=0).fit(HEART.X, HEART.y)
    money = tw.prune_path(forest, HEART.X, HEART.y, costs=HEART.costs, error_costs=250)
    errors = tw.prune_path(forest, HEART.X, HEART.y, costs=HEART.costs)
    np.testing.assert_allclose(money.costs, errors.costs)
    np.testing.assert_allclose(money.losses, 250 * errors.losses)
    np.testing.assert_allclose(money.tradeoffs, 250 * errors.tradeoffs)


def test_dearer_errors_buy_more_tests():
    forest = RandomForestClassifier(10, random_state=0).fit(HEART.X, HEART.y)
    costs = [
        tw.prune(forest, HEART.X, HEART.y, costs=HEART.costs, error_costs=price).cost
        for price in (0, 10, 100, 1000, 100_000)
    ]
    assert all(less <= more for less, more in pairwise(costs))
    assert costs[0] == 0 < costs[-1]


def test_a_problem_knows_that_it_counts_money():
    forest = RandomForestClassifier(5, random_state=0).fit(HEART.X, HEART.y)
    problem = tw.pruning_problem(forest, HEART.X, HEART.y, costs=HEART.costs, error_costs=300)
    pruned = tw.prune(problem)
    assert (pruned.tradeoff, pruned.loss_name) == (1, "error_costs")
    assert tw.verify_pruning(problem, pruned, tradeoff=1).is_optimal


@pytest.mark.parametrize(
    ("error_costs", "words"),
    [
        (-1, "at least 0"),
        (np.nan, "at least 0"),
        ({1: 5}, "where 0 is true"),
        ({1: 5, 0: 1, 2: 3}, "which the model does not know"),
        ([[0, 1, 2], [1, 0, 2]], r"shape \(2, 3\), but the model knows 2 classes"),
        ([[0, 1], [-2, 0]], "-2.0 in row 1, column 0"),
        ("dear", "error_costs"),
    ],
)
def test_costs_of_errors_that_are_none(error_costs, words):
    forest = RandomForestClassifier(2, random_state=0).fit(HEART.X, HEART.y)
    with pytest.raises(InputError, match=words):
        tw.prune(forest, HEART.X, HEART.y, error_costs=error_costs)


def test_models_without_answers_of_their_own():
    X, y = np.nan_to_num(HEART.X), HEART.y
    forest = RandomForestClassifier(2, random_state=0).fit(X, y)
    with pytest.raises(InputError, match="for classifiers"):
        tw.prune(DecisionTreeRegressor(max_depth=2).fit(X, y), X, y, error_costs=1)
    with pytest.raises(InputError, match="answer only together"):
        tw.prune(GradientBoostingClassifier(n_estimators=2).fit(X, y), X, y, error_costs=1)
    with pytest.raises(InputError, match="either `loss` or `error_costs`"):
        tw.prune_path(forest, X, y, error_costs=1, loss="brier")


def test_a_threshold_around_a_model_asks_for_the_same_features():
    forest = RandomForestClassifier(5, random_state=0).fit(HEART.X, HEART.y)
    pruned = tw.prune(forest, HEART.X, HEART.y, costs=HEART.costs, error_costs={0: 100, 1: 900})
    by_threshold = FixedThresholdClassifier(FrozenEstimator(pruned.model), threshold=0.1)
    by_threshold.fit(HEART.X, HEART.y)
    bill = tw.feature_bill(by_threshold, HEART.X, HEART.costs)
    assert bill.mean == pytest.approx(pruned.cost)
    answers = by_threshold.predict(HEART.X)
    expected = pruned.model.predict_proba(HEART.X) @ np.array([[0, 100], [900, 0]])
    np.testing.assert_array_equal(answers, expected.argmin(axis=1))
    with pytest.raises(UnfittedModelError):
        tw.feature_bill(FixedThresholdClassifier(RandomForestClassifier()), HEART.X)


# --- choosing, and answers

no_test_pays = pytest.mark.filterwarnings("ignore:.*no test is worth its price:UserWarning")


@no_test_pays
def test_the_score_is_what_answers_of_the_written_model_cost():
    X, y = drawn(3, 400, 3)
    matrix = np.array([[0.0, 1, 5], [2, 0, 1], [9, 3, 0]])
    forest = RandomForestClassifier(8, max_leaf_nodes=20, random_state=0).fit(X[:200], y[:200])
    weight = np.random.default_rng(0).integers(1, 4, 200)
    path = tw.prune_path(forest, X[:200], y[:200])
    X, y = X[200:], y[200:]
    measured = path.evaluate(X, y, error_costs=matrix, sample_weight=weight)
    for point in range(0, len(path), 5):
        answers = (path[point].model.predict_proba(X) @ matrix).argmin(axis=1)
        mean = np.average(matrix[y, answers], weights=weight)
        assert -measured.score[point] == pytest.approx(mean)
    np.testing.assert_allclose(measured.total_cost, measured.cost - measured.score)
    assert "total_cost" in measured.to_frame()
    assert path.evaluate(X, y).total_cost is None
    chosen = path.choose(X, y, error_costs=matrix, sample_weight=weight)
    assert chosen.choice.rule == "least_total_cost"
    best = measured.total_cost.min()
    assert chosen.choice.cost - chosen.choice.score == pytest.approx(best)


@no_test_pays
@pytest.mark.parametrize(
    ("kind", "cv"),
    [
        (RandomForestClassifier, 3),
        (RandomForestClassifier, "out_of_bag"),
        (GradientBoostingClassifier, 3),
    ],
)
def test_the_estimator_answers_with_the_class_of_least_expected_cost(kind, cv):
    X, y = np.nan_to_num(HEART.X), np.where(HEART.y == 1, "sick", "well")
    costs = {"sick": 2000, "well": 100}
    model = tw.PrunedEnsembleClassifier(
        kind(n_estimators=10, random_state=0), costs=HEART.costs, error_costs=costs, cv=cv
    ).fit(X, y)
    matrix = np.array([[0, 2000], [100, 0]])  # classes are sorted: sick, well
    probability = model.predict_proba(X)
    measured, place = model.evaluation_, model.pruned_.index
    errors, of_whole = -measured.score, -measured.original.score
    if kind is RandomForestClassifier:  # boosted trees are not recalibrated
        probability = model.recalibration_(probability)
        errors = (errors + measured.expected_cost) / 2
        of_whole = (of_whole + measured.original.expected_cost) / 2
    expected = probability @ matrix
    np.testing.assert_array_equal(model.predict(X), model.classes_[expected.argmin(axis=1)])
    np.testing.assert_array_equal(tw.LazyPredictor(model).predict(X).labels, model.predict(X))
    total, whole = measured.cost + errors, measured.original.cost + of_whole
    assert (whole if place is None else total[place]) == pytest.approx(min(whole, total.min()))


@no_test_pays
def test_a_fold_that_lacks_a_class_is_measured_on_the_others():
    X, y = drawn(5, 60, 3)
    y[y == 2] = 0
    y[:3] = 2
    halves = [(np.arange(30, 60), np.arange(30)), (np.arange(30), np.arange(30, 60))]
    model = tw.PrunedEnsembleClassifier(
        RandomForestClassifier(5, random_state=0), error_costs={0: 3, 1: 2, 2: 9}, cv=halves
    )
    assert len(model.fit(X, y).predict(X)) == 60


def test_a_rule_by_money_needs_money():
    forest = RandomForestClassifier(3, random_state=0).fit(HEART.X, HEART.y)
    path = tw.prune_path(forest, HEART.X, HEART.y)
    with pytest.raises(InputError, match="needs `error_costs`"):
        path.choose(HEART.X, HEART.y, rule="least_total_cost")
    with pytest.raises(InputError, match="either `scoring` or `error_costs`"):
        path.choose(HEART.X, HEART.y, scoring="accuracy", error_costs=3)
    with pytest.raises(InputError, match="either `scoring` or `error_costs`"):
        tw.PrunedEnsembleClassifier(scoring="accuracy", error_costs=3).fit(HEART.X, HEART.y)


# --- growing


def asked_and_said(forest, kept, row, counts):
    """Return the features a sample asks for, and the mean of the trees that count it."""
    asked, said = set(), []
    for root, own in zip(forest.tree_start[:-1], counts, strict=True):
        node = int(root)
        while kept[node]:
            asked.add(int(forest.feature[node]))
            goes_left = row[forest.feature[node]] <= forest.threshold[node]
            node = int(forest.left[node] if goes_left else forest.right[node])
        said += [forest.values[node]] * bool(own)
    return asked, np.mean(said, axis=0) if said else None


@pytest.mark.parametrize("bootstrap", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_grown_trees_stop_where_tests_cost_more_than_they_save(bootstrap, seed):
    X, y = drawn(seed)
    matrix, prices = np.array([[0.1, 2], [7, 0.3]]), np.array([0.9, 0.4, 0.1, 1.3, 0.2])
    options = {"costs": prices, "max_depth": 2, "bootstrap": bootstrap, "random_state": seed}
    grown = tw.BudgetForestClassifier(2, **options).fit(X, y)
    stopped = tw.BudgetForestClassifier(2, error_costs=matrix, **options).fit(X, y)
    counted = np.ones((2, len(y)))
    if bootstrap:
        for tree, drawn_by_tree in enumerate(grown.estimators_samples_):
            counted[tree, drawn_by_tree] = 0

    def total(forest, kept):
        """Bills of all samples, and errors of those that a tree was not grown on."""
        rows = zip(X.astype(np.float32), y, counted.T, strict=True)
        found = [(*asked_and_said(forest, kept, row, own), label) for row, label, own in rows]
        lost = [
            matrix[label][np.argmin(said @ matrix)] for _, said, label in found if said is not None
        ]
        return np.mean([prices[list(asked)].sum() for asked, *_ in found]) + np.mean(lost)

    whole, small = read_forest(grown), read_forest(stopped)
    samples = "out_of_bag" if bootstrap else "all"
    path = tw.prune_path(grown, X, y, costs=prices, error_costs=matrix, samples=samples)
    points = [total(whole, path.kept_nodes(point)) for point in range(len(path))]
    assert total(small, small.is_split) == pytest.approx(min(points))
    assert small.n_splits < whole.n_splits
    expected = stopped.predict_proba(X) @ matrix
    np.testing.assert_array_equal(stopped.predict(X), expected.argmin(axis=1))


def test_growing_by_money_looks_further_than_one_split():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 20)
    y = X[:, 0] ^ X[:, 1]  # no single test saves anything
    options = {"costs": [1, 1], "bootstrap": False, "random_state": 0, "impurity": "entropy"}
    X[0], y[0] = (0, 1), 1  # a gain that is there at all
    for error_costs, bill in ((3.0, 0.0), (5.0, 2.0)):
        forest = tw.BudgetForestClassifier(1, error_costs=error_costs, **options).fit(X, y)
        assert tw.feature_bill(forest, X, [1, 1]).mean == bill


def test_the_class_weights_of_the_training_do_not_weigh_money():
    X, y = drawn(3)
    balanced = RandomForestClassifier(5, class_weight="balanced", random_state=0).fit(X, y)
    plain = tw.prune(balanced, X, y, error_costs=4, class_weight="uniform")
    assert tw.prune(balanced, X, y, error_costs=4).loss == plain.loss


def test_growing_refuses_what_makes_no_sense():
    X, y = drawn(0)
    for options, words in [
        ({"error_costs": {0: 5}}, "do not say what a wrong answer costs where 1 is true"),
        ({"error_costs": -1}, "`error_costs`"),
        ({"error_costs": [[0, 1], [1]]}, "rows of different lengths: pass 2 rows"),
        ({"error_costs": 3, "budget": 2}, "Pass either `budget` or `error_costs`"),
    ]:
        with pytest.raises(InputError, match=words):
            tw.BudgetForestClassifier(2, **options).fit(X, y)


# --- what follows from them elsewhere


def test_a_path_of_money_chooses_by_money_also_from_a_file(tmp_path):
    X, y = drawn(3, 400, 3)
    matrix = np.array([[0.0, 40, 200], [80, 0, 40], [360, 120, 0]])
    forest = RandomForestClassifier(8, max_leaf_nodes=20, random_state=0).fit(X[:200], y[:200])
    path = tw.prune_path(forest, X[:200], y[:200], error_costs=matrix)
    path.save(tmp_path / "path.npz")
    X, y = X[200:], y[200:]
    for own in (path, tw.PruningPath.load(tmp_path / "path.npz", forest)):
        named, inherited = own.choose(X, y, error_costs=matrix), own.choose(X, y)
        assert inherited.choice.rule == "least_total_cost"
        assert inherited.index == named.index
        np.testing.assert_array_equal(own.evaluate(X, y).error_costs, matrix)
        np.testing.assert_array_equal(own.cascade(X, y).error_costs, matrix)
        assert own.evaluate(X, y, scoring="accuracy").scoring == "accuracy"
    plain = tw.prune_path(forest, X, y)
    assert plain.choose(X, y).choice.scoring == "roc_auc_ovr"


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_lazy_predictor_answers_by_what_errors_cost(n_classes):
    X, y = drawn(4, 300, n_classes)
    rng = np.random.default_rng(4)
    matrix = rng.integers(1, 90, (n_classes, n_classes)) * (1.0 - np.eye(n_classes))
    forest = RandomForestClassifier(6, random_state=0).fit(X[:150], y[:150])
    chosen = tw.prune_path(forest, X[:150], y[:150]).choose(X[150:], y[150:], error_costs=matrix)
    lazy = tw.LazyPredictor(chosen, acquire=lambda i, k: X[i, k], error_costs=matrix)
    answers = (chosen.model.predict_proba(X) @ matrix).argmin(axis=1)
    np.testing.assert_array_equal(lazy.predict(range(300)).labels, answers)
    assert (answers != chosen.model.predict(X)).any()
    with pytest.raises(InputError, match="shape"):
        tw.LazyPredictor(chosen, error_costs=np.ones((5, 5)))
    with pytest.raises(InputError, match="once the most probable class is"):
        tw.LazyPredictor(chosen, error_costs=3, stop="decided")


def test_a_forest_whose_answers_no_test_changes_buys_none():
    X, y = load_breast_cancer(return_X_y=True)
    prices = np.round(np.exp(np.random.default_rng(0).uniform(0, np.log(100), X.shape[1])), 1)
    are_constant = []
    for error in (1, 20, 500):
        forest = tw.BudgetForestClassifier(
            20, costs=prices, impurity="entropy", error_costs=error, random_state=0
        ).fit(X[:300], y[:300])
        # Single trees would still ask for a cheap test where together they always answer the same.
        are_constant.append(len(set(forest.predict(X[:300]))) == 1)
        assert are_constant[-1] == (tw.feature_bill(forest, X, prices).mean == 0)
    assert any(are_constant)
    assert not all(are_constant)
