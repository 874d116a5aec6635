"""A child that reads files, one a line of its input, and says how it went; it may die of them."""

import contextlib
import io
import json
import os
import resource
import signal
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np

import thriftwood as tw
from fuzz.seeds import samples
from thriftwood.cli import main

MEMORY = 6 * 2**30
ACCEPTED, REFUSED, RAW, INSANE = "accepted", "refused", "raw exception", "insane"
WRONG_INPUT = 2


def serve(answers):
    """Read `kind file` from stdin until it ends, and write an answer in JSON for each."""
    folder, (X, y) = Path.cwd(), samples()
    model = tw.export.from_skops(folder / "forest.skops")
    readers = {
        "path": lambda file: _read_path(file, X, y),
        "prices": lambda file: _read_prices(file, model, X),
        "table": lambda file: _run("bill", "forest.skops", file, "--target", "ill", "--json"),
        "model": _read_model,
        "cascade": _read_model,
        "booster": _read_model,
    }
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        kind, file = line.rstrip("\n").split(" ", 1)
        outcome, words = _outcome(readers[kind], file)
        print(json.dumps([outcome, words]), file=answers, flush=True)


def _outcome(read, file):
    try:
        read(file)
    except AssertionError as error:
        return INSANE, str(error)
    except tw.errors.ThriftwoodError as error:
        return (REFUSED, "") if len(str(error)) < 2000 else (RAW, f"too long: {str(error)[:200]}")
    except Exception as error:
        return RAW, "".join(traceback.format_exception(error)[-4:])
    return ACCEPTED, ""


def _read_model(file):
    """Say what is in a model, and what its predictions cost."""
    _run("info", file, "--json")
    _run("bill", file, "rows.npz", "--json")


def _run(*command):
    """Run a command in this process, and raise as it ends."""
    said, complained = io.StringIO(), io.StringIO()
    sys.argv = ["thriftwood", *command, "--debug"]
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(complained):
            main()
    except SystemExit as end:
        if end.code == WRONG_INPUT:
            sentence = complained.getvalue().strip().rsplit("\nError: ", 1)[-1]
            raise tw.errors.InputError(sentence) from None
        if end.code:
            raise RuntimeError(f"exit code {end.code}: {complained.getvalue()[-1500:]}") from None
    answer = json.loads(said.getvalue())
    assert "\x1b" not in said.getvalue(), "an escape was printed"
    mean = answer.get("mean", answer.get("mean_cost", 0.0))
    _check("the mean bill", mean)


def _read_prices(file, model, X):
    costs = tw.Costs.from_file(file)
    str(costs)
    bill = tw.feature_bill(model, X, costs)
    _check("the mean bill", bill.mean)


def _read_path(file, X, y):
    path = tw.PruningPath.load(file)
    str(path)
    for name in ("costs", "losses", "n_splits", "n_features"):
        _check(name, getattr(path, name))
    if path.drop_step is not None:
        assert (np.diff(path.costs) <= 1e-9).all(), f"costs rise: {path.costs}"
    pruned = path.at(budget=float(path.costs.mean()))
    _check("bound", getattr(pruned.proof, "bound", 0.0))
    _check("measured costs", path.evaluate(X, y).cost)


def _check(name, numbers):
    """Raise where numbers are none that a bill or a loss can be."""
    assert (np.isfinite(numbers) & (np.asarray(numbers) >= 0)).all(), f"{name}: {numbers}"


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    with os.fdopen(int(sys.argv[1]), "w") as pipe:
        serve(pipe)
