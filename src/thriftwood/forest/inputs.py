"""Columns of the user's samples, and the features that a pipeline makes of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thriftwood.errors import InputError
from thriftwood.support.columns import Columns
from thriftwood.support.libraries import frame_of


@dataclass(frozen=True, eq=False)
class Inputs:
    """The columns that samples come with, where trees test features that are made of them.

    Prices, bills and requests speak of columns; trees test features.

    Attributes
    ----------
    columns : Columns
    transform : callable
        Makes the table of features of a table of columns.
    blanks : tuple
        A value for each column with which `transform` works, for values that nobody has bought.
    """

    columns: Columns
    transform: Callable[[Any], Any]
    blanks: Sequence[Any]

    def features(self, bought: Sequence[Mapping[int, Any]]) -> Any:
        """Return the features of samples that have bought some columns.

        Those that need other columns, too, have no meaning.
        """
        names = self.columns.names
        cells = [[one.get(k, blank) for one in bought] for k, blank in enumerate(self.blanks)]
        table: Any
        if names is None:
            table = np.array(cells).T
        else:
            table = frame_of(dict(zip(names, cells, strict=True)))
        try:
            return self.transform(table)
        except Exception as error:  # of any transformer
            raise InputError(
                f"The pipeline cannot transform samples that have bought only some columns: "
                f"{error} Predict a table of all values, without a source."
            ) from error
