"""Price lists as spreadsheets write them where decimals have commas."""

import csv
import re

import pytest
from price_files import A_PRICE, THYROID, refusal, shown, written

from thriftwood.costs import Costs

__all__ = ["refusal"]  # a fixture


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


MIXED = "Write all decimals in the same way, and thousands without any sign."
THOUSANDS = "Write thousands without any sign, and decimals as in 5,17."


@pytest.mark.parametrize(
    ("cell", "says"),
    [
        (
            "1.234,5",
            f", {{0}}: '1.234,5' has a comma, and '1.234,5' a point (prices.csv, {{0}}). {MIXED}",
        ),
        ("1.200", f", {{0}}: '1.200' may stand for 1200. {THOUSANDS}"),
        ("1.200.000", f", {{0}}: '1.200.000' may stand for 1200000. {THOUSANDS}"),
        ("1,2,3", f", {{0}}: '1,2,3' is not a price: {A_PRICE}"),
        ("-1,5", f", {{0}}: -1.5 is not a price: {A_PRICE}"),
        ("ca. 3", f", {{0}}: 'ca. 3' is not a price: {A_PRICE}"),
        ("5,17 €", ", {0}: '5,17 €' is not a price: write 5,17 alone; `unit` says what"),
        ("1.234,5 €", ", {0}: '1.234,5 €' is not a price: write it with a decimal comma and "),
    ],
)
def test_numbers_that_mean_nothing_or_two_things_between_semicolons(refusal, cell, says):
    for text, place in [
        (f"name;price;per_model\nx;{cell};\n", "line 2, column 'price'"),
        (f"name;price;per_model\nx;2;\ny;3;{cell}\n", "line 3, column 'per_model'"),
        (f"# per_split = {cell};;\nname;price\nx;2\n", "line 1"),
    ]:
        assert refusal(".csv", text).startswith(f"prices.csv{says.format(place)}")


@pytest.mark.parametrize(
    ("count", "price", "says"),
    [
        (
            "10.000",
            "1,5",
            ", line 3, column 'price': '1,5' has a comma, and '10.000' a point (",
        ),
        ("10.000", "2", f", line 1: '10.000' may stand for 10000. {THOUSANDS}"),
        ("10,000", "1,5", ", line 1: '10,000' is not how many predictions a model serves"),
    ],
)
def test_counts_with_thousands_between_semicolons(refusal, count, price, says):
    text = f"# predictions = {count}\nname;price;per_model\nx;{price};1000\n"
    assert refusal(".csv", text).startswith(f"prices.csv{says}")


def test_numbers_between_semicolons(tmp_path):
    text = "name;price\na;1,5E-05\nb;,5\nc;5,\nd;1,200\ne;7\n"
    costs = Costs.from_file(written(tmp_path, ".csv", text))
    assert costs.per_feature == {"a": 1.5e-5, "b": 0.5, "c": 5, "d": 1.2, "e": 7}
    text = "name;price\na;1.200\nb;0.5\n"  # the second shows what the first means
    costs = Costs.from_file(written(tmp_path, ".csv", text))
    assert costs.per_feature == {"a": 1.2, "b": 0.5}
