"""What a new user waits for: first calls that compile, and commands that must not.

Each runs in a process of its own, those that compile with an empty cache. Seconds of the processor
are what to compare; those on the clock depend on who else is at work.
"""

import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from measure import arguments

ROOT = Path(__file__).parents[1]
FIRST_PATH = """
import thriftwood as tw
from sklearn.ensemble import RandomForestClassifier
heart = tw.datasets.load_heart()
forest = RandomForestClassifier(40, max_features=None, max_depth=4, random_state=0)
tw.prune_path(forest.fit(heart.X, heart.y), heart.X, heart.y, costs=heart.prices)
"""
GIVEN = """
import thriftwood as tw
heart = tw.datasets.load_heart()
patients, ill = heart.frame(), heart.y
"""
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
TEN_LINES = GIVEN + next(block for block in BLOCKS if "prune_path(" in block)
COMPILING = {
    "first prune_path": (["-c", FIRST_PATH], 8),
    "ten lines of the README": (["-c", TEN_LINES], 10),
    "thriftwood warm-up": (["-m", "thriftwood", "warm-up"], 20),
}
AT_ONCE = {
    "thriftwood --version": (["-m", "thriftwood", "--version"], 0.3),
    "thriftwood --help": (["-m", "thriftwood", "--help"], 0.3),
}


def main() -> None:
    options = arguments(__doc__)
    few = dict(list(COMPILING.items())[:1]) if options.quick else COMPILING
    print(f"{'':26s}{'clock':>8s}{'processor':>11s}{'again':>8s}{'aim':>7s}   (seconds)")
    for name, (words, aim) in {**few, **AT_ONCE}.items():
        with TemporaryDirectory() as cache:
            clock, processor = seconds_of(words, cache)
            again = seconds_of(words, cache)[0]
        print(f"{name:26s}{clock:8.2f}{processor:11.2f}{again:8.2f}{aim:7.1f}")


def seconds_of(words: list[str], cache: str) -> tuple[float, float]:
    """Return seconds on the clock and of the processor that a process of Python takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    clock = time.perf_counter() - begin
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
