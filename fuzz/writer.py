"""A child that forks writers of files and folders, each killed at some step of its writing.

A step is whatever Python tells its audit hooks about files in the folder of outputs: opening,
renaming, removing, making folders. A writer dies just before its step of that number.
"""

import contextlib
import json
import os
import signal
import sys
import threading
import traceback
import warnings
from pathlib import Path

import thriftwood as tw
from thriftwood.cli import main

EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink"}
EVENTS |= {"shutil.rmtree", "os.chmod", "os.truncate", "os.utime", "shutil.move"}
COMMANDS = {
    "prune": "prune forest.skops rows.csv --target ill --budget 5 -o out/model.skops",
    "frontier": "frontier forest.skops rows.csv --target ill -o out/frontier",
    "train": "train rows.csv --target ill --weight weight --effort quick --budget 5 -o out/trained",
    "export": "export forest.skops --to c -o out/model.c",
    "cascade": "prune forest.skops rows.csv --target ill --cascade --validation rows.csv "
    "-o out/cascade.tw",
}


def serve(answers):
    """Run what each line of stdin says in a fork, and answer with its code and its steps."""
    folder = Path.cwd()
    import matplotlib.figure
    import pandas
    import pyarrow.parquet  # noqa: F401

    del matplotlib, pandas
    model = tw.export.from_skops(folder / "forest.skops")
    path = tw.PruningPath.load(folder / "path.npz", model)
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        task = json.loads(line)
        count, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            _write(task, model, path, theirs)
        os.close(theirs)
        steps = os.read(count, 100)
        _, status = os.waitpid(child, 0)
        os.close(count)
        answer = [os.waitstatus_to_exitcode(status), int(steps or b"0")]
        print(json.dumps(answer), file=answers, flush=True)


def _write(task, model, path, count):
    """Do one task, die at its step or after its seconds, and never return."""
    steps = 0

    def watch(event, arguments):
        nonlocal steps
        if event in EVENTS and any(_is_ours(one) for one in arguments):
            steps += 1
            if steps == task["die_at"]:
                os.kill(os.getpid(), signal.SIGKILL)

    code = 1
    sys.addaudithook(watch)
    if task["seconds"] is not None:
        timer = threading.Timer(task["seconds"], os.kill, (os.getpid(), signal.SIGKILL))
        timer.daemon = True
        timer.start()
    with open("stderr.txt", "w") as errors, contextlib.redirect_stderr(errors):
        try:
            code = _run(task, model, path)
        except BaseException:
            traceback.print_exc()
    os.write(count, str(steps).encode())
    os._exit(code)


def _is_ours(argument):
    if isinstance(argument, bytes):
        argument = os.fsdecode(argument)
    return isinstance(argument, (str, os.PathLike)) and "/out" in os.path.abspath(argument)


def _run(task, model, path):
    what, version = task["what"], task["version"]
    if what in COMMANDS:
        file = f"plain{version}.csv" if what == "train" else f"prices{version}.csv"
        costs = f"--costs {file}" if what != "export" else ""
        words = f"{COMMANDS[what]} {costs} --force --quiet"
        sys.argv = ["thriftwood", *words.split()]
        try:
            with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
                main()
        except SystemExit as end:
            return end.code or 0
        return 0
    if what == "path":
        which = path if version else tw.PruningPath.load("each_tree.npz")
        which.save("out/path.npz")
    elif what == "skops":
        tw.export.to_skops(path[version].model if version else model, "out/model.skops")
    elif what == "json":
        tw.export.to_json(path[version].model if version else model, "out/model.json")
    elif what == "prices":
        tw.Costs.from_file(f"prices{version}.csv").to_file("out/prices.csv")
    return 0


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with os.fdopen(int(sys.argv[1]), "w") as pipe:
        serve(pipe)
