"""SIGINT and SIGTERM at random moments: the exception arrives soon, and the process lives on."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from fuzz.children import Child, environment
from fuzz.worker import N_SAMPLES, PRICES, draw_samples

AT_MOST = 1.0  # seconds of work until an interrupt arrives
HANGS = 60.0  # seconds without an answer, on a machine that is busy
COMMAND = "train, on the command line"
COLD = ("first call", "first picture")  # each in a fresh process
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
    "cost_complexity",
    "dynamic_programming",
    "certify",
    "guaranteed",
    "thrifty ranker",
    "budget forest",
    "estimator",
    "estimator, one tree",
    "linear_program",
    "thrifty",
    "page",
    "save",
    "each_tree",
    "lazy",
    *COLD,
    COMMAND,
)


class Interrupts:
    """Starts work in a child, and interrupts it."""

    def __init__(self):
        self.child = Child("fuzz.worker")
        self.done, self.small, self.took = 0, None, {COMMAND: 20.0}
        self.temporary = TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        X, y = draw_samples(N_SAMPLES)
        names = [f"x{feature}" for feature in range(X.shape[1])]
        pd.DataFrame(X, columns=names).assign(y=y).to_csv(self.folder / "rows.csv", index=False)
        prices = pd.DataFrame({"feature": names, "price": PRICES})
        prices.to_csv(self.folder / "prices.csv", index=False)

    def check(self, seed, counts):
        """Interrupt one piece of work; return what is wrong, or None, and what was done."""
        rng = np.random.default_rng(seed)
        name = NAMES[int(rng.integers(len(NAMES)))]
        sent = signal.SIGINT if rng.random() < 0.7 else signal.SIGTERM
        if name == COMMAND:
            wait = float(rng.random()) * self.took[name]
            wrong = self._interrupt_command(sent, wait, counts)
            return wrong and f"{name}, {sent.name} after {wait:.3f} s: {wrong}", name
        if name in COLD:
            wrong = self._interrupt_first(name, sent, float(rng.random()) * 1.5, counts)
            return wrong and f"{name}, {sent.name}: {wrong}", name
        if self.done >= 12:  # a fresh child reads compiled code while it is interrupted
            self._end_child()
        self.done += 1
        wait = float(rng.random()) * self.took.get(name, 2.0)
        wrong = self._interrupt(self.child, name, sent, wait, counts)
        if wrong is None:
            found = self.child.ask("small", 60)
            if found == "interrupted":  # the signal came after the work was done
                found = self.child.line(60)
            self.small = self.small or found
            if found != self.small:
                wrong = f"afterwards a small pruning came to {found!r}, not {self.small!r}"
        if wrong is not None:
            wrong = f"{name}, {sent.name} after {wait:.3f} s: {wrong}"
            self._end_child()
        return wrong, f"{name} {sent.name} {wait}"

    def _interrupt(self, child, name, sent, wait, counts):
        if child.ask(name, 120) != "started":
            return "did not start"
        began = time.monotonic()
        said = child.line(wait)
        if said is not None:
            self._note(name, time.monotonic() - began)
            return None if said == "finished" else f"without a signal: {said}"
        os.kill(child.process.pid, sent)
        signalled, worked = time.monotonic(), seconds_of_work(child.process.pid)
        said = child.line(HANGS)
        if said == "finished":
            self._note(name, time.monotonic() - began)
            return None
        counts["interrupts"] += 1
        if said is None:
            if child.code is None:
                return f"no answer within {HANGS:g} s"
            return f"the process ended with {child.code}"
        if said != "interrupted":
            return said
        worked = seconds_of_work(child.process.pid) - worked
        waited = time.monotonic() - signalled
        slowest = max(counts["slowest interrupt, ms"], round(1000 * min(worked, waited)))
        counts["slowest interrupt, ms"] = slowest
        return f"arrived after {worked:.1f} s of work" if min(worked, waited) > AT_MOST else None

    def _interrupt_first(self, name, sent, wait, counts):
        """Interrupt the first call of a process; the next one works."""
        with closing(Child("fuzz.cold")) as child:
            wrong = self._interrupt(child, name, sent, wait, counts)
            if wrong is not None:
                return wrong
            said = child.ask(name, 60)
            while said in ("started", "interrupted"):  # perhaps only now
                said = child.line(120)
            return None if said == "finished" else f"called again: {said}"

    def _interrupt_command(self, sent, wait, counts):
        """Train thrifty models on the command line: it ends soon, and leaves nothing."""
        words = "train rows.csv --target y --costs prices.csv --output out --force --quiet"
        process = subprocess.Popen(
            [sys.executable, "-m", "thriftwood", *words.split()],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        )
        with suppress(subprocess.TimeoutExpired):
            process.wait(wait)
            self.took[COMMAND] = wait
            shutil.rmtree(self.folder / "out", ignore_errors=True)
            return None if process.returncode == 0 else process.stderr.read()[-1000:]
        process.send_signal(sent)
        signalled, worked = time.monotonic(), -seconds_of_work(process.pid) - work_of_children()
        try:
            said = process.communicate(timeout=HANGS)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            return f"it lives {HANGS:g} s later"
        waited, worked = time.monotonic() - signalled, worked + work_of_children()
        counts["interrupts"] += 1
        left = sorted(one.name for one in self.folder.iterdir())
        if process.returncode not in (130, 143, -sent) or "Traceback" in said:
            return f"ended with {process.returncode}: {said[-1000:]}"
        if left != ["prices.csv", "rows.csv"]:
            return f"left {left} behind"
        return f"ended after {worked:.1f} s of work" if min(worked, waited) > AT_MOST else None

    def _note(self, name, seconds):
        """Remember the shortest time that the work took: signals come before that."""
        self.took[name] = min(seconds, self.took.get(name, seconds))

    def close(self):
        self._end_child()
        self.temporary.cleanup()

    def _end_child(self):
        self.child.close()
        self.done = 0


def seconds_of_work(process):
    """Return how long a process was on a core, all its threads together."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def work_of_children():
    """Return the same of all processes that were started here and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
