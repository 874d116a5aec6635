"""Damaged files, read by children that may die: each is refused in a sentence, or makes sense."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from fuzz.children import Child
from fuzz.mutations import mutate
from fuzz.reader import ACCEPTED, REFUSED
from fuzz.seeds import write_seeds

SECONDS = 120  # until a child is given up, on a machine that is busy
# Forks and OpenMP's threads do not mix; and memory that nobody has set up is not 0.
SETTINGS = {"OMP_NUM_THREADS": "1", "MALLOC_PERTURB_": "165"}
SHARES = {"model": 4, "cascade": 3, "ranking": 2, "booster": 6, "path": 4, "prices": 4, "table": 5}


class Files:
    """Damages files of every kind, and has them read."""

    def __init__(self):
        self.temporary = TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.seeds = write_seeds(self.folder)
        (self.folder / "seeds.json").write_text(json.dumps(self.seeds))
        self.reader = Child("fuzz.reader", self.folder, SETTINGS)
        self.kinds = [kind for kind, share in SHARES.items() for _ in range(share)]

    def check(self, seed, counts):
        """Damage and read one file; return what is wrong, or None, and the file."""
        rng = np.random.default_rng(seed)
        kind = self.kinds[int(rng.integers(len(self.kinds)))]
        name = self.seeds[kind][int(rng.integers(len(self.seeds[kind])))]
        content = (self.folder / name).read_bytes()
        return self.check_content(kind, name, mutate(content, rng), counts)

    def check_content(self, kind, name, content, counts):
        """Read one file; return what is wrong with the reading, and its content."""
        file = self.folder / f"mutant.{name.split('.', 1)[1]}"
        file.write_bytes(content)
        outcome, words = self._outcome(kind, file.name)
        counts["files"] += 1
        counts[f"files {outcome}"] += 1
        if outcome in (ACCEPTED, REFUSED):
            return None, content
        return f"{kind} {name}: {outcome}: {words}", content

    def _outcome(self, kind, name):
        answer = self.reader.ask(f"{kind} {name}", SECONDS)
        if answer is not None:
            return json.loads(answer)
        code = self.reader.code
        self.reader.close()
        if code is None:
            return "timeout", f"no answer within {SECONDS} s"
        return "crash", f"the process ended with {code}"

    def close(self):
        self.reader.close()
        self.temporary.cleanup()
