"""Published price lists with discounts: bills of single patients, computed by hand."""

import numpy as np
import pytest
from builders import forest_of, leaf, split
from receipts import receipts
from shared_data import SHARED, needs_shared_data
from sklearn.ensemble import RandomForestClassifier

import thriftwood as tw
from thriftwood.adapters import read_forest

HEART = tw.datasets.load_heart()
AGE, _, CP, _, CHOL, FBS, _, THALACH, EXANG, OLDPEAK, _, CA, THAL = range(13)


def costs_of(names, costs, costs_in_group, cost_groups, **more):
    """Return the price list of a data set: a fee for each group, and what is left of its prices."""
    groups, fees = {}, {}
    for name, alone, later, group in zip(names, costs, costs_in_group, cost_groups, strict=True):
        if group:
            groups.setdefault(group, []).append(name)
            fees[group] = round(float(alone - later), 2)
    per_feature = dict(zip(names, map(float, costs_in_group), strict=True))
    return tw.Costs(per_feature=per_feature, groups=groups, group_fee=fees, unit="CAD", **more)


def heart_costs():
    return costs_of(HEART.feature_names, HEART.costs, HEART.costs_in_group, HEART.cost_groups)


def prices_of(costs, feature):
    """Return the bill of a row that a stump puts to one test."""
    n_features = len(costs.per_feature)
    stump = forest_of(
        split(feature, 0.0, leaf((1.0, 0.0)), leaf((0.0, 1.0)), (0.5, 0.5)), n_features=n_features
    )
    rows = named(np.zeros((1, n_features)), costs.per_feature)
    return tw.feature_bill(stump, rows, costs).mean


def named(rows, names):
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(rows, columns=list(names))


HEALTHY, ILL, UNSURE = (1.0, 0.0), (0.0, 1.0), (0.5, 0.5)
BY_THAL = split(
    THAL,
    4.5,
    split(CHOL, 240.0, leaf(HEALTHY), split(FBS, 0.5, leaf(ILL), leaf(HEALTHY), UNSURE), UNSURE),
    split(THALACH, 140.0, leaf(ILL), split(CP, 3.5, leaf(HEALTHY), leaf(ILL), UNSURE), UNSURE),
    UNSURE,
)
BY_EXERCISE = split(
    EXANG,
    0.5,
    split(OLDPEAK, 2.0, leaf(HEALTHY), leaf(ILL), UNSURE),
    split(THAL, 6.5, leaf(HEALTHY), split(AGE, 60.0, leaf(HEALTHY), leaf(ILL), ILL), UNSURE),
    UNSURE,
)

# Of the first three patients of Cleveland:
#       age  cp  chol  fbs  thalach  exang  oldpeak  thal
#   0    63   1   233    1      150      0      2.3     6
#   1    67   4   286    0      108      1      1.5     3
#   2    67   4   229    0      129      1      2.6     7
# Fees: A (blood) 2.10, B (thallium scan) 101.90, C (exercise test) 86.30.
ONE_TREE = [
    104.90,  # B 101.90 + thal 1 + thalach 1 + cp 1; not twice 102.90
    113.27,  # B 101.90 + thal 1, A 2.10 + chol 5.17 + fbs 3.10
    103.90,  # B 101.90 + thal 1 + thalach 1
]
TWO_TREES = [
    193.20,  # the 104.90 above, C 86.30 + exang 1 + oldpeak 1
    200.57,  # the 113.27 above, C 86.30 + exang 1; thal is paid
    192.20,  # the 103.90 above, C 86.30 + exang 1, age 1; thal is paid
]


def test_the_patients_are_those_of_the_table():
    columns = [AGE, CP, CHOL, FBS, THALACH, EXANG, OLDPEAK, THAL]
    expected = [
        [63, 1, 233, 1, 150, 0, 2.3, 6],
        [67, 4, 286, 0, 108, 1, 1.5, 3],
        [67, 4, 229, 0, 129, 1, 2.6, 7],
    ]
    np.testing.assert_allclose(HEART.X[:3][:, columns], expected, rtol=1e-6)


@pytest.mark.parametrize("feature", range(13))
def test_a_test_alone_costs_its_full_price(feature):
    assert prices_of(heart_costs(), feature) == pytest.approx(HEART.costs[feature])


@pytest.mark.parametrize(
    ("trees", "bills"), [((BY_THAL,), ONE_TREE), ((BY_THAL, BY_EXERCISE), TWO_TREES)]
)
def test_heart_patients_pay_each_fee_once(trees, bills):
    forest = forest_of(*trees, n_features=13)
    rows = named(HEART.X[:3], HEART.feature_names)
    bill = tw.feature_bill(forest, rows, heart_costs())
    np.testing.assert_allclose(bill.per_sample, bills, atol=1e-9)
    slow = receipts(forest, rows, heart_costs(), HEART.feature_names)
    np.testing.assert_allclose(slow.per_row, bills, atol=1e-9)
    assert bill.fees["A"] == pytest.approx(0.70)  # 2.10 of one patient out of three
    assert bill.fees["B"] == pytest.approx(101.90)
    assert bill.fees.get("C", 0) == pytest.approx(86.30 * (len(trees) == 2))
    assert bill.model_cost == 0


def test_who_has_had_the_scan_does_not_pay_for_it_again():
    forest = forest_of(BY_THAL, BY_EXERCISE, n_features=13)
    rows = named(HEART.X[:3], HEART.feature_names)
    done = heart_costs().for_samples(known={"thal": [True, True, True]})
    bill = tw.feature_bill(forest, rows, done)
    expected = [
        192.20,  # the fee of B is due for thalach: 193.20 - thal 1
        97.67,  # nothing of B: 200.57 - 102.90
        191.20,  # thalach again: 192.20 - thal 1
    ]
    np.testing.assert_allclose(bill.per_sample, expected, atol=1e-9)


def test_patients_of_one_visit_share_what_the_visit_shares():
    forest = forest_of(BY_THAL, n_features=13)
    rows = named(HEART.X[:3], HEART.feature_names)
    visits = heart_costs().for_samples(shared_by={"B": ["monday", "monday", "tuesday"]})
    bill = tw.feature_bill(forest, rows, visits)
    expected = [
        53.95,  # 104.90 - 101.90 / 2
        62.32,  # 113.27 - 101.90 / 2
        103.90,  # alone on Tuesday
    ]
    np.testing.assert_allclose(bill.per_sample, expected, atol=1e-9)


def test_the_pruning_of_one_tree_can_be_done_by_hand():
    # Patient 0 is healthy, 1 and 2 are ill. An unsure node says healthy, so that at the root two of
    # three are wrong.
    #   thal and thalach put patient 2 right: (103.90 + 102.90 + 103.90) / 3 = 310.70 / 3
    #   with chol and fbs patient 1, too:     (103.90 + 113.27 + 103.90) / 3 = 321.07 / 3
    #   cp puts nobody right.
    # The first third of the loss costs 310.70 / 3, the second 10.37 / 3: both go or none.
    forest = forest_of(BY_THAL, n_features=13)
    rows = named(HEART.X[:3], HEART.feature_names)
    assert HEART.y[:3].tolist() == [0, 1, 1]
    path = tw.prune_path(forest, rows, [0, 1, 1], costs=heart_costs())
    np.testing.assert_allclose(path.losses, [0, 2 / 3], atol=1e-12)
    np.testing.assert_allclose(path.costs, [321.07 / 3, 0], atol=1e-9)
    np.testing.assert_allclose(path.tradeoffs, [0, 2 / 321.07])
    assert path[0].n_splits == 4


def test_a_forest_pruned_with_discounts_is_billed_by_the_receipts():
    model = RandomForestClassifier(5, max_depth=5, random_state=0).fit(HEART.frame(), HEART.y)
    path = tw.prune_path(model, HEART.frame(), HEART.y, costs=heart_costs())
    for index in np.linspace(0, len(path) - 1, 6).astype(int):
        point = path[int(index)]
        slow = receipts(read_forest(point.model), HEART.frame(), heart_costs())
        assert point.cost == pytest.approx(slow.mean)
        # Never dearer than the sum of full prices, and cheaper as soon as two share a fee.
        assert point.cost <= tw.feature_bill(point.model, HEART.frame(), HEART.costs).mean + 1e-9
    assert path.costs[0] < tw.feature_bill(path[0].model, HEART.frame(), HEART.costs).mean - 1


# --- thyroid: one blood sample, and an index that is computed from two of its tests

TSH, T3, TT4, T4U, FTI = range(16, 21)


def thyroid():
    """Return rows with names, and the price list."""
    with np.load(SHARED / "thyroid_ann.npz") as data:
        names = data["feature_names"].tolist()
        groups = ["" if group == "derived" else group for group in data["cost_group"].tolist()]
        later = data["costs_discount"]
        alone = np.where(data["cost_group"] == "derived", later, data["costs"])
        costs = costs_of(names, alone, later, groups, requires={"FTI": ["TT4", "T4U"]})
        return named(data["X"], names), data["y"], costs


BY_TSH = split(
    TSH,
    0.001,
    leaf((1.0, 0.0)),
    split(FTI, 0.08, leaf((0.0, 1.0)), split(T3, 0.02, leaf(ILL), leaf(HEALTHY), UNSURE), UNSURE),
    UNSURE,
)
BY_TT4 = split(0, 0.5, leaf(HEALTHY), split(TT4, 0.1, leaf(HEALTHY), leaf(ILL), UNSURE), UNSURE)


@needs_shared_data
def test_the_fee_of_the_thyroid_group_is_taking_blood():
    _, _, costs = thyroid()
    assert costs.group_fee == {"A": 2.10}
    assert costs.groups == {"A": ["TSH", "T3", "TT4", "T4U"]}
    assert costs.per_feature["FTI"] == 0
    assert prices_of(costs, TSH) == pytest.approx(22.78)
    # TT4 12.41 + T4U 9.31 and one sample 2.10; the sum of their full prices is 25.92.
    assert prices_of(costs, FTI) == pytest.approx(23.82)


@needs_shared_data
def test_thyroid_patients_pay_for_what_an_index_is_computed_from():
    rows, _, costs = thyroid()
    rows = rows.iloc[[0, 2, 3]]
    #        age      TSH     T3    TT4    FTI
    #   0   0.73  0.00060  0.015  0.120  0.146
    #   2   0.47  0.00190  0.024  0.102  0.078
    #   3   0.64  0.00090  0.017  0.077  0.085
    np.testing.assert_allclose(
        rows[["age", "TSH", "T3", "TT4", "FTI"]],
        [
            [0.73, 0.0006, 0.015, 0.120, 0.146],
            [0.47, 0.0019, 0.024, 0.102, 0.078],
            [0.64, 0.0009, 0.017, 0.077, 0.085],
        ],
        rtol=1e-6,
    )
    forest = forest_of(BY_TSH, BY_TT4, n_features=21)
    bill = tw.feature_bill(forest, rows, costs)
    expected = [
        36.19,  # A 2.10 + TSH 20.68, age 1, TT4 12.41
        45.50,  # A 2.10 + TSH 20.68, FTI 0 + TT4 12.41 + T4U 9.31, age 1
        36.19,  # as the first
    ]
    np.testing.assert_allclose(bill.per_sample, expected, atol=1e-9)
    np.testing.assert_allclose(bill.bought[[0, TSH, T3, TT4, T4U, FTI]], [1, 1, 0, 1, 1 / 3, 1 / 3])
    assert bill.fees["A"] == pytest.approx(2.10)
    # Whoever has the index at hand needs neither of its parts for it:
    # TT4 is not tested at that age.
    known = costs.for_samples(known={"FTI": [False, True, False]})
    lighter = tw.feature_bill(forest, rows, known)
    # A 2.10 + TSH 20.68, age 1
    np.testing.assert_allclose(lighter.per_sample, [36.19, 23.78, 36.19], atol=1e-9)


@needs_shared_data
def test_a_thyroid_forest_is_billed_by_the_receipts():
    rows, y, costs = thyroid()
    rows, y = rows.iloc[:400], y[:400]
    model = RandomForestClassifier(4, max_depth=5, max_features=None, random_state=0).fit(rows, y)
    path = tw.prune_path(model, rows, y, costs=costs)
    for index in (0, len(path) // 2, len(path) - 1):
        point = path[index]
        assert point.cost == pytest.approx(receipts(read_forest(point.model), rows, costs).mean)
