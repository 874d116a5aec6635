"""C source compiles without a warning and predicts what its forest predicts."""

import ctypes
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from export_cases import CASES, any_forests, case, drawn_rows, rows_for, said_by
from hypothesis import HealthCheck, given, settings
from models import fitted

from thriftwood.adapters import read_forest
from thriftwood.errors import InputError
from thriftwood.forest import leaves, scores
from thriftwood.formats import export
from thriftwood.formats.c import quoted

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
GET = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int, ctypes.c_void_p)
DOUBLES = np.ctypeslib.ndpointer(np.float64, flags="C")

needs_compiler = pytest.mark.skipif(
    COMPILER is None, reason="no C compiler (cc, gcc or clang) on this machine: install one"
)


class Compiled:
    """The functions of a compiled file."""

    def __init__(self, forest, folder, name="forest"):
        export.to_c(forest, folder / "it.c", name=name)
        command = [COMPILER, *STRICT, "-O1", "-shared", "-fPIC", "it.c", "-o", "it.so", "-lm"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        loaded = ctypes.CDLL(str(folder / "it.so"))
        self.n_scores = forest.n_outputs
        self.n_predictions = 1 if forest.classes is None else len(forest.classes)
        for which in ("scores", "predict"):
            function = getattr(loaded, f"{name}_{which}")
            function.argtypes, function.restype = [DOUBLES, DOUBLES], None
            setattr(self, f"_{which}", function)
            function = getattr(loaded, f"{name}_{which}_lazily")
            function.argtypes, function.restype = [GET, ctypes.c_void_p, DOUBLES], None
            setattr(self, f"_{which}_lazily", function)

    def scores(self, rows):
        return _each(self._scores, rows, self.n_scores)

    def predict(self, rows):
        return _each(self._predict, rows, self.n_predictions)

    def predict_lazily(self, rows):
        """Predictions, and the features that were asked for in each row."""
        asked = []

        def one(row, out):
            asked.append([])

            def get(feature, _context):
                asked[-1].append(feature)
                return row[feature]

            self._predict_lazily(GET(get), None, out)

        return _each(one, rows, self.n_predictions), asked


def _each(function, rows, width):
    """Call a function for every row; it may write only so many numbers."""
    out = np.full((len(rows), width + 1), -77.0)
    for row, said in zip(np.ascontiguousarray(rows), out, strict=True):
        function(row, said)
    np.testing.assert_array_equal(out[:, -1], -77.0)
    return out[:, :-1]


@needs_compiler
@pytest.mark.parametrize("name", CASES)
def test_scores_are_the_same_to_the_last_bit(name, tmp_path):
    forest = case(name)
    rows = rows_for(forest)
    compiled = Compiled(forest, tmp_path)
    with np.errstate(over="ignore"):
        cast = np.ascontiguousarray(rows, dtype=forest.input_dtype)
    np.testing.assert_array_equal(compiled.scores(rows), scores(forest, cast))
    np.testing.assert_allclose(
        compiled.predict(rows), said_by(forest, rows), rtol=1e-12, atol=1e-12
    )


@needs_compiler
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(any_forests())
def test_any_forest_predicts_the_same(tmp_path_factory, forest):
    rows = drawn_rows(forest)
    compiled = Compiled(forest, tmp_path_factory.mktemp("c"))
    np.testing.assert_array_equal(compiled.predict(rows), said_by(forest, rows))


@needs_compiler
@pytest.mark.parametrize("name", ["words", "exp", "categories", "zero_is_missing", "single_leaf"])
def test_lazily_each_feature_on_the_way_is_asked_once(name, tmp_path):
    forest = case(name)
    rows = rows_for(forest)[::3]
    found, asked = Compiled(forest, tmp_path).predict_lazily(rows)
    np.testing.assert_allclose(found, said_by(forest, rows), rtol=1e-12, atol=1e-12)
    assert asked == [asked_on_the_way(forest, row) for row in rows]


def asked_on_the_way(forest, row):
    """The features of the splits that a row passes, each where it is first met."""
    with np.errstate(over="ignore"):
        reached = leaves(forest, row[None].astype(forest.input_dtype))[0]
    met = []
    for leaf in reached:
        above = []
        while forest.parent[leaf] >= 0:
            leaf = forest.parent[leaf]
            above.append(int(forest.feature[leaf]))
        met += reversed(above)
    return list(dict.fromkeys(met))


@needs_compiler
def test_a_logistic_regressor_predicts_one_number(tmp_path):
    forest = replace(case("logistic"), classes=None)
    rows = rows_for(forest)
    found = Compiled(forest, tmp_path).predict(rows)
    np.testing.assert_allclose(found, said_by(case("logistic"), rows)[:, 1:], atol=1e-12)


NASTY = [
    "a */ int x; /*",
    "b\n#error no",
    "c ??/",
    "d \\",
    '"e"',
    "\u00fc\U0001f332\x00",
    "**//**/",
    "",
]


@needs_compiler
def test_names_cannot_leave_their_comment(tmp_path):
    model = read_forest(fitted("random_forest_classifier").model)
    forest = replace(
        model,
        feature_names=tuple(NASTY[:4]),
        classes=np.array(NASTY[4:6]),
        category_labels={1: tuple(NASTY)},
    )
    rows = rows_for(forest)
    np.testing.assert_array_equal(Compiled(forest, tmp_path).predict(rows), said_by(model, rows))


@pytest.mark.parametrize("text", NASTY)
def test_a_quoted_name_is_one_plain_line(text):
    shown = quoted(text)
    assert shown.isascii()
    assert shown.isprintable()
    assert not re.search(r"\*/|/\*|\?\?|\\$", shown)


@needs_compiler
def test_another_name(tmp_path):
    forest = case("numbers")
    rows = rows_for(forest)
    assert np.array_equal(Compiled(forest, tmp_path, "pump_2").predict(rows), said_by(forest, rows))


def test_names_stand_where_the_device_looks():
    text = export.to_c(fitted("named_columns").model)
    assert ' *   [1] "pulse"\n' in text
    assert '[0] "0"' in text


@pytest.mark.parametrize("name", ["", "2x", "a b", "a-b", "x;", None, "\u00fc"])
def test_a_name_must_be_one_of_c(name):
    with pytest.raises(InputError, match="pass a name for C"):
        export.to_c(case("numbers"), name=name)


def test_math_is_included_only_where_a_link_needs_it():
    assert "math.h" not in export.to_c(case("numbers"))
    assert "math.h" in export.to_c(case("softmax"))
    assert "math.h" in export.to_c(case("splits_at_infinity"))


def test_a_file_holds_what_is_returned(tmp_path):
    text = export.to_c(case("words"), tmp_path / "forest.c")
    assert (tmp_path / "forest.c").read_text() == text
    assert [file.name for file in tmp_path.iterdir()] == ["forest.c"]
