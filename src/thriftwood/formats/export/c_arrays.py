"""The arrays of a forest in C, each in the smallest type that holds it.

Splits have arrays of their own, and so have the different things that leaves say. A child that is a
split is its number, a child that is a leaf is -1 minus the place of what it says; so is a root::

    at >= 0     split `at`
    at < 0      a leaf that says `value[(-1 - at) * n_outputs ...]`
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from thriftwood.forest import NO_SET, Forest
from thriftwood.formats.export.numbering import number_nodes
from thriftwood.formats.export.thresholds import for_single_rows
from thriftwood.support.arrays import IntArray

# Bits of a split's rule.
MISSING_LEFT = 1
ZERO_IS_MISSING = 2
CATEGORIES = 4

PER_LINE = 12


class Arrays(NamedTuple):
    """Declarations of all arrays, and whether one of them has an infinite number."""

    text: str
    has_infinity: bool


def c_arrays(forest: Forest, name: str) -> Arrays:
    """Return the declarations of the arrays that the code of `c_code` reads."""
    splits, leaves, number, _ = number_nodes(forest)
    said, place = np.unique(forest.values[leaves], axis=0, return_inverse=True)
    code = number.copy()
    code[leaves] = -1 - place.ravel()
    threshold = (
        for_single_rows(forest.threshold) if forest.input_dtype == np.float32 else forest.threshold
    )
    of_set = forest.category_set != NO_SET
    rule = (
        MISSING_LEFT * forest.missing_left
        + ZERO_IS_MISSING * (forest.zero_is_missing & ~of_set)
        + CATEGORIES * of_set
    )
    cuts = np.where(of_set, np.zeros((), threshold.dtype), threshold)[splits]
    parts = [
        _whole(name, "root", code[forest.tree_start[:-1]]),
        _whole(name, "feature", forest.feature[splits]),
        _real(name, "threshold", cuts),
        _whole(name, "left", code[forest.left[splits]]),
        _whole(name, "right", code[forest.right[splits]]),
        _whole(name, "rule", rule[splits], "uint8_t"),
        _real(name, "value", said.ravel()),
    ]
    if of_set.any():
        parts += _sets(forest, name, splits)
    if forest.bias.any():
        parts.append(_real(name, "bias", forest.bias))
    return Arrays("".join(parts) + "\n", bool(np.isinf(cuts).any()))


def _sets(forest: Forest, name: str, splits: IntArray) -> list[str]:
    """Return the sets as bits, eight to a byte; those that no split uses are left out."""
    used, place = np.unique(forest.category_set[splits], return_inverse=True)
    shift = int(used[0] == NO_SET)
    own = [forest.in_set[forest.set_start[s] : forest.set_start[s + 1]] for s in used[shift:]]
    packed = [np.packbits(members, bitorder="little") for members in own]
    ends = np.cumsum([0, *map(len, packed)])
    return [
        _whole(name, "set", np.maximum(place - shift, 0)),
        _whole(name, "set_start", ends[:-1]),
        _whole(name, "set_size", np.array([len(members) for members in own])),
        _whole(name, "set_bits", np.concatenate(packed), "uint8_t"),
    ]


def _whole(name: str, what: str, values: NDArray[Any], kind: str = "") -> str:
    small = not len(values) or (values.min() >= -(2**15) and values.max() < 2**15)
    return _declared(kind or ("int16_t" if small else "int32_t"), name, what, map(str, values))


def _real(name: str, what: str, values: NDArray[Any]) -> str:
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
