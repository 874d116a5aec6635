"""Thrifty models as C source: a function for each forest, and one that buys stage by stage."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from thriftwood.errors import UnsupportedModelError
from thriftwood.forest import LEAST_SHARE, Forest, NestedStages
from thriftwood.formats import c

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


def stages_in_c(stages: NestedStages, name: str, plan: Forest) -> str:
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
            parts.append(_forest(member, own, plan))
            calls.append(_call(own, member_number, n_out))
        cases.append(f"    case {place}:\n" + "".join(calls) + "        break;")
        if stages.gates:
            own = f"{name}_gate_{place}"
            parts.append(_forest(stages.gates[number], own, plan))
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
    head = _head(stages, name, plan) + head
    return head + "".join(parts) + _arrays(stages, name) + Template(template).substitute(words)


def _head(stages: NestedStages, name: str, plan: Forest) -> str:
    """Say in a comment what each stage buys, and what comes out."""
    lines = [f"{name}: {len(stages.in_use)} stages, which buy these numbers of a row:"]
    bought: frozenset[int] = frozenset()
    for number in stages.in_use:
        new = [(k, c.quoted(plan.columns.label(k))) for k in sorted(stages.sets[number] - bought)]
        lines += [f"  stage {number}  [{feature}] {label}" for feature, label in new]
        bought = stages.sets[number]
    if plan.classes is not None:
        labels = [f"[{k}] {c.quoted(str(label))}" for k, label in enumerate(plan.classes.tolist())]
        lines.append(f"Out come the probabilities of classes: {', '.join(labels)}.")
    return "/* " + "\n * ".join(lines) + "\n */\n\n"


def _forest(member: Any, name: str, plan: Forest) -> str:
    if not isinstance(member, Forest):
        raise UnsupportedModelError(
            f"The stages are of {type(member.model).__name__} models, which are no trees that can "
            "be written as C."
        )
    classes = None if member.classes is None else plan.classes
    return c.forest_in_c(replace(member, feature_names=plan.feature_names, classes=classes), name)


def _call(own: str, number: int, n_out: int) -> str:
    """Return C that adds what a forest says to what others have said."""
    if number == 0:
        return f"        {own}_predict(row, out);\n"
    return (
        f"        {own}_predict(row, part);\n"
        f"        for (k = 0; k < {n_out}; k++)\n"
        "            out[k] += part[k];\n"
    )


def _arrays(stages: NestedStages, name: str) -> str:
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
        c.whole_numbers(name, "order", np.array(order, dtype=np.int64)),
        c.whole_numbers(name, "end", np.array(ends)),
        c.whole_numbers(name, "number", np.array(in_use)),
        c.whole_numbers(name, "n_members", members),
        c.real_numbers(name, "threshold", thresholds),
    ]
    if len(stages.error_costs):
        parts.append(c.real_numbers(name, "error_cost", stages.error_costs.ravel()))
    return "".join(parts) + "\n"
