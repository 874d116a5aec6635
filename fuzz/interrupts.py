"""SIGINT and SIGTERM at random moments: the exception arrives soon, and the process lives on."""

import os
import signal
import time
from pathlib import Path

import numpy as np

from fuzz.children import Child

AT_MOST = 1.0  # seconds of work until an interrupt arrives
HANGS = 60.0  # seconds without an answer, on a machine that is busy
NAMES = (
    "prune_path",
    "prune_path",
    "prune_path, two threads",
    "prune_path in partitions",
    "prune in partitions",
    "prune",
    "dantzig_wolfe",
    "evaluate",
    "own score",
    "refit",
    "verify",
    "bill",
    "cascade",
    "budget forest",
    "estimator",
    "save",
    "each_tree",
    "lazy",
)


class Interrupts:
    """Starts work in a child, and interrupts it."""

    def __init__(self):
        self.child = Child("fuzz.worker")
        self.done, self.small, self.took = 0, None, {}

    def check(self, seed, counts):
        """Interrupt one piece of work; return what is wrong, or None, and what was done."""
        rng = np.random.default_rng(seed)
        name = NAMES[int(rng.integers(len(NAMES)))]
        sent = signal.SIGINT if rng.random() < 0.7 else signal.SIGTERM
        if self.done >= 12:  # a fresh child reads compiled code while it is interrupted
            self.close()
        self.done += 1
        wait = float(rng.random()) * self.took.get(name, 2.0)
        wrong = self._interrupt(name, sent, wait, counts)
        if wrong is None:
            found = self.child.ask("small", 60)
            if found == "interrupted":  # the signal came after the work was done
                found = self.child.line(60)
            self.small = self.small or found
            if found != self.small:
                wrong = f"afterwards a small pruning came to {found!r}, not {self.small!r}"
        if wrong is not None:
            wrong = f"{name}, {sent.name} after {wait:.3f} s: {wrong}"
            self.close()
        return wrong, f"{name} {sent.name} {wait}"

    def _interrupt(self, name, sent, wait, counts):
        if self.child.ask(name, 120) != "started":
            return "did not start"
        began = time.monotonic()
        said = self.child.line(wait)
        if said is not None:
            self._note(name, time.monotonic() - began)
            return None if said == "finished" else f"without a signal: {said}"
        os.kill(self.child.process.pid, sent)
        signalled, worked = time.monotonic(), self._seconds_of_work()
        said = self.child.line(HANGS)
        if said == "finished":
            self._note(name, time.monotonic() - began)
            return None
        counts["interrupts"] += 1
        if said is None:
            if self.child.code is None:
                return f"no answer within {HANGS:g} s"
            return f"the process ended with {self.child.code}"
        if said != "interrupted":
            return said
        worked = self._seconds_of_work() - worked
        waited = time.monotonic() - signalled
        slowest = max(counts["slowest interrupt, ms"], round(1000 * min(worked, waited)))
        counts["slowest interrupt, ms"] = slowest
        return f"arrived after {worked:.1f} s of work" if min(worked, waited) > AT_MOST else None

    def _note(self, name, seconds):
        """Remember the shortest time that the work took: signals come before that."""
        self.took[name] = min(seconds, self.took.get(name, seconds))

    def close(self):
        self.child.close()
        self.done = 0

    def _seconds_of_work(self):
        """Return how long the child was on a core, all its threads together."""
        try:
            fields = (
                Path(f"/proc/{self.child.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            )
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
