"""What older versions of libraries do not do, so that no test can ask it of them."""

import pytest
import sklearn
from packaging.version import Version

IS_BEFORE_1_9 = Version(sklearn.__version__) < Version("1.9")
polars_is_known = pytest.mark.skipif(
    IS_BEFORE_1_9, reason="scikit-learn before 1.9 does not read frames of polars 2"
)
# Forests of the same seed are others there: of some nothing is shown what a test wants to see.
forest_of_1_9 = pytest.mark.skipif(
    IS_BEFORE_1_9, reason="the case is one of a forest that scikit-learn 1.9 trains"
)
