"""Prices in files: the formats agree, errors name the place, what is written comes back."""

import csv
import json
import os
import re
import string

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from price_files import A_PRICE, ROOT, SUFFIXES, THYROID, refusal, shown, written

import thriftwood as tw
from thriftwood.costs import Costs
from thriftwood.errors import InputError

__all__ = ["refusal"]  # a fixture


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_the_formats_say_the_same(tmp_path, suffix, line_end, start):
    file = written(tmp_path, suffix, start + shown(suffix).replace("\n", line_end))
    assert vars(Costs.from_file(file)) == vars(THYROID)


def test_the_prices_of_heart_are_those_of_the_data():
    data = tw.datasets.load_heart()
    costs = Costs.from_file(ROOT / "examples" / "heart_prices.csv")
    fees = {name: fee for group, fee in costs.group_fee.items() for name in costs.groups[group]}
    assert list(costs.per_feature) == list(data.feature_names)
    first = [price + fees.get(name, 0) for name, price in costs.per_feature.items()]
    np.testing.assert_allclose(first, data.costs)
    assert costs.unit == data.unit


def test_files_by_column_and_files_of_few_words(tmp_path):
    costs = Costs.from_file(written(tmp_path, ".json", '{"per_feature": [1, 2.5]}'))
    assert costs.per_feature == [1, 2.5]
    costs = Costs.from_file(written(tmp_path, ".TOML", "groups.a = ['x']\ngroup_fee.a = 3"))
    assert (costs.per_feature, costs.group_fee) == (None, {"a": 3})
    assert vars(Costs.from_file(written(tmp_path, ".json", "{}"))) == vars(Costs())
    costs = Costs.from_file(written(tmp_path, ".csv", "price,name\n.5,x\n1e2,y"))
    assert costs.per_feature == {"x": 0.5, "y": 100}


def test_what_spreadsheets_do_to_comments(tmp_path):
    text = '# unit = CAD,,\n"# as of spring, or so",,\nname,price,group\nx,1,\n,,\n'
    costs = Costs.from_file(written(tmp_path, ".csv", text))
    assert (costs.unit, costs.per_feature) == ("CAD", {"x": 1})
    costs = Costs.from_file(written(tmp_path, ".csv", "# unit = CAD;\nname,price\nx,1\n"))
    assert costs.unit == "CAD;"


@pytest.mark.parametrize(
    "comment", ["# note = cents", "# until: May", "#", "# = :", "# unit", "# see https://x.org?a=b"]
)
def test_other_comments_are_free_text(tmp_path, comment):
    costs = Costs.from_file(written(tmp_path, ".csv", f"{comment}\nname,price\nx,1\n"))
    assert vars(costs) == vars(Costs(per_feature={"x": 1}))


LOOP = "'b' leads back to itself: 'b', 'c', 'a', 'b'."
NO_FEATURE = "'b' is no feature of this list."
NEITHER = "'b' is neither a feature nor a group of this list."


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        ("-2", f"-2 is not a price: {A_PRICE}"),
        ("nan", f"nan is not a price: {A_PRICE}"),
        ("1e999", f"inf is not a price: {A_PRICE}"),
        ("1_000", f"'1_000' is not a price: {A_PRICE}"),
        ("5.1.7", f"'5.1.7' is not a price: {A_PRICE}"),
        ('"5,17"', f"'5,17' is not a price: {A_PRICE}"),
        ("5.17 CAD", f"'5.17 CAD' is not a price: {A_PRICE}"),
        ("", "'' is not a price: give 0 to what is free."),
    ],
)
def test_cells_that_are_no_prices(refusal, cell, says):
    text = f"# a comment\n\nname,price,per_model\nage,1,\nchol,{cell},\n"
    assert refusal(".csv", text).startswith(f"prices.csv, line 5, column 'price': {says}")
    if cell:
        text = f"name,price,per_model\nage,1,\nchol,1,{cell}\n"
        assert refusal(".csv", text).startswith(f"prices.csv, line 3, column 'per_model': {says}")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("# nothing\n", ": there must be a header"),
        ("name,price\n", ": there must be a header"),
        ("name\tprice\nx\t1\n", ", line 1: 'name\\tprice' is no column of a price list."),
        ("name;price\nx;1,5;2\n", ", line 2: the number of cells is 3, but the header has 2. Put"),
        (
            "name;prise\nx;1\n",
            ", line 1: 'prise' is no column of a price list. Did you mean",
        ),
        (
            "name;price;group\nx;1,5\n",
            ", line 2: the number of cells is 2, but the header has 3. Empty",
        ),
        (
            "name,prise\nx,1",
            ", line 1: 'prise' is no column of a price list. Did you mean",
        ),
        ("name,per_feature\nx,1", ", line 1: 'per_feature' is no column of a price list."),
        ("name,price,price\nx,1,2", ", line 1: there are two columns 'price'."),
        ("name,group\nx,a", ", line 1: the column 'price' is missing."),
        ("name,price\nx,1,2", ", line 2: the number of cells is 3, but the header has 2."),
        ("name,price\nx", ", line 2: the number of cells is 1, but the header has 2."),
        ('name,price\n"x,1\n', ", line 2: the quotes do not match"),
        ('name,price\n"x"y,1\n', ", line 2: the quotes do not match"),
        ("name,price\n ,1", ", line 2, column 'name': the name is empty."),
        (
            "name,price\nx,1\ny,1\n x,2",
            ", line 4, column 'name': 'x' is already in prices.csv, line 2.",
        ),
        ("name,price,group\nx,1,a\na,2,a", ", line 3, column 'group': 'a' leads back to itself"),
        ("name,price,group\nx,1,b\nb,1,a\na,2,c\nc,1,b", f", line 3, column 'group': {LOOP}"),
        ("name,price,group\nx,1,a\na,-2,", ", line 3, column 'price': -2 is not a price"),
        ("name,price,requires\nx,1,\ny,1,b\n", f", line 3, column 'requires': {NO_FEATURE}"),
        ("name,price,group,requires\nx,1,b,\ny,2,,b", f", line 3, column 'requires': {NO_FEATURE}"),
        ("name,price,requires\nb,1,c\nc,1,a\na,1,b", f", line 2, column 'requires': {LOOP}"),
        ("name,price,per_model\nx,1,5", ": `per_model` and `per_node` are paid once, but samples "),
    ],
)
def test_tables_that_make_no_sense(refusal, text, says):
    assert refusal(".csv", text).startswith(f"prices.csv{says}")


@pytest.mark.parametrize(
    ("comment", "says"),
    [
        ("# units = CAD", "'# units = CAD' sets nothing. Did you mean '# unit = CAD'?"),
        ("# unit: CAD", "'# unit: CAD' sets nothing. Did you mean '# unit = CAD'?"),
        ("#Per-Split=3", "'#Per-Split=3' sets nothing. Did you mean '# per_split = 3'?"),
        ("# unit = CAD\n# unit = EUR", "'unit' is already set in prices.csv, line 2."),
        ("# per_split = -1", "-1 is not a price"),
        ("# per_node = $1", "'$1' is not a price"),
        ("# weigh_bills = yes", "'yes' is not true or false"),
        ("# predictions = 0", "0 is not how many predictions a model serves"),
        ("# predictions =", "'' is not how many predictions a model serves"),
    ],
)
def test_settings_that_make_no_sense(refusal, comment, says):
    line = 2 + comment.count("\n")
    text = f"# free text\n{comment}\nname,price\nx,1\n"
    assert refusal(".csv", text).startswith(f"prices.csv, line {line}: {says}")


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"group_fee": {"blood": -2}, "groups": {"blood": []}}, ", group_fee.blood: -2 is not a"),
        ({"per_feature": {"x": "5,17"}}, f", per_feature.x: '5,17' is not a price: {A_PRICE}"),
        ({"per_feature": {"a b": True}}, ', per_feature."a b": True is not a price'),
        ({"per_feature": {"x": 10**400}}, ", per_feature.x: 1000"),
        ({"per_feature": [1, -1]}, ", per_feature[1]: -1 is not a price"),
        ({"per_feature": 3}, ", per_feature: 3 is not a mapping from names, nor"),
        ({"per_split": -0.5}, ", per_split: -0.5 is not a price"),
        ({"per_node": [1]}, ", per_node: [1] is not a price"),
        ({"predictions": 0}, ", predictions: 0 is not how many predictions"),
        ({"unit": 3}, ", unit: 3 is not text, such as 'CAD'."),
        ({"groups": {"a": "x"}}, ", groups.a: 'x' is not a list of names."),
        ({"groups": ["a"]}, ", groups: ['a'] is not a mapping from names."),
        ({"groups": {"a": [1.5]}}, ", groups.a: 1.5 is not a name."),
        ({"groups": {"a": ["a"]}}, ", groups.a: 'a' leads back to itself"),
        ({"per_feature": {"a": 2}, "groups": {"a": []}}, ", per_feature.a: 'a' is a group: its "),
        ({"per_feature": {}, "groups": {"a": ["b"]}}, f", groups.a: {NEITHER}"),
        ({"per_feature": {"bc": 1}, "groups": {"a": ["b"]}}, f", groups.a: {NEITHER} Did you mean"),
        ({"group_fee": {"a": 1}}, ", group_fee.a: 'a' is no group of this list."),
        ({"per_feature": {"x": 1}, "requires": {"b": ["x"]}}, f", requires.b: {NO_FEATURE}"),
        ({"per_feature": {"x": 1}, "requires": {"x": ["b"]}}, f", requires.x: {NO_FEATURE}"),
        ({"per_feature": {"x": 1}, "per_model": {"b": 1}}, f", per_model.b: {NEITHER}"),
        ({"per_featur": {}}, ", per_featur: there is no such key. Did you mean 'per_feature'?"),
        (
            {"price": {}},
            ", price: there is no such key. Prices of features go below 'per_feature'. Keys are ",
        ),
        (
            {"known": {"x": [True]}},
            ", known: this belongs to certain samples, so it cannot be in a",
        ),
        ({"per_node": 3}, ": `per_model` and `per_node` are paid once"),
    ],
)
def test_keys_and_values_that_make_no_sense(refusal, values, says):
    assert refusal(".json", json.dumps(values)).startswith(f"prices.json{says}")
    in_toml = "\n".join(f"{key} = {inline(value)}" for key, value in values.items())
    assert refusal(".toml", in_toml).startswith(f"prices.toml{says}")


def inline(value):
    if isinstance(value, dict):
        inside = (f"{json.dumps(key)} = {inline(content)}" for key, content in value.items())
        return f"{{{', '.join(inside)}}}"
    return json.dumps(value)


BROKEN = ": broken TOML: "


@pytest.mark.parametrize(
    ("suffix", "text", "says"),
    [
        (
            ".json",
            '{\n  "per_split" 1}',
            ", line 2, column 15: broken JSON: Expecting ':' delimiter.",
        ),
        (".json", "[" * 100_000, ": brackets are nested deeper than prices ever are."),
        (".toml", "x = " + "[" * 100_000, ": brackets are nested deeper than prices ever are."),
        (".json", f'{{"per_split": {"9" * 5000}}}', ": broken JSON: "),
        (".json", "[1]", ": [1] is not a mapping from names."),
        (".json", '{"per_split": NaN}', ", per_split: nan is not a price"),
        (".json", '{"per_split": 1, "per_split": 2}', ": broken JSON: 'per_split' is there twice."),
        (".json", '{"per_feature": {"x": 1, "x": 1}}', ": broken JSON: 'x' is there twice."),
        (".toml", "unit = ''\nper_node = \n", f"{BROKEN}Invalid value (at line 2, column 12)."),
        (".toml", "per_node = 1\nper_node = 2", f"{BROKEN}Cannot overwrite a value (at line 2, "),
        (".toml", "per_split = inf", ", per_split: inf is not a price"),
        (".toml", "per_split = 2024-01-01", ", per_split: datetime.date"),
    ],
)
def test_broken_files(refusal, suffix, text, says):
    assert refusal(suffix, text).startswith(f"prices{suffix}{says}")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_text_that_is_none(refusal, suffix):
    for empty in ("", " \n\n", "\ufeff"):
        assert refusal(suffix, empty) == f"prices{suffix} is empty."
    latin = "# a\n# caf\xe9 = 1\n".encode("latin-1")
    assert refusal(suffix, latin).startswith(f"prices{suffix}, line 2: this is not UTF-8. Save")
    assert "this is not UTF-8" in refusal(suffix, "name,price\nx,1".encode("utf-16"))


def test_files_that_cannot_be_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.csv").mkdir()
    for path, says in [
        ("missing.csv", r"There is no file missing\.csv\."),
        ("folder.csv", r"folder\.csv is a folder"),
        ("prices.xlsx", r"prices\.xlsx: a price file must end in one of \.csv, \.json"),
        ("prices", "a price file must end in one of"),
        ("a\0.csv", "cannot be read"),
        ("a" * 300 + ".csv", "cannot be read"),
        ("", "is not the name of a file"),
        (None, "None is not the name of a file"),
        (3, "3 is not the name of a file"),
    ]:
        with pytest.raises(InputError, match=says):
            Costs.from_file(path)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_what_is_written_comes_back(tmp_path, suffix):
    file = tmp_path / f"prices{suffix}"
    file.write_text("something older")
    THYROID.to_file(file)
    assert vars(Costs.from_file(file)) == vars(THYROID)
    assert os.listdir(tmp_path) == [file.name]


def test_arrays_and_series_are_written(tmp_path):
    file = tmp_path / "prices.json"
    Costs(per_feature=np.array([1.0, 2.5]), per_split=np.float32(0.5)).to_file(file)
    assert json.loads(file.read_text()) == {"per_feature": [1.0, 2.5], "per_split": 0.5}
    Costs(per_feature=pd.Series({"x": 1.0, "y": 2.0}), groups={"a": ("x", "y")}).to_file(file)
    assert json.loads(file.read_text()) == {
        "per_feature": {"x": 1.0, "y": 2.0},
        "groups": {"a": ["x", "y"]},
    }


@pytest.mark.parametrize(
    ("costs", "suffix", "says"),
    [
        (
            Costs(known={"x": [True]}),
            ".json",
            r"`known` belongs .* `costs\.for_samples\(known=None\)`",
        ),
        (Costs(per_feature={0: 1.0}), ".toml", "per_feature: 0 is not a name"),
        (Costs(per_feature={"\ud800": 1.0}), ".json", "cannot be written"),
        (Costs(per_feature=[1.0]), ".csv", "a table cannot hold"),
        (Costs(), ".csv", "a table cannot hold"),
        (Costs(per_feature={"x": 1}, groups={"a": []}), ".csv", "a table cannot hold"),
        *(
            (Costs(per_feature={name: 1.0}), ".csv", "a table cannot hold")
            for name in ("#x", "x ", "x\ny", "x\ry")
        ),
        (Costs(per_feature={"x;y": 1, "z": 1}, requires={"z": ["x;y"]}), ".csv", "cannot hold"),
        (Costs(per_feature={"x": 1}, unit="a\nb"), ".csv", "a table cannot hold"),
    ],
)
def test_what_a_file_cannot_hold_is_not_written(tmp_path, costs, suffix, says):
    file = tmp_path / f"prices{suffix}"
    file.write_text("something older")
    with pytest.raises(InputError, match=says):
        costs.to_file(file)
    assert file.read_text() == "something older"
    assert os.listdir(tmp_path) == [file.name]


@pytest.mark.parametrize("path", ["missing/a.csv", "a.xlsx", "a\0.csv", "a" * 300 + ".csv", None])
def test_nothing_is_left_where_writing_fails(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError):
        THYROID.to_file(path)
    assert os.listdir(tmp_path) == []


def test_an_interrupted_write_leaves_the_older_file(tmp_path, monkeypatch):
    file = written(tmp_path, ".csv", "something older")
    monkeypatch.setattr(os, "replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        THYROID.to_file(file)
    assert file.read_text() == "something older"
    assert os.listdir(tmp_path) == [file.name]


PRICES = st.one_of(st.integers(0, 10**6), st.floats(0, 1e300))
ANY_NAME = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
# Names that a table can hold: any, but for a few letters and where they stand.
TABLE_NAME = st.text(string.ascii_letters + " ,\"'é=:#", max_size=8).map(lambda name: f"x{name}x")


@st.composite
def price_lists(draw, names):
    """Return prices of features, with or without nested groups and everything else."""
    inner, outer, *features = draw(st.lists(names, min_size=3, max_size=8, unique=True))
    some = st.lists(st.sampled_from(features), min_size=1, unique=True)
    groups = draw(st.sampled_from([{}, {inner: draw(some), outer: [inner, *draw(some)]}]))
    return Costs(
        per_feature={name: draw(PRICES) for name in features},
        groups=groups,
        group_fee={name: draw(PRICES) for name in groups if draw(st.booleans())},
        requires={features[0]: features[1:]} if features[1:] else None,
        per_model=draw(st.dictionaries(st.sampled_from([*features, *groups]), PRICES)),
        per_split=draw(PRICES),
        per_node=draw(PRICES),
        predictions=draw(st.floats(1e-300, 1e300)),
        unit=draw(st.sampled_from(["", "CAD", "µs", 'a "b" c'])),
    )


@pytest.mark.parametrize("suffix", [".json", ".toml"])
@given(costs=price_lists(ANY_NAME))
def test_any_names_and_prices_come_back(tmp_path_factory, suffix, costs):
    file = tmp_path_factory.getbasetemp() / f"any{suffix}"
    costs.to_file(file)
    assert vars(Costs.from_file(file)) == vars(costs)


@given(costs=price_lists(TABLE_NAME))
def test_tables_come_back_but_for_the_order_of_members(tmp_path_factory, costs):
    file = tmp_path_factory.getbasetemp() / "any.csv"
    costs.to_file(file)
    assert without_order(Costs.from_file(file)) == without_order(costs)


@given(costs=price_lists(ANY_NAME))
def test_tables_come_back_or_are_refused(tmp_path_factory, costs):
    file = tmp_path_factory.getbasetemp() / "maybe.csv"
    try:
        costs.to_file(file)
    except InputError:
        return
    assert without_order(Costs.from_file(file)) == without_order(costs)


def without_order(costs):
    lists = {
        name: {key: set(members) for key, members in (getattr(costs, name) or {}).items()}
        for name in ("groups", "requires")
    }
    return {name: value or None for name, value in {**vars(costs), **lists}.items()}


def with_semicolons(table, decimal):
    """The table as spreadsheets write it in much of Europe."""
    lines = [semicolon_line(line, decimal) for line in table.splitlines()]
    return "\n".join([*lines, ";;;;", ""])


def semicolon_line(line, decimal):
    if line.startswith("#"):
        return re.sub(r"= (\d+)\.", rf"= \1{decimal}", line) + ";;;;"
    cells = next(csv.reader([line], skipinitialspace=True), [])
    cells = [f'"{cell}"' if ";" in cell else cell for cell in cells]
    return ";".join(re.sub(r"^(\d+)\.(\d+)$", rf"\1{decimal}\2", cell) for cell in cells)


@pytest.mark.parametrize("decimal", [",", "."])
def test_semicolons_may_come_with_decimal_commas(tmp_path, decimal):
    text = with_semicolons(shown(".csv"), decimal)
    assert f"TT4;8{decimal}5;" in text
    assert f"per_split = 0{decimal}001;" in text
    assert vars(Costs.from_file(written(tmp_path, ".csv", text))) == vars(THYROID)


@pytest.mark.parametrize("cell", ["1.234,5", "1.200", "1.200.000", "1,2,3", "-1,5", "5,17 €"])
def test_numbers_that_mean_nothing_or_two_things_between_semicolons(refusal, cell):
    for text, place in [
        (f"name;price;per_model\nx;{cell};\n", "line 2, column 'price'"),
        (f"name;price;per_model\nx;2;\ny;3;{cell}\n", "line 3, column 'per_model'"),
        (f"# per_split = {cell};;\nname;price\nx;2\n", "line 1"),
    ]:
        said = refusal(".csv", text)
        assert said.startswith(f"prices.csv, {place}: ")
        assert said.endswith(f" is not a price: {A_PRICE}")
    text = f"# predictions = {cell}\nname;price;per_model\nx;1,5;1000\n"
    assert "is not how many predictions a model serves" in refusal(".csv", text)


def test_numbers_between_semicolons(tmp_path):
    text = "name;price\na;1,5E-05\nb;,5\nc;5,\nd;1,200\ne;7\nf;0.125\n"
    costs = Costs.from_file(written(tmp_path, ".csv", text))
    assert costs.per_feature == {"a": 1.5e-5, "b": 0.5, "c": 5, "d": 1.2, "e": 7, "f": 0.125}
