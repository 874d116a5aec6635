"""Settings of all tests."""

import os

from hypothesis import settings

# The first call of a kernel compiles it, so a deadline would only measure that. The same examples
# every time in CI; new ones on a developer's machine.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")
