"""The paper's Figure 1, two trees and one example, and the matrices printed for it."""

import numpy as np
from builders import forest_of, leaf, split

EVEN = (0.5, 0.5)
# Features 1, 2, 3 of the paper are columns 0, 1, 2. One example: leaf 4 in tree 1, 11 in tree 2.
TREE_1 = split(0, 0.5, leaf(EVEN), split(1, 0.5, leaf(EVEN), leaf(EVEN), EVEN), EVEN)
TREE_2 = split(
    1,
    -0.5,
    split(0, 0.5, leaf(EVEN), leaf(EVEN), EVEN),
    split(2, 0.5, leaf(EVEN), leaf(EVEN), EVEN),
    EVEN,
)
EXAMPLE = np.array([[1.0, 0.0, 0.0]])
FOREST = forest_of(TREE_1, TREE_2, n_features=3)
TREE_OF_1, TREE_OF_2 = range(5), range(5, 12)

EQUALITIES_1 = [
    # z1 z2 z3 z4 z5 w1 w2
    [1, 1, 0, 0, 0, 0, 0],
    [1, 0, 1, 1, 0, 0, 0],
    [1, 0, 1, 0, 1, 0, 0],
    [1, 0, 1, 0, 0, 0, 1],
    [1, 0, 0, 0, 0, 1, 0],
]
EQUALITIES_2 = [
    # z6 z7 z8 z9 z10 z11 z12 w2 w3
    [1, 1, 1, 0, 0, 0, 0, 0, 0],
    [1, 1, 0, 1, 0, 0, 0, 0, 0],
    [1, 0, 0, 0, 1, 1, 0, 0, 0],
    [1, 0, 0, 0, 1, 0, 1, 0, 0],
    [1, 0, 0, 0, 1, 0, 0, 0, 1],
    [1, 0, 0, 0, 0, 0, 0, 1, 0],
]
NETWORK_1 = [
    [-1, -1, 0, 0, 0, 0, 0],
    [0, 1, -1, -1, 0, 0, 0],
    [0, 0, 0, 1, -1, 0, 0],
    [0, 0, 0, 0, 1, 0, -1],
    [0, 0, 1, 0, 0, -1, 1],
    [1, 0, 0, 0, 0, 1, 0],
]
NETWORK_2 = [
    [-1, -1, -1, 0, 0, 0, 0, 0, 0],
    [0, 0, 1, -1, 0, 0, 0, 0, 0],
    [0, 1, 0, 1, -1, -1, 0, 0, 0],
    [0, 0, 0, 0, 0, 1, -1, 0, 0],
    [0, 0, 0, 0, 0, 0, 1, 0, -1],
    [0, 0, 0, 0, 1, 0, 0, -1, 1],
    [1, 0, 0, 0, 0, 0, 0, 1, 0],
]
