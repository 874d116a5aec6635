"""Settings of all tests, and what several of them look at."""

import os

import pytest
from hypothesis import settings

# The first call of a kernel compiles it, so a deadline would only measure that. The same examples
# every time in CI; new ones on a developer's machine.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session")
def nhanes():
    """A forest on NHANES, its path, and rows that neither has seen."""
    from paths import NHANES, VALID, nhanes_forest_and_path

    return *nhanes_forest_and_path(), NHANES.X[VALID], NHANES.y[VALID]
