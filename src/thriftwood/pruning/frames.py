"""Tables for people who like pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from thriftwood.errors import MissingLibraryError

if TYPE_CHECKING:
    import pandas as pd


def frame_of(columns: dict[str, Any]) -> pd.DataFrame:
    """Return columns as a pandas data frame."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingLibraryError("A data frame needs pandas: pip install pandas") from None
    return pd.DataFrame(columns)
