"""A child that reads files, one a line of its input, and says how it went; it may die of them.

Files of boosters are read by forks of it: a process that has loaded all libraries forks in a few
hundredths of a second, and starts in some seconds.
"""

import contextlib
import gc
import io
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
import zlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import thriftwood as tw
from fuzz.seeds import queries, samples
from thriftwood.cli import main
from thriftwood.formats import trial

MEMORY = 6 * 2**30
CPU_SECONDS = 20  # that reading a small file may take
ACCEPTED, REFUSED, RAW, INSANE, CRASH = "accepted", "refused", "raw exception", "insane", "crash"
WRONG_INPUT = 2
# One booster in so many is tried by a new Python, as by users; others by a fork, which is quicker.
NEW_PROCESS = 40


def serve(answers, seeds):
    """Read `kind file` from stdin until it ends, and write an answer in JSON for each."""
    folder, (X, y) = Path.cwd(), samples()
    model = tw.export.from_skops(folder / "forest.skops")
    readers = {
        "path": lambda file: _read_path(file, X, y),
        "prices": lambda file: _read_prices(file, model, X),
        "table": _read_table,
        "model": _read_model,
        "cascade": _read_model,
        "ranking": lambda file: _read_ranker(file, X),
        "booster": _read_model,
    }
    _warm_up(readers, seeds)
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        kind, file = line.rstrip("\n").split(" ", 1)
        read = _in_a_fork if kind == "booster" else _outcome
        print(json.dumps(read(readers[kind], file)), file=answers, flush=True)


def _warm_up(readers, seeds):
    """Read sound files, so that code is loaded; CatBoost is only imported, as it starts threads."""
    import catboost  # noqa: F401

    trial.subprocess = SimpleNamespace(**{**vars(subprocess), "run": _tried_in_a_fork})
    for kind, names in seeds.items():
        for name in names:
            if not name.startswith("catboost"):
                outcome, words = _outcome(readers[kind], name)
                assert outcome == ACCEPTED, f"{name}: {words}"
    gc.freeze()  # what forks do not touch is not copied


def _in_a_fork(read, file):
    """Return how the reading of a file went in a child of this process."""
    answer, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(answer)
        resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        os.write(theirs, json.dumps(_outcome(read, file)).encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(answer, "rb") as pipe:
        said = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return json.loads(said) if code == 0 else [CRASH, f"the process ended with {code}"]


def _tried_in_a_fork(command, *, input, timeout, **options):  # noqa: A002
    """Do as `subprocess.run` of the process that tries files of boosters, but start no Python."""
    if zlib.crc32(input) % NEW_PROCESS == 0:
        return subprocess.run(command, input=input, timeout=timeout, **options)
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
        given.write(input)
        given.seek(0)
        child = os.fork()
        if child == 0:
            _try(command[-3:], given.fileno(), said.fileno())
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        return subprocess.CompletedProcess(command, code, said.read())


def _try(about, given, said):
    """Read the file as the process that was started for it would, and end."""
    code = 1
    with contextlib.suppress(BaseException):
        os.dup2(given, 0)
        os.dup2(said, 1)
        sys.stdin, sys.argv = os.fdopen(0, closefd=False), ["-c", *about]
        trial.main()
        code = 0
    os._exit(code)


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


def _read_ranker(file, X):
    """Say what is in a cascade of lists, rank some by it, and say what that costs."""
    _run("info", file, "--json")
    model = tw.CascadeRanker.load(file)
    assert np.isfinite(model.predict(X, queries(X))).all(), "a document has no score"
    _check("the mean bill", model.bill(X, queries(X)).mean)


def _read_table(file):
    target = [] if file.endswith(".npz") else ["--target", "ill"]
    _run("bill", "forest.skops", file, *target, "--json")


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
    _check("gap", getattr(pruned.proof, "gap", 0.0))
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
        serve(pipe, json.loads(Path("seeds.json").read_text()))
