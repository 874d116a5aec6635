"""Prices that contradict themselves, the columns or the rows are refused by name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from builders import forest_of, leaf, split

import thriftwood as tw
from thriftwood.errors import InputError, UnusedPriceWarning

NAMES = ["age", "chol", "fbs"]
FOREST = forest_of(
    split(1, 0.5, leaf((1.0, 0.0)), leaf((0.0, 1.0)), (0.5, 0.5)),
    split(2, 0.5, leaf((1.0, 0.0)), leaf((0.0, 1.0)), (0.5, 0.5)),
    n_features=3,
)
X = np.array([[0.0, 0, 0], [0, 1, 0], [1, 0, 1], [1, 1, 1]])
Y = np.array([0, 1, 0, 1])
FRAME = pd.DataFrame(X, columns=NAMES)
GROUPS = {"blood": ["chol", "fbs"]}
FEE = {"blood": 2.1}

CALLS = {
    "prune": lambda rows, costs: tw.prune(FOREST, rows, Y, costs=costs, tradeoff=0.1),
    "prune_path": lambda rows, costs: tw.prune_path(FOREST, rows, Y, costs=costs),
    "feature_bill": lambda rows, costs: tw.feature_bill(FOREST, rows, costs),
}


@pytest.fixture(params=list(CALLS))
def ask(request):
    """Ask for a pruning, a path or a bill with prices for columns that have names."""
    return lambda rows=FRAME, **prices: CALLS[request.param](rows, tw.Costs(**prices))


def refused(*words):
    """Expect an error that says all of these words."""
    return pytest.raises(InputError, match="".join(f"(?=.*{word})" for word in words))


def test_good_prices_are_taken(ask):
    ask(
        per_feature={"age": 1, "chol": 5.17, "fbs": 3.1},
        groups=GROUPS | {"visit": ["blood", "age"]},
        group_fee=FEE,
        requires={"fbs": ["age"]},
        per_model={"chol": 1, "blood": 2},
        predictions=10,
        per_sample={"chol": [1, 2, 2, 1]},
        known={"fbs": [True, False, False, True]},
        shared_by={"blood": ["a", "a", "b", "b"], "age": [1, 1, 1, 1]},
    )


# --- names


@pytest.mark.parametrize(
    ("field", "prices"),
    [
        ("groups", {"groups": {"blood": ["chol", "sugar"]}, "group_fee": FEE}),
        ("groups", {"groups": {"lab": ["blood", "sugar"]} | GROUPS, "group_fee": FEE}),
        ("requires", {"requires": {"fbs": ["sugar"]}}),
        ("requires", {"requires": {"sugar": ["fbs"]}}),
        ("per_model", {"per_model": {"sugar": 1}, "predictions": 10}),
        ("shared_by", {"shared_by": {"sugar": [1, 1, 2, 2]}}),
        ("known", {"known": {"sugar": [True] * 4}}),
        ("per_sample", {"per_sample": {"sugar": [1.0] * 4}}),
    ],
)
def test_a_feature_that_no_column_has_is_refused(ask, field, prices):
    with refused(field, "sugar"):
        ask(**prices)


PRICES = {"age": 1, "chol": 5.17, "fbs": 3.1}


def test_features_that_no_column_has_may_have_prices(ask):
    """One list serves several models; what is left out is told, and what it names is known."""
    more = {
        "groups": {"blood": ["chol", "fbs", "sugar"], "urine": ["sugar"]},
        "group_fee": {"blood": 2.1, "urine": 3.0},
        "requires": {"sugar": ["fbs"]},
        "per_model": {"sugar": 100, "blood": 1},
        "predictions": 10,
        "known": pd.DataFrame({"sugar": [True] * 4, "fbs": [False, True, False, True]}),
        "shared_by": {"sugar": [1, 1, 2, 2]},
    }
    with pytest.warns(UnusedPriceWarning, match="names 'sugar', unknown to the model"):
        found = ask(per_feature=PRICES | {"sugar": 1}, **more)
    fewer = more | {
        "groups": {"blood": ["chol", "fbs"], "urine": []},
        "requires": {},
        "per_model": {"blood": 1},
        "known": {"fbs": more["known"]["fbs"]},
        "shared_by": None,
    }
    assert str(found) == str(ask(per_feature=PRICES, **fewer))
    with pytest.warns(UnusedPriceWarning), refused("requires", "sugar"):
        ask(per_feature=PRICES | {"sugar": 1}, requires={"fbs": ["sugar"]})


@pytest.mark.parametrize(
    "given",
    [
        pd.Series(PRICES)[::-1],
        pd.DataFrame({"Feature": PRICES.keys(), "Cost": PRICES.values()})[::-1],
        pd.DataFrame({"price": PRICES}),
        pd.DataFrame({"test": PRICES.keys(), "price": PRICES.values(), "group": ""}),
        pl.DataFrame({"column": list(PRICES), "cost": list(PRICES.values())}, strict=False),
        pd.DataFrame({"price": list(PRICES.values())}),
        np.array(list(PRICES.values())),
    ],
    ids=["series", "frame", "index", "group", "polars", "order", "array"],
)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_price_lists_as_people_have_them(call, given):
    expected = str(call(FRAME, PRICES))
    assert str(call(FRAME, given)) == expected
    assert str(call(FRAME, tw.Costs(per_feature=given))) == expected


def test_a_frame_may_hold_what_a_price_file_holds():
    frame = pd.DataFrame(
        {
            "name": [*NAMES, "blood"],
            "price": [1, 5.17, 3.1, 2.1],
            "group": [None, "blood", "blood", np.nan],
        }
    )
    expected = tw.Costs(per_feature=PRICES, groups=GROUPS, group_fee=FEE)
    assert vars(tw.Costs.from_frame(frame)) == vars(expected)
    bill = tw.feature_bill(FOREST, FRAME, expected)
    assert str(tw.feature_bill(FOREST, FRAME, frame)) == str(bill)
    with refused("per_feature", "from_frame"):
        tw.Costs(per_feature=frame)
    with refused("row 1, column 'price'", "dear"):
        tw.Costs.from_frame(frame.assign(price=[1, "dear", 1, 1]))
    with refused("'prise' is no column", "Did you mean 'price'"):
        tw.Costs.from_frame(frame.rename(columns={"price": "prise"}))


def test_prices_are_printed_as_a_table():
    costs = tw.Costs(
        per_feature=PRICES,
        groups=GROUPS,
        group_fee=FEE,
        per_split=0.5,
        known=np.zeros((4, 3), dtype=bool),
        unit="CAD",
    )
    assert str(costs).splitlines() == [
        "Costs in CAD",
        "  name   price  group",
        "  age        1",
        "  chol    5.17  blood",
        "  fbs      3.1  blood",
        "  blood    2.1",
        "  per_split = 0.5; known for certain samples",
    ]
    assert repr(costs).startswith("Costs(per_feature=..., groups=..., group_fee=..., per_split=0.5")
    assert str(tw.Costs()) == "Costs\n  per_feature = 1"
    assert str(tw.Costs(per_feature=np.ones(30))).splitlines()[-1] == "  ... and 10 more"


@pytest.mark.parametrize("field", ["requires", "known", "per_sample"])
def test_a_group_is_no_feature(ask, field):
    prices = {
        "requires": {"age": ["blood"]},
        "known": {"blood": [True] * 4},
        "per_sample": {"blood": [1.0] * 4},
    }
    with refused(field, "blood"):
        ask(groups=GROUPS, group_fee=FEE, **{field: prices[field]})


@pytest.mark.parametrize("number", [3, -1, 17])
def test_a_column_number_out_of_range_is_refused(ask, number):
    with refused("groups", str(number)):
        ask(rows=X, groups={"blood": [1, number]}, group_fee=FEE)


def test_a_name_where_columns_have_none_is_refused(ask):
    with refused("requires", "chol"):
        ask(rows=X, requires={2: ["chol"]})


def test_a_feature_without_price_is_refused(ask):
    with refused("fbs"):
        ask(per_feature={"age": 1, "chol": 1})


def test_a_group_named_like_a_feature_is_refused(ask):
    with refused("chol"):
        ask(groups={"chol": ["age", "fbs"]}, group_fee={"chol": 2.1})


def test_a_fee_for_an_unknown_group_is_refused(ask):
    with refused("group_fee", "urine"):
        ask(groups=GROUPS, group_fee={"urine": 1.0})
    with refused("group_fee", "blood"):
        ask(group_fee=FEE)


@pytest.mark.parametrize("field", ["groups", "requires"])
@pytest.mark.parametrize("links", [{"a": ["a"]}, {"a": ["b"], "b": ["c"], "c": ["a"]}])
def test_what_leads_back_to_itself_is_refused(field, links):
    with refused(field, "a", "itself"):
        tw.Costs(**{field: links})


@pytest.mark.parametrize("field", ["groups", "requires"])
def test_a_word_in_place_of_a_list_is_refused(field):
    with refused(field, "chol"):
        tw.Costs(**{field: {"blood": "chol"}})


# --- numbers


def test_what_is_paid_once_needs_a_number_of_predictions():
    with refused("per_model", "predictions"):
        tw.Costs(per_model={"chol": 1.0})
    with refused("per_node", "predictions"):
        tw.Costs(per_node=1.0)


@pytest.mark.parametrize("number", [0, -1, np.nan, np.inf, "many"])
def test_a_number_of_predictions_must_be_one(number):
    with refused("predictions"):
        tw.Costs(per_node=1.0, predictions=number)


@pytest.mark.parametrize("price", [-0.01, np.nan, np.inf, "dear", None])
@pytest.mark.parametrize("field", ["per_split", "per_node"])
def test_a_price_for_splits_must_be_a_finite_number_from_0(field, price):
    with refused(field):
        tw.Costs(predictions=10, **{field: price})


@pytest.mark.parametrize("price", [-0.01, np.nan, np.inf, "dear"])
@pytest.mark.parametrize(
    "field", ["per_feature", "per_feature by name", "group_fee", "per_model", "per_sample"]
)
def test_any_price_must_be_a_finite_number_from_0(ask, field, price):
    prices = {
        "per_feature": {"per_feature": [1, price, 1]},
        "per_feature by name": {"per_feature": {"age": 1, "chol": price, "fbs": 1}},
        "group_fee": {"groups": GROUPS, "group_fee": {"blood": price}},
        "per_model": {"per_model": {"chol": price}, "predictions": 10},
        "per_sample": {"per_sample": {"chol": [1, price, 1, 1]}},
    }[field]
    culprit = {"group_fee": "blood", "per_feature": r"\[1\]"}.get(field, "chol")
    with refused(culprit):
        ask(**prices)


# --- rows


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("per_sample", np.ones((3, 3))),
        ("per_sample", np.ones((4, 2))),
        ("per_sample", np.ones(4)),
        ("per_sample", {"chol": np.ones(3)}),
        ("per_sample", {"chol": np.ones((4, 1))}),
        ("per_sample", {"chol": 1.0}),
        ("known", np.ones((3, 3), dtype=bool)),
        ("known", np.ones((4, 4), dtype=bool)),
        ("known", np.ones(4, dtype=bool)),
        ("known", {"chol": [True] * 5}),
        ("known", {"chol": True}),
        ("shared_by", [1, 1, 2]),
        ("shared_by", np.ones((4, 3))),
        ("shared_by", {"chol": [1, 1, 2]}),
        ("shared_by", {"chol": "monday"}),
    ],
)
def test_prices_of_other_rows_are_refused(ask, field, value):
    with refused(field):
        ask(**{field: value})


@pytest.mark.parametrize("value", [[1, 2], [1, 2, 3, 4], [[1, 2, 3]]])
@pytest.mark.parametrize("field", ["per_feature", "per_model"])
def test_one_price_for_each_column_is_needed(ask, field, value):
    with refused("3"):
        ask(**{field: value, "predictions": 10})


@pytest.mark.parametrize("value", [0.5, 2, np.nan, "yes"])
def test_what_is_known_is_known_or_not(ask, value):
    with refused("known"):
        ask(known={"chol": [True, False, True, value]})


@pytest.mark.parametrize("call", [tw.prune_path, lambda *a, **k: tw.prune(*a, tradeoff=0.1, **k)])
def test_rows_of_a_batch_must_weigh_the_same_where_bills_are_weighed(call):
    weights = [1, 2, 1, 1]
    for shared in (["a", "a", "b", "b"], {"chol": ["a", "a", "b", "b"]}):
        weighed = tw.Costs(shared_by=shared, weigh_bills=True)
        with refused("shared_by", "a"):
            call(FOREST, FRAME, Y, costs=weighed, sample_weight=weights)
        # Where bills are not weighed, weights need not agree.
        call(FOREST, FRAME, Y, costs=tw.Costs(shared_by=shared), sample_weight=weights)
    alone = tw.Costs(shared_by=["a", "c", "b", "b"], weigh_bills=True)
    call(FOREST, FRAME, Y, costs=alone, sample_weight=weights)


@pytest.mark.parametrize(
    "ids",
    [["a", None, "b", "b"], [1.0, np.nan, 2, 2], pd.Series(["a", pd.NA, "b", "b"], dtype=object)],
    ids=["None", "NaN", "NA"],
)
def test_an_id_that_is_missing_is_refused(ask, ids):
    with refused("shared_by", "row 1"):
        ask(shared_by={"chol": ids})


def test_words_and_numbers_may_both_be_ids(ask):
    ask(shared_by={"chol": np.array(["a", 1, 1, "a"], dtype=object)})


def test_a_group_of_nothing_costs_nothing(ask):
    ask(groups={"none": []}, group_fee={"none": 1.0})
    ask(groups={"none": []}, per_model={"none": 1.0}, predictions=10)


def test_who_pays_together_pays_one_price(ask):
    ids = ["a", "a", "b", "b"]
    for shared in (ids, {"chol": ids}):
        with refused("per_sample", "shared_by", "chol"):
            ask(per_sample={"chol": [1, 2, 1, 1]}, shared_by=shared)
    ask(per_sample={"chol": [1, 2, 1, 1]}, shared_by={"fbs": ids})


def test_prices_of_some_rows_do_not_hold_for_others():
    costs = tw.Costs(known=np.zeros((4, 3), dtype=bool))
    path = tw.prune_path(FOREST, FRAME, Y, costs=costs)
    with refused("known"):
        path.evaluate(FRAME[:3], Y[:3], costs=costs)
    path.evaluate(FRAME[:3], Y[:3], costs=costs.take(np.arange(3)))


def test_what_is_no_frame_with_prices_is_refused():
    pd = pytest.importorskip("pandas")
    for other in (pd.DataFrame({"test": [], "cost": []}), "prices.csv", {"chol": 1.0}, None):
        with pytest.raises(InputError, match="no data frame with prices"):
            tw.Costs.from_frame(other)
