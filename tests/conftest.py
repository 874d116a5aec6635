"""Settings of all tests, and what several of them look at."""

import os

import pytest
from hypothesis import settings

# The first call of a kernel compiles it, so a deadline would only measure that. The same examples
# every time in CI; new ones on a developer's machine.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")

# Browsers, clusters, documents, cross-checks with HiGHS and other libraries' whole checks.
SLOW_FILES = {
    "test_authors.py",
    "test_benchmarks.py",
    "test_costs_program.py",
    "test_documents.py",
    "test_examples.py",
    "test_fuzz.py",
    "test_notebook.py",
    "test_paper_programs.py",
    "test_paper_network.py",
    "test_partitions_dask.py",
    "test_report_browser.py",
    "test_workers.py",
}
QUICK_EXAMPLES = 8  # that Hypothesis draws for each law where slow tests are left out


def pytest_collection_modifyitems(config, items):
    is_quick = "not slow" in config.getoption("markexpr", "")
    for item in items:
        if item.path.name in SLOW_FILES:
            item.add_marker(pytest.mark.slow)
        drawn = getattr(item.obj, "_hypothesis_internal_use_settings", None)
        if is_quick and drawn is not None:
            fewer = settings(drawn, max_examples=min(drawn.max_examples, QUICK_EXAMPLES))
            item.obj._hypothesis_internal_use_settings = fewer


@pytest.fixture(scope="session")
def nhanes():
    """A forest on NHANES, its path, and samples that neither has seen."""
    from paths import NHANES, VALID, nhanes_forest_and_path

    return *nhanes_forest_and_path(), NHANES.X[VALID], NHANES.y[VALID]
