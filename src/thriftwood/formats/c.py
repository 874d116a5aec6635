"""Forests as C source: one file, nothing to link with but the mathematical library.

Its functions are in `forest.c.template`. Splits have arrays of their own, and so have the different
things that leaves say. A child that is a split is its number, a child that is a leaf is -1 minus
the place of what it says; so is a root::

    at >= 0     split `at`
    at < 0      a leaf that says `value[(-1 - at) * n_outputs ...]`
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.adapters import buying_stages, nested_stages
from thriftwood.errors import InputError
from thriftwood.forest import LEAST_SHARE, NEXT_TO_ZERO, NO_SET, Forest, NestedStages
from thriftwood.formats.layout import float32_thresholds, number_nodes, tree_member, trees_to_export
from thriftwood.support.arrays import IntArray
from thriftwood.support.files import File, write_whole

# Bits of a split's rule.
MISSING_LEFT = 1
ZERO_IS_MISSING = 2
CATEGORIES = 4

PER_LINE = 12

CLASS_MARGIN = """    double first = INFINITY, second = INFINITY, cost;
    int answer, k;
    (void)stage;
    (void)row;
    for (answer = 0; answer < ${n_out}; answer++) {
        cost = 0.0;
        for (k = 0; k < ${n_out}; k++)
            cost += out[k] * ${name}_error_cost[k * ${n_out} + answer];
        if (cost < first) {
            second = first;
            first = cost;
        } else if (cost < second)
            second = cost;
    }
    if (${n_out} < 2)
        return 0.0;
    cost = log((second + ${least}) / (first + ${least}));
    return cost > 0.0 ? cost : 0.0;"""
GATE_MARGIN = """    double expected = 0.0;
    (void)out;
    switch (stage) {
${gates}
    }
    expected = expected > 0.0 ? expected : 0.0;
    return log1p(${unit} / (expected + ${least}));"""


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
    with sensors, or anybody who pays by the question, wants. Of a `ThriftyClassifier` or a
    `ThriftyRegressor` there are `..._predict` and `..._predict_lazily`, which return the number of
    the stage where a sample stops.

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
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise InputError(
            f"`name` is {name!r}: pass a name for C, of letters, digits and underscores."
        )
    stages = nested_stages(model)
    if stages is None:
        text = _forest_in_c(trees_to_export(model), name)
    else:
        text = _stages_in_c(stages, name, buying_stages(model).richest)
    if file is not None:
        write_whole(file, text.encode("ascii"))
    return text


def _forest_in_c(forest: Forest, name: str) -> str:
    """Return a forest as C source."""
    arrays = _arrays(forest, name)
    needs_math = forest.link in ("logistic", "softmax", "exp") or "INFINITY" in arrays
    includes = ("#include <math.h>\n" if needs_math else "") + "#include <stdint.h>\n\n"
    return _head(forest, name) + includes + arrays + _functions(forest, name)


def _head(forest: Forest, name: str) -> str:
    """Say in a comment what goes in and what comes out."""
    used = np.zeros(forest.n_features, dtype=np.bool_)
    used[forest.feature[forest.is_split]] = True
    sizes = ((forest.n_trees, "tree"), (forest.n_splits, "split"))
    counts = (f"{number} {noun}{'' if number == 1 else 's'}" for number, noun in sizes)
    lines = [f"{name}: {', '.join(counts)}."]
    lines += ["Written by thriftwood. Compile without -ffast-math: NaN is a missing value.", ""]
    lines += [f"A row has {forest.n_features} numbers:"]
    lines += [_feature_line(forest, column, bool(used[column])) for column in range(len(used))]
    lines += ["", *_output_lines(forest)]
    return "/* " + "\n * ".join(lines).replace(" \n", "\n") + "\n */\n\n"


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


def _arrays(forest: Forest, name: str) -> str:
    """Declare the arrays that the functions read, each in the smallest type that holds it."""
    splits, leaves, number = number_nodes(forest)
    said, place = np.unique(forest.values[leaves], axis=0, return_inverse=True)
    code = number.copy()
    code[leaves] = -1 - place.ravel()
    threshold = (
        float32_thresholds(forest.threshold)
        if forest.input_dtype == np.float32
        else forest.threshold
    )
    of_set = forest.category_set != NO_SET
    rule = (
        MISSING_LEFT * forest.missing_left
        + ZERO_IS_MISSING * (forest.zero_is_missing & ~of_set)
        + CATEGORIES * of_set
    )
    cuts = np.where(of_set, np.zeros((), threshold.dtype), threshold)[splits]
    parts = [
        _whole_numbers(name, "root", code[forest.tree_start[:-1]]),
        _whole_numbers(name, "feature", forest.feature[splits]),
        _real_numbers(name, "threshold", cuts),
        _whole_numbers(name, "left", code[forest.left[splits]]),
        _whole_numbers(name, "right", code[forest.right[splits]]),
        _whole_numbers(name, "rule", rule[splits], "uint8_t"),
        _real_numbers(name, "value", said.ravel()),
    ]
    if of_set.any():
        parts += _sets(forest, name, splits)
    if forest.bias.any():
        parts.append(_real_numbers(name, "bias", forest.bias))
    return "".join(parts) + "\n"


def _sets(forest: Forest, name: str, splits: IntArray) -> list[str]:
    """Return the sets as bits, eight to a byte; those that no split uses are left out."""
    used, place = np.unique(forest.category_set[splits], return_inverse=True)
    shift = int(used[0] == NO_SET)
    own = [forest.category_mask(s) for s in used[shift:]]
    packed = [np.packbits(members, bitorder="little") for members in own]
    ends = np.cumsum([0, *map(len, packed)])
    return [
        _whole_numbers(name, "set", np.maximum(place - shift, 0)),
        _whole_numbers(name, "set_start", ends[:-1]),
        _whole_numbers(name, "set_size", np.array([len(members) for members in own])),
        _whole_numbers(name, "set_bits", np.concatenate(packed), "uint8_t"),
    ]


def _whole_numbers(name: str, what: str, values: NDArray[Any], kind: str = "") -> str:
    small = not len(values) or (values.min() >= -(2**15) and values.max() < 2**15)
    return _declared(kind or ("int16_t" if small else "int32_t"), name, what, map(str, values))


def _real_numbers(name: str, what: str, values: NDArray[Any]) -> str:
    suffix = "f" if values.dtype == np.float32 else ""
    texts = np.unique(values)  # many are the same, and writing one takes long
    known = {number: _number(number, suffix) for number in texts}
    kind = "float" if suffix else "double"
    return _declared(kind, name, what, (known[number] for number in values))


def _number(value: Any, suffix: str) -> str:
    """Return the shortest decimal number that reads as exactly this one."""
    if np.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return f"{value!s}{suffix}"


def _declared(kind: str, name: str, what: str, numbers: Iterable[str]) -> str:
    texts = list(numbers) or ["0"]  # C has no empty arrays
    lines = [", ".join(texts[i : i + PER_LINE]) for i in range(0, len(texts), PER_LINE)]
    content = ",\n    ".join(lines)
    return f"static const {kind} {name}_{what}[{len(texts)}] = {{\n    {content}\n}};\n"


def _functions(forest: Forest, name: str) -> str:
    """Return the functions that a forest has use for; all names begin with `name`."""
    parts = files("thriftwood.formats").joinpath("forest.c.template").read_text().split("//@ ")
    sections = dict(part.split("\n", 1) for part in parts[1:])
    link: str = forest.link
    if link == "logistic" and forest.n_outputs == 1 and forest.is_classifier:
        link = "two classes"
    unused = {
        "zero is missing": not forest.zero_is_missing.any(),
        "categories": not (forest.category_set != NO_SET).any(),
        "mean": forest.combine != "mean",
        "bias": not forest.bias.any(),
        **{section: section != f"link {link}" for section in sections if "link " in section},
    }
    single = forest.input_dtype == np.float32
    code = "".join(text for section, text in sections.items() if not unused.get(section))
    return Template(code).substitute(
        name=name,
        real="float" if single else "double",
        tiny="1e-35f" if single else repr(NEXT_TO_ZERO),
        n_features=forest.n_features,
        n_trees=forest.n_trees,
        n_outputs=forest.n_outputs,
    )


# --- nested stages: a function for each forest, and one that buys stage by stage


def _stages_in_c(stages: NestedStages, name: str, plan: Forest) -> str:
    """Return nested stages as C source; those that no sample reaches are left out.

    ``int name_predict(const double *row, double *out)`` and ``int name_predict_lazily(get, context,
    out)`` return the number of the stage where the sample stops; `out` gets class probabilities, or
    the number. `plan` knows the names of columns and the classes.
    """
    in_use, n_out = stages.in_use, max(1, len(stages.error_costs))
    parts, cases, gates = [], [], []
    for place, number in enumerate(in_use):
        calls = []
        for member_number, member in enumerate(stages.members[number]):
            own = f"{name}_{place}_{member_number}"
            parts.append(_member(member, own, plan))
            calls.append(_call(own, member_number, n_out))
        cases.append(f"    case {place}:\n" + "".join(calls) + "        break;")
        if stages.gates:
            own = f"{name}_gate_{place}"
            parts.append(_member(stages.gates[number], own, plan))
            gates.append(
                f"    case {place}:\n        {own}_predict(row, &expected);\n        break;"
            )
    least = LEAST_SHARE * (
        float(stages.error_costs.max()) if len(stages.error_costs) else stages.gate_unit
    )
    words: dict[str, Any] = {
        "name": name,
        "n_out": n_out,
        "n_features": stages.n_features,
        "n_stages": len(in_use),
        "least": repr(max(least, float(np.finfo(np.float64).tiny))),
        "unit": repr(stages.gate_unit),
        "gates": "\n".join(gates),
    }
    margin = Template(CLASS_MARGIN if len(stages.error_costs) else GATE_MARGIN).substitute(words)
    words |= {"margin": margin, "cases": "\n".join(cases)}
    template = files("thriftwood.formats").joinpath("stages.c.template").read_text()
    head = "#include <math.h>\n#include <stdint.h>\n\n"
    head = _stages_head(stages, name, plan) + head
    return (
        head + "".join(parts) + _stage_arrays(stages, name) + Template(template).substitute(words)
    )


def _stages_head(stages: NestedStages, name: str, plan: Forest) -> str:
    """Say in a comment what each stage buys, and what comes out."""
    lines = [f"{name}: {len(stages.in_use)} stages, which buy these numbers of a row:"]
    bought: frozenset[int] = frozenset()
    for number in stages.in_use:
        new = [(k, quoted(plan.columns.label(k))) for k in sorted(stages.sets[number] - bought)]
        lines += [f"  stage {number}  [{feature}] {label}" for feature, label in new]
        bought = stages.sets[number]
    if plan.classes is not None:
        labels = [f"[{k}] {quoted(str(label))}" for k, label in enumerate(plan.classes.tolist())]
        lines.append(f"Out come the probabilities of classes: {', '.join(labels)}.")
    return "/* " + "\n * ".join(lines) + "\n */\n\n"


def _member(member: Any, name: str, plan: Forest) -> str:
    forest = tree_member(member, "C")
    classes = None if forest.classes is None else plan.classes
    return _forest_in_c(replace(forest, feature_names=plan.feature_names, classes=classes), name)


def _call(own: str, number: int, n_out: int) -> str:
    """Return C that adds what a forest says to what others have said."""
    if number == 0:
        return f"        {own}_predict(row, out);\n"
    return (
        f"        {own}_predict(row, part);\n"
        f"        for (k = 0; k < {n_out}; k++)\n"
        "            out[k] += part[k];\n"
    )


def _stage_arrays(stages: NestedStages, name: str) -> str:
    in_use = stages.in_use
    order: list[int] = []
    ends = []
    for number in in_use:
        order += sorted(stages.sets[number].difference(order))
        ends.append(len(order))
    thresholds = np.array(stages.thresholds)[in_use]
    thresholds[-1] = -1.0  # whoever comes so far stops, whatever the margin
    members = np.array([len(stages.members[number]) for number in in_use])
    parts = [
        _whole_numbers(name, "order", np.array(order, dtype=np.int64)),
        _whole_numbers(name, "end", np.array(ends)),
        _whole_numbers(name, "number", np.array(in_use)),
        _whole_numbers(name, "n_members", members),
        _real_numbers(name, "threshold", thresholds),
    ]
    if len(stages.error_costs):
        parts.append(_real_numbers(name, "error_cost", stages.error_costs.ravel()))
    return "".join(parts) + "\n"
