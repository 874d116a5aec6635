"""Forests as C source: one file, nothing to link with but the mathematical library."""

import re
from typing import Any

import numpy as np

from thriftwood.adapters import read_forest
from thriftwood.errors import InputError
from thriftwood.forest import Forest
from thriftwood.formats.export.c_arrays import Arrays, c_arrays
from thriftwood.formats.export.c_code import c_code
from thriftwood.support.files import File, write_whole


def to_c(model: object, file: File | None = None, *, name: str = "forest") -> str:
    """Return a model as C99 source, and write it to a file if one is named.

    The source has these functions; `out` gets class probabilities, or the number that a regressor
    predicts, `scores` what the trees say before the link::

        void forest_scores(const double *row, double *scores);
        void forest_predict(const double *row, double *out);
        void forest_scores_lazily(double (*get)(int feature, void *context), void *context,
                                  double *scores);
        void forest_predict_lazily(double (*get)(int feature, void *context), void *context,
                                   double *out);

    The lazy ones ask for a feature when a split first needs it, and never twice: what a device
    with sensors, or anybody who pays by the question, wants.

    Parameters
    ----------
    model : a fitted model, or a `Forest`
    file : optional
        Where to write it; a file that is there is replaced.
    name : str
        What the names of the functions begin with.

    Returns
    -------
    str
        Scores are the model's bit for bit where the compiler keeps to IEEE 754, which excludes
        gcc's `-ffast-math`. Missing values are NaN; a categorical column holds the numbers of its
        categories.
    """
    _check_name(name)
    forest = read_forest(model)
    arrays = c_arrays(forest, name)
    text = _head(forest, name) + _includes(forest, arrays) + arrays.text + c_code(forest, name)
    if file is not None:
        write_whole(file, text.encode("ascii"))
    return text


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise InputError(
            f"`name` is {name!r}: pass a name for C, of letters, digits and underscores."
        )


def _head(forest: Forest, name: str) -> str:
    """Say in a comment what goes in and what comes out."""
    used = np.zeros(forest.n_features, dtype=np.bool_)
    used[forest.feature[forest.is_split]] = True
    lines = [f"{name}: {_count(forest.n_trees, 'tree')}, {_count(forest.n_splits, 'split')}."]
    lines += ["Written by thriftwood. Compile without -ffast-math: NaN is a missing value.", ""]
    lines += [f"A row has {forest.n_features} numbers:"]
    lines += [_feature_line(forest, column, bool(used[column])) for column in range(len(used))]
    lines += ["", *_output_lines(forest)]
    return "/* " + "\n * ".join(lines).replace(" \n", "\n") + "\n */\n\n"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _feature_line(forest: Forest, column: int, used: bool) -> str:
    words = [f"  [{column}]"]
    if forest.feature_names is not None:
        words.append(quoted(forest.feature_names[column]))
    if not used:
        words.append("(no split asks for it)")
    if column in forest.category_labels:
        labels = enumerate(forest.category_labels[column])
        words.append("is " + ", ".join(f"{place} for {quoted(label)}" for place, label in labels))
    return " ".join(words)


def _output_lines(forest: Forest) -> list[str]:
    if forest.classes is None:
        return ["The prediction is one number."]
    labels = enumerate(forest.classes.tolist())
    return [
        "The prediction is the probability of each class:",
        *(f"  [{place}] {quoted(label)}" for place, label in labels),
    ]


def quoted(label: object) -> str:
    r"""Return a label that cannot end a comment, whatever is in it.

    >>> quoted("a */ b ??/")
    '"a *\\/ b ?\\?/"'
    """
    text = re.sub(r"[^ -~]", lambda found: ascii(found[0])[1:-1], str(label).replace('"', "'"))
    for start, end in ("*/", "/*", "??"):
        # Twice, for signs that overlap.
        text = text.replace(start + end, f"{start}\\{end}").replace(start + end, f"{start}\\{end}")
    return f'"{text}"'


def _includes(forest: Forest, arrays: Arrays) -> str:
    needs_math = forest.link in ("logistic", "softmax", "exp") or arrays.has_infinity
    return ("#include <math.h>\n" if needs_math else "") + "#include <stdint.h>\n\n"
