"""LightGBM trained with CEGB: a split pays for a feature that its samples have not bought yet."""

from collections.abc import Sequence
from typing import Any

import lightgbm
from held_out import Rows

PARAMETERS = {
    "objective": "binary",
    "learning_rate": 0.1,
    "num_threads": 1,  # on this little data a second thread costs more than it brings
    "deterministic": True,
    "force_row_wise": True,
    "seed": 0,
    "verbose": -1,
}


def train(rows: Rows, price: float, n_trees: int, n_leaves: int = 31) -> lightgbm.Booster:
    """Train a booster with a price on every feature; 0 makes it a plain one."""
    parameters: dict[str, Any] = PARAMETERS | {"num_leaves": n_leaves}
    if price:
        parameters["cegb_tradeoff"] = price
        parameters["cegb_penalty_feature_lazy"] = [1.0] * rows.X.shape[1]
    return lightgbm.train(parameters, lightgbm.Dataset(rows.X, rows.y.astype(float)), n_trees)


def with_prefixes(base: lightgbm.Booster, n_trees: Sequence[int]) -> list[lightgbm.Booster]:
    """Return a booster, and what it was after so many trees: it may also stop early."""
    texts = [base.model_to_string(num_iteration=number) for number in n_trees]
    return [base, *(lightgbm.Booster(model_str=text) for text in texts)]
