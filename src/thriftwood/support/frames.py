"""Tables for people who like pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thriftwood.support.libraries import library

if TYPE_CHECKING:
    import pandas as pd


def frame_of(columns: dict[str, Any]) -> pd.DataFrame:
    """Return columns as a pandas data frame."""
    frame: pd.DataFrame = library("pandas", what="A data frame").DataFrame(columns)
    return frame
