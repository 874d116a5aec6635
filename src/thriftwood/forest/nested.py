"""Stages over nested sets of features: predictions, and files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thriftwood.errors import ForestError, InputError
from thriftwood.forest import files
from thriftwood.forest.forest import Forest
from thriftwood.forest.margin_kernels import LEAST_SHARE
from thriftwood.forest.prediction import predict
from thriftwood.forest.stages import (
    StagePredictions,
    Stages,
    margins_of,
    send_on,
    stages_in_use,
)
from thriftwood.support.arrays import BoolArray, FloatArray, IntArray, read_only, read_only_copy
from thriftwood.support.files import File

FeatureSet = frozenset[int]


@dataclass(frozen=True, eq=False)
class NestedStages:
    """Models on nested sets of features, and how sure a sample must be to stop at each."""

    sets: tuple[FeatureSet, ...]  # the features of each stage, with all of the stage before
    # The models of each stage, whose mean it predicts: a `Forest` of all columns, or what has their
    # number as `n_features` and a `predict` of doubles.
    members: tuple[tuple[Any, ...], ...]
    # For numbers, how much each stage is expected to err, in the units of `gate_unit`, the mean
    # error; for classes there are none.
    gates: tuple[Forest, ...]
    # A sample stops at the first stage where its margin is at least this. Infinity leaves a stage
    # out; at the last it is 0, so that every sample stops.
    thresholds: FloatArray
    error_costs: FloatArray  # Of answers: true class, answer. Empty for numbers.
    gate_unit: float = 1.0
    # The first stage whose members each stage counts in, all of which it has the features of: it
    # predicts the mean of all from there to its own. Empty means its own alone.
    begins: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("thresholds", "error_costs"):
            object.__setattr__(self, name, read_only_copy(getattr(self, name), np.float64))

    def __len__(self) -> int:
        return len(self.sets)

    @property
    def n_features(self) -> int:
        return self.members[0][0].n_features

    @property
    def in_use(self) -> list[int]:
        """The stages that samples may reach."""
        return stages_in_use(self.thresholds)

    def used(self, stage: IntArray) -> BoolArray:
        """Return a mask of the features bought by samples that stop at these stages."""
        masks = np.array([mask_of(own, self.n_features) for own in self.sets])
        return read_only(masks[stage])

    def outputs(self, number: int, X: FloatArray, n_jobs: int | None = None) -> FloatArray:
        """Return predictions of a stage: probabilities of classes, or numbers in one column."""
        found = [predict_member(member, X, n_jobs) for member in self.members_of(number)]
        return sum(found[1:], start=found[0]) / len(found)

    def members_of(self, number: int) -> tuple[Any, ...]:
        """Return the models whose mean a stage predicts."""
        first = self.begins[number] if self.begins else number
        return tuple(member for own in self.members[first : number + 1] for member in own)

    def margins(
        self, number: int, X: FloatArray, outputs: FloatArray, n_jobs: int | None = None
    ) -> FloatArray:
        """Return the confidence of a stage in its predictions."""
        if len(self.error_costs):
            return margins_of(outputs, "identity", self.error_costs)
        if not self.gates:
            return np.zeros(len(X))
        return gate_margins(predict_member(self.gates[number], X, n_jobs)[:, 0], self.gate_unit)

    def predicted(
        self, number: int, X: FloatArray, n_jobs: int | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the margins of samples at a stage, and what it predicts."""
        found = self.outputs(number, X, n_jobs)
        return self.margins(number, X, found, n_jobs), found

    def predict(self, X: FloatArray, n_jobs: int | None = None) -> StagePredictions:
        """Send samples on, all columns in doubles, until each is sure enough."""
        return send_on(self, X, n_jobs)

    def check(self) -> NestedStages:
        """Return the stages, or raise `ForestError` where they do not belong together."""
        n_classes = len(self.error_costs)
        per_stage = (self.members, self.thresholds, *([self.gates] if self.gates else []))
        fits = (
            bool(self.sets)
            and all(len(own) == len(self.sets) for own in per_stage)
            and all(self.members)
            and len(self.begins) in (0, len(self.sets))
            and all(0 <= first <= number for number, first in enumerate(self.begins))
            and bool((self.thresholds >= 0).all())
            and self.thresholds[-1] == 0
            and self.error_costs.shape in ((0, 0), (n_classes, n_classes))
            and bool(np.isfinite(self.error_costs).all())
            and 0 < self.gate_unit < np.inf
            and all(a <= b for a, b in zip(self.sets[:-1], self.sets[1:], strict=True))
        )
        if not fits:
            raise ForestError("The parts of nested stages contradict each other.")
        for own, members in zip(self.sets, self.members, strict=True):
            for member in members:
                if isinstance(member, Forest):
                    _check_forest(member, own, n_classes)
        for own, gate in zip(self.sets, self.gates, strict=False):
            _check_forest(gate, own, 0)
        return self


def purchase_plan(
    stages: NestedStages, classes: NDArray[Any] | None, feature_names: tuple[str, ...] | None
) -> Stages:
    """Return stages of trees that buy what nested stages buy, for bills and receipts.

    Each is a single tree, a chain: whatever the values, a sample passes a split on every feature of
    the set, in the order of buying. What its leaves say means nothing.
    """
    order: list[int] = []
    for own in stages.sets:
        order += sorted(own.difference(order))
    chains = [_chain(order[: len(own)], stages.n_features) for own in stages.sets]
    n_outputs = max(1, 0 if classes is None else len(classes))
    forests = tuple(
        replace(
            chain,
            values=np.zeros((chain.n_nodes, n_outputs)),
            classes=classes,
            feature_names=feature_names,
        )
        for chain in chains
    )
    return Stages(forests, stages.thresholds)


def _chain(features: list[int], n_features: int) -> Forest:
    """Return a tree whose splits send every sample left, and on to the next."""
    depth = len(features)
    inner = np.arange(0, 2 * depth, 2)  # splits, each followed by the leaf that nobody reaches
    feature = np.full(2 * depth + 1, -1, dtype=np.int32)
    left, right = feature.copy(), feature.copy()
    feature[inner], left[inner], right[inner] = features, inner + 2, inner + 1
    return Forest(
        tree_start=np.array([0, len(feature)]),
        feature=feature,
        threshold=np.where(feature >= 0, np.inf, 0.0),
        left=left,
        right=right,
        missing_left=feature >= 0,
        values=np.zeros((len(feature), 1)),
        n_features=n_features,
        input_dtype=np.dtype(np.float64),
    )


def predict_member(member: Any, X: FloatArray, n_jobs: int | None = None) -> FloatArray:
    """Return predictions of a member of a stage, for samples with all columns in doubles."""
    if isinstance(member, Forest):
        with np.errstate(over="ignore"):
            return predict(member, X.astype(member.input_dtype, copy=False), n_jobs)
    return member.predict(X)


def mask_of(features: Iterable[int], n_features: int) -> BoolArray:
    """Return a set of features as a mask."""
    mask = np.zeros(n_features, dtype=np.bool_)
    mask[list(features)] = True
    return mask


def gate_margins(expected: FloatArray, unit: float) -> FloatArray:
    """Return margins that fall as the squared error that a later stage may save rises."""
    return np.log1p(unit / (np.maximum(expected, 0.0) + LEAST_SHARE * unit))


def save_stages(
    file: File, stages: NestedStages, header: Mapping[str, Any], arrays: Mapping[str, Any]
) -> None:
    """Write stages with a header and arrays of others to a file, all of it or nothing."""
    everything, forests = dict(arrays), {}
    named = [
        (f"stage_{number}_{place}", member)
        for number, members in enumerate(stages.members)
        for place, member in enumerate(members)
    ]
    named += [(f"gate_{number}", gate) for number, gate in enumerate(stages.gates)]
    for name, member in named:
        if not isinstance(member, Forest):
            raise InputError(
                f"The stages are of {type(member.model).__name__} models, which are no trees that "
                "a file of ours can hold: write the whole estimator by skops or pickle."
            )
        forests[name], own = files.forest_parts(member, name)
        everything |= own
    everything |= {"thresholds": stages.thresholds, "error_costs": stages.error_costs}
    own_header = {
        "sets": [sorted(own) for own in stages.sets],
        "members": [len(members) for members in stages.members],
        "forests": forests,
        "gate_unit": stages.gate_unit,
        "begins": list(stages.begins),
    }
    files.save_arrays(file, {**header, "stages": own_header}, everything)


def load_stages(header: Mapping[str, Any], arrays: dict[str, Any]) -> NestedStages:
    """Return the stages of a file's header and arrays, checked."""
    own = header["stages"]
    forests = {
        name: files.forest_from(about, arrays, name) for name, about in own["forests"].items()
    }
    return NestedStages(
        sets=tuple(frozenset(map(int, features)) for features in own["sets"]),
        members=tuple(
            tuple(forests[f"stage_{number}_{place}"] for place in range(n_members))
            for number, n_members in enumerate(own["members"])
        ),
        gates=tuple(
            forests[f"gate_{number}"] for number in range(len(own["sets"])) if "gate_0" in forests
        ),
        thresholds=arrays["thresholds"],
        error_costs=arrays["error_costs"],
        gate_unit=float(own["gate_unit"]),
        begins=tuple(map(int, own.get("begins", ()))),
    ).check()


def _check_forest(forest: Forest, features: FeatureSet, n_classes: int) -> None:
    """Refuse trees that ask for what their stage does not buy, or predict something else."""
    found = 0 if forest.classes is None else len(forest.classes)
    tested = set(forest.check().feature[forest.is_split].tolist())
    if not tested <= features or found != n_classes:
        raise ForestError("A forest asks for features that its stage does not buy.")
