"""How a tree is to grow."""

from dataclasses import dataclass
from typing import NamedTuple

from thriftwood.errors import InputError
from thriftwood.support.arrays import FloatArray, IndexArray
from thriftwood.support.validation import one_number_from_zero, truth, whole_number
from thriftwood.training.impurity_kernels import ENTROPY, PAIRS, POWERS

# Class weights of up to 1e15 to this power are still far from the end of doubles.
MOST_POWER = 20

IMPURITIES = {"pairs": PAIRS, "powers": POWERS, "entropy": ENTROPY}


class Bundles(NamedTuple):
    """What the prices of features are made of: cost items that several features may share.

    The price of feature `k` is the sum of `amount[start[k]:start[k + 1]]`, for the cost items
    beside it, and of what is never shared.
    """

    start: IndexArray
    cost_item: IndexArray
    amount: FloatArray


@dataclass(frozen=True, eq=False)
class Growth:
    """The rules by which splits are chosen and growing stops.

    Attributes
    ----------
    prices : shape (n_features,)
        What a feature costs one row that has bought nothing yet.
    bundles : Bundles, optional
        What these prices are made of, where features share some of it.
    impurity : {"pairs", "powers", "entropy"}
        What makes rows of different classes bad company, F(S) in the paper.
    alpha : float
        "pairs" subtracts it from the weight of each class; less entropy, in nats, counts as none.
    power : int
        Of "powers".
    max_depth : int, optional
    min_samples_leaf : int
        How many rows of the tree's sample a leaf has at least.
    min_weight_leaf : float
        How much its rows weigh at least.
    max_features : int, optional
        How many features a node tries, drawn anew each time; those that do not vary there do not
        count, and it goes on until one is of use. None tries all.
    free_once_bought : bool
        Whether a feature that was tested above a node costs nothing more there: it is taken where
        it gains at least as much as the one that the prices suggest. Other features cost less by
        what they share with those above.
    """

    prices: FloatArray
    bundles: Bundles | None = None
    impurity: str = "pairs"
    alpha: float = 0.0
    power: int = 3
    max_depth: int | None = None
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    max_features: int | None = None
    free_once_bought: bool = False

    def check(self) -> "Growth":
        """Return the rules themselves, or raise where one has no meaning."""
        if not isinstance(self.impurity, str) or self.impurity not in IMPURITIES:
            names = ", ".join(repr(name) for name in IMPURITIES)
            raise InputError(f"`impurity` is {self.impurity!r}: choose {names}.")
        one_number_from_zero(self.alpha, "alpha", "At 0 trees grow the most.")
        if self.impurity == "powers" and self.alpha != 0:
            raise InputError("`alpha` has no meaning for the impurity 'powers': leave it at 0.")
        if whole_number(self.power, "power", 2) > MOST_POWER:
            raise InputError(f"`power` is {self.power}: it can be {MOST_POWER} at most.")
        whole_number(self.min_samples_leaf, "min_samples_leaf", 1)
        if self.max_depth is not None:
            whole_number(self.max_depth, "max_depth", 1)
        if self.max_features is not None:
            whole_number(self.max_features, "max_features", 1)
        truth(self.free_once_bought, "free_once_bought")
        return self
