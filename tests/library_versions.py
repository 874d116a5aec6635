"""What older versions of libraries do not do, so that no test can ask it of them."""

import pytest
import sklearn
from packaging.version import Version

IS_BEFORE_1_9 = Version(sklearn.__version__) < Version("1.9")
polars_is_known = pytest.mark.skipif(
    IS_BEFORE_1_9, reason="scikit-learn before 1.9 does not read frames of polars 2"
)
