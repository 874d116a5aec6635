"""Labels of categories as a CatBoost model tells them apart, of which it keeps hashes alone."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from thriftwood.errors import InputError
from thriftwood.support.arrays import FloatArray, by_place

Document = dict[str, Any]


class Categories:
    """Makes numbers of the labels in some columns: the place of each among those of the model.

    A label that splits do not ask for is missing. CatBoost itself is asked, for each label once: by
    a model with a tree for each category, which says 1 of it, 2 of the next, and so on.

    Parameters
    ----------
    document : dict
        Of the model.
    as_bytes : callable
        Writes a document in CatBoost's own format.
    columns : sequence of int
        Those of categories, in the order of the document.
    hashes : sequence of lists of int
        What the model keeps of the labels of each.
    n_columns : int
        How many columns there are in all.
    """

    def __init__(
        self,
        document: Document,
        as_bytes: Callable[[Document], bytes],
        columns: Sequence[int],
        hashes: Sequence[list[int]],
        n_columns: int,
    ) -> None:
        self.columns, self.n_columns = columns, n_columns
        self._oracles = {
            column: as_bytes(_one_by_one(document, number, own)) if own else b""
            for number, (column, own) in enumerate(zip(columns, hashes, strict=True))
        }
        self._place: dict[tuple[int, Any], float] = {}

    def transform(self, X: Any) -> FloatArray:
        """Return samples with numbers in place of labels."""
        made = np.empty((X.shape[0], self.n_columns))
        for column in range(self.n_columns):
            values = by_place(X)[:, column]
            cells = values.tolist() if hasattr(values, "tolist") else list(values)
            if column in self.columns:
                labels = [None if cell is None or cell != cell else cell for cell in cells]
                self._learn(column, {one for one in labels if one is not None})
                made[:, column] = [self._place.get((column, one), np.nan) for one in labels]
            else:
                made[:, column] = np.array([np.nan if one is None else one for one in cells], float)
        return made

    def _learn(self, column: int, labels: set[Any]) -> None:
        """Ask CatBoost for the places of labels that have not been seen."""
        from catboost import CatBoost, CatBoostError

        new = [one for one in labels if (column, one) not in self._place]
        if not new or not self._oracles[column]:
            return
        table = np.zeros((len(new), self.n_columns), dtype=object)
        table[:, self.columns] = ""
        table[:, column] = new
        try:
            said = CatBoost().load_model(blob=self._oracles[column]).predict(table)
        except CatBoostError as error:
            raise InputError(f"CatBoost takes no such category: {error}", "X") from None
        found = np.where(said > 0.5, np.round(said) - 1, np.nan).tolist()
        self._place |= {(column, one): place for one, place in zip(new, found, strict=True)}


def _one_by_one(document: Document, number: int, hashes: list[int]) -> Document:
    """Return a model that says of each category of a column which it is, from 1 on."""
    about = document["features_info"]
    # CatBoost numbers all splits there could be: those of numbers, then of each category.
    first = sum(len(one["borders"]) for one in about.get("float_features", []))
    first += sum(len(one["values"]) for one in about["categorical_features"][:number])
    trees = [
        {
            "split": {
                "split_type": "OneHotFeature",
                "split_index": first + place,
                "cat_feature_index": number,
                "value": one,
            },
            "left": {"value": 0.0, "weight": 1.0},
            "right": {"value": place + 1.0, "weight": 1.0},
        }
        for place, one in enumerate(hashes)
    ]
    whole = {name: part for name, part in document.items() if name != "oblivious_trees"}
    return {**whole, "model_info": {}, "trees": trees, "scale_and_bias": [1.0, [0.0]]}
