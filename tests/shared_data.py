"""The data sets that are not bundled, where a checkout has them beside it."""

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared" / "data"
needs_shared_data = pytest.mark.skipif(
    not SHARED.is_dir(), reason="the folder shared/data is not beside the checkout"
)
