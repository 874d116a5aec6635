"""Names that would do harm: on a terminal, in a spreadsheet, in a file."""

import json

import numpy as np
import pandas as pd
import pytest
import typer
from cli_files import run
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import thriftwood as tw
from thriftwood.cli.console import Console
from thriftwood.errors import InputError
from thriftwood.support.files import write_whole
from thriftwood.support.text import from_cell, shown, to_cell

RED, ZERO, HALF = "\x1b[31mred", "zero\0byte", "half\ud800"
RUN = tuple("=+-@\t\r")
ANY_TEXT = st.text(st.characters())
BEGINS = st.text(st.sampled_from("'=+-@\t\ra"), max_size=4)


# --- the two functions


@given(ANY_TEXT)
def test_what_is_shown_is_printable_and_nothing_else_changes(text):
    assert shown(text).isprintable()
    assert shown(shown(text)) == shown(text)
    assert (shown(text) == text) == text.isprintable()


@given(BEGINS, ANY_TEXT)
def test_cells_come_back_and_none_is_run(begin, text):
    cell = to_cell(begin + text)
    assert from_cell(cell) == begin + text
    assert not cell.startswith(RUN)


# --- what we print


@pytest.fixture(params=[RED, ZERO, HALF, "new\nline", "\x9b31m", "\u202eright to left"])
def name(request):
    return request.param


def named(name):
    """Return samples, labels and prices in which a feature, a class, a group and the unit have it.

    And a tree that knows these names.
    """
    values = np.random.default_rng(0).normal(size=(60, 2))
    X = pd.DataFrame(values, columns=pd.Index([name, "b"], dtype=object))
    y = np.array(["no", name], dtype=object)[(values[:, 0] > 0).astype(int)]
    group = f"group {name}"
    costs = tw.Costs(
        per_feature={name: 1.0, "b": 2.0},
        groups={group: [name]},
        group_fee={group: 1.0},
        requires={"b": [name]},
        unit=name,
    )
    return X, y, costs, DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)


def test_names_are_printed_as_python_writes_them(name):
    X, y, costs, tree = named(name)
    path = tw.prune_path(tree, X, y, costs=costs)
    bill = tw.feature_bill(tree, X, costs)
    cascade = path.cascade(X, y, stages=2)
    lazy = tw.LazyPredictor(tree, acquire=lambda row, column: X.at[row, column], costs=costs)
    printed = [costs, path, path[0], bill, bill.receipt(0), cascade, lazy.predict([0])]
    problem = tw.pruning_problem(tree, X, y, costs=costs)
    printed += [tw.verify_pruning(problem, path[0].model)]
    for one in map(str, printed):
        assert all(line.isprintable() for line in one.split("\n")), one
        assert all(line.isprintable() for line in repr(one).split("\n")), one
    assert shown(name) in str(costs)
    assert shown(name) in str(bill.receipt(0))


def test_commands_print_names_as_python_writes_them(name, tmp_path):
    X, _, costs, tree = named(name)
    tw.export.to_skops(tree, tmp_path / "tree.skops")
    np.savez(tmp_path / "rows.npz", X=X.to_numpy())
    files = (tmp_path / "tree.skops", tmp_path / "rows.npz")
    if name != HALF:  # which is in no file of text
        costs.to_file(tmp_path / "prices.json")
        files += ("--costs", tmp_path / "prices.json")
    for words in (("info", files[0]), ("bill", *files), ("bill", *files, "--sample", "0")):
        said = run(*words, color=True)  # as on a terminal
        assert all(line.isprintable() for line in said.output.split("\n"))
        assert shown(name) in said.output
        if words[0] == "bill" and name in (ZERO, HALF):
            assert said.exit_code == 2
            assert "Error: A table cannot hold the name" in said.stderr
        else:
            assert said.exit_code == 0, said.output
            assert name in all_text(json.loads(run(*words, "--json").stdout))


def all_text(value):
    """Return all text in a document."""
    if isinstance(value, dict):
        return [*value, *all_text(list(value.values()))]
    if isinstance(value, list):
        return [text for one in value for text in all_text(one)]
    return [value]


def test_names_of_files_are_printed_as_python_writes_them(tmp_path):
    said = run("info", tmp_path / f"{RED}.skops", color=True)
    assert said.exit_code == 2
    assert r"\x1b[31mred.skops" in said.stderr
    (tmp_path / f"{RED}.skops").write_bytes(b"no model")
    said = run("info", tmp_path / f"{RED}.skops", "--debug", color=True)
    assert said.exit_code == 2
    assert "\x1b" not in said.output


def test_what_does_not_fit_into_memory_is_told(capsys):
    with pytest.raises(typer.Exit) as ended, Console().failures_in_words(debug=False):
        raise MemoryError("Unable to allocate 7.28 TiB for an array")
    assert ended.value.exit_code == 2
    says = "Error: This does not fit into memory: Unable to allocate 7.28 TiB for an array.\n"
    assert capsys.readouterr().err == says


# --- what we write


@pytest.mark.parametrize("begin", RUN[:4])
def test_price_lists_run_nothing_in_a_spreadsheet(begin, tmp_path):
    name = f"{begin}cmd|' /C calc'!A0"
    costs = tw.Costs(
        per_feature={name: 1.0, "b": 2.0, f"'{name}": 3.0},
        groups={f"{name}s": [name]},
        group_fee={f"{name}s": 1.0},
        requires={"b": [name]},
        unit=f"a,{name}",
    )
    costs.to_file(tmp_path / "prices.csv")
    cells = pd.read_csv(tmp_path / "prices.csv", header=None, names=range(4), dtype=str)
    assert not cells.stack().str.startswith(RUN).any()
    again = tw.Costs.from_file(tmp_path / "prices.csv")
    assert again.given == costs.given


def test_half_a_character_is_in_no_file_of_text(tmp_path):
    with pytest.raises(InputError, match=r"prices.json cannot be written: '\\ud800' is half of a"):
        named(HALF)[2].to_file(tmp_path / "prices.json")
    with pytest.raises(InputError, match="is half of a character"):
        write_whole(tmp_path / "it.txt", HALF)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", [ZERO, HALF])
def test_names_that_are_no_text_are_not_exported(name):
    model = named(name)[3]
    with pytest.raises(InputError, match=r"LightGBM's text cannot hold the name '(zero|half)"):
        tw.export.to_lightgbm(model)
    with pytest.raises(InputError, match="ONNX cannot hold the name"):
        tw.export.to_onnx(model)
    for way in (tw.export.to_c, tw.export.to_json):  # which write it with backslashes
        assert way(model).isascii()
