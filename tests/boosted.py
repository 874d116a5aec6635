"""Small boosted ensembles, made by hand, and the plain definition of their loss."""

from dataclasses import replace

import numpy as np
from builders import forest_of, trees
from hypothesis import strategies as st

from thriftwood.forest import Forest, scores

# Trees of a boosted model with several classes often speak for one of them only.
VALUES = {
    1: [(0.0,), (1.5,), (-2.0,), (0.25,), (-0.5,)],
    3: [(0.0, 0.0, 0.0), (1.5, 0.0, 0.0), (0.0, -2.0, 0.0), (0.25, 0.5, -1.0), (0.0, 0.0, 0.5)],
}
LOSSES = ("squared", "logistic", "softmax", "one_against_rest")


@st.composite
def boosted_cases(draw, most_splits=3, most_trees=3):
    """A boosted forest of a few trees, up to eight rows, what is right, and weights."""
    loss = draw(st.sampled_from(LOSSES))
    n_features = 2
    n_outputs = 1 if loss in ("squared", "logistic") else 3
    grown = draw(
        st.lists(trees(n_features, most_splits, VALUES[n_outputs]), min_size=1, max_size=most_trees)
    )
    classes = {"squared": None, "logistic": (0, 1)}.get(loss, (0, 1, 2))
    labels = None if n_outputs == 1 else classes
    forest = forest_of(*grown, n_features=n_features, classes=labels, combine="sum")
    n_samples = draw(st.integers(1, 8))
    rows = draw(
        st.lists(
            st.tuples(*[st.integers(0, 3).map(float)] * n_features),
            min_size=n_samples,
            max_size=n_samples,
        )
    )
    label = st.integers(-3, 3) if classes is None else st.sampled_from(classes)
    target = np.array(draw(st.lists(label, min_size=n_samples, max_size=n_samples)))
    weights = draw(st.lists(st.integers(0, 3), min_size=n_samples, max_size=n_samples))
    forest = replace(
        forest,
        classes=None if classes is None else np.array(classes),
        link={"squared": "identity", "softmax": "softmax"}.get(loss, "logistic"),
        bias=np.full(n_outputs, 0.25),
        gains=np.where(forest.is_split, np.arange(forest.n_nodes) + 1.0, 0.0),
    )
    return forest.check(), np.array(rows, dtype=np.float32), target, np.array(weights, dtype=float)


def true_losses(forest: Forest, rows, target) -> np.ndarray:
    """What the ensemble loses on each row, by the textbook."""
    said = scores(forest, np.asarray(rows, dtype=forest.input_dtype))
    if forest.classes is None:
        return (said[:, 0] - target) ** 2
    right = np.arange(len(target)), target
    if forest.link == "softmax":
        share = np.exp(said) / np.exp(said).sum(axis=1, keepdims=True)
        return -np.log(share[right])
    chance = 1 / (1 + np.exp(-said))
    if forest.n_outputs == 1:
        return -np.log(np.where(target == 1, chance[:, 0], 1 - chance[:, 0]))
    truth = np.zeros_like(chance)
    truth[right] = 1.0
    return -np.log(np.where(truth == 1, chance, 1 - chance)).sum(axis=1)
