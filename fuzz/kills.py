"""kill -9 at every step and at random moments of writing: what is there is old or new, whole."""

import hashlib
import json
import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import thriftwood as tw
from fuzz.children import Child
from fuzz.seeds import PRICES, write_seeds
from fuzz.trees import trees_of

# What is written, by which the next run must not be kept.
OUTPUTS = ("path", "skops", "json", "prices", "prune", "frontier", "export", "cascade", "train")
SHARES = {"frontier": 4, "prune": 2}


class Kills:
    """Has files and folders written by children, and kills these."""

    def __init__(self):
        self.temporary = TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        write_seeds(self.folder)
        self.out = self.folder / "out"
        prices = (self.folder / "prices.csv").read_text()
        (self.folder / "prices0.csv").write_text(prices)
        (self.folder / "prices1.csv").write_text(prices.replace("5.17", "9.25"))
        for version, chol in enumerate((5.17, 9.25)):  # a thrifty model pays for features alone
            plain = tw.Costs(per_feature={**PRICES, "chol": chol})
            plain.to_file(self.folder / f"plain{version}.csv")
        self.child = Child("fuzz.writer", self.folder)
        self.known = {}
        self.steps = {}

    def check(self, seed, counts):
        """Kill one writer; return what is wrong, or None, and what was done."""
        rng = np.random.default_rng(seed)
        names = [name for name in OUTPUTS for _ in range(SHARES.get(name, 1))]
        what = names[int(rng.integers(len(names)))]
        old, new = self._versions(what)
        has_old = rng.random() < 0.7
        self._clear()
        if has_old:
            shutil.copytree(self.folder / f"old {what}", self.out, dirs_exist_ok=True)
        die_at = int(rng.integers(1, self.steps[what] + 1)) if rng.random() < 0.8 else None
        seconds = None if die_at else float(rng.random()) * 0.5
        code, _ = self._run(what, 1, die_at, seconds, fails=True)
        done = f"{what}, killed at step {die_at} or after {seconds} s"
        if code == 0:
            return None, done
        counts["kills"] += 1
        return self._judge(what, old if has_old else None, new, code), done

    def _judge(self, what, old, new, code):
        if code != -9:
            return f"ended with {code}: {self._errors()}"
        found = self._found()
        if found not in ([new] if old is None else [old, new]) and (old is not None or found):
            return f"{what} is neither old nor new: {sorted(found)}"
        code, _ = self._run(what, 1, fails=True)
        if code:
            return f"the next run of {what} ended with {code}: {self._errors()}"
        if self._found() != new:
            return f"the next run of {what} left {sorted(self._found())}"
        left = [one.name for one in self.out.rglob(".*")]
        return f"{what} leaves {left} behind" if left else None

    def _versions(self, what):
        """Return what the old and the new output are, run to their end; keep the old one."""
        if what not in self.known:
            self._clear()
            self._run(what, 0)
            old = self._found()
            shutil.copytree(self.out, self.folder / f"old {what}")
            _, self.steps[what] = self._run(what, 1)
            self.known[what] = old, self._found()
        return self.known[what]

    def _found(self):
        """Return the files that a user sees in the folder, by name and content."""
        return {
            str(one.relative_to(self.out)): fingerprint(one)
            for one in self.out.rglob("*")
            if one.is_file() and not any(part[0] == "." for part in one.relative_to(self.out).parts)
        }

    def _run(self, what, version, die_at=None, seconds=None, fails=False):
        task = {"what": what, "version": version, "die_at": die_at, "seconds": seconds}
        answer = self.child.ask(json.dumps(task), 120)
        assert answer is not None, "the writers' parent died"
        code, steps = json.loads(answer)
        assert fails or code == 0, f"{what} ended with {code}: {self._errors()}"
        return code, steps

    def _errors(self):
        return (self.folder / "stderr.txt").read_text()[-1000:]

    def _clear(self):
        shutil.rmtree(self.out, ignore_errors=True)
        os.mkdir(self.out)

    def close(self):
        self.child.close()
        self.temporary.cleanup()


def fingerprint(file):
    """Return what is in a file, in few letters; skops writes the same model in many ways."""
    content = file.read_bytes()
    if file.suffix == ".skops":
        try:
            trees = trees_of(tw.export.from_skops(file))
        except tw.errors.ThriftwoodError as error:
            return f"damaged: {error}"
        content = repr([(tree.left, tree.feature, tree.threshold) for tree in trees]).encode()
    return hashlib.sha1(content).hexdigest()
